"""Reading a network: a document becomes a graph, or all that is wrong with it is told at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from estimator.document import ListNode, MapNode, Scalar
from estimator.layers.arguments import Range
from estimator.layers.base import LAYERS
from estimator.networks.graph import Input, Network, Reference
from estimator.networks.language.binding import Binder
from estimator.networks.language.containers import CONTAINERS
from estimator.networks.language.expand import Expander
from estimator.networks.language.fields import checked, entries
from estimator.networks.language.frame import Frame
from estimator.networks.language.items import Block, BlockParameter
from estimator.networks.language.kinds import Choice, Items, Text, Whole
from estimator.networks.language.params import read_params
from estimator.networks.language.parse import Parser, check_name, is_variable
from estimator.networks.language.paths import Paths
from estimator.networks.language.problems import Problems, StopReadingError
from estimator.networks.language.recipe import read_training
from estimator.networks.language.references import resolve_sources
from estimator.networks.language.scope import Scope, Target
from estimator.networks.language.terms import read_term
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.document import Node
    from estimator.networks.language.items import Item
    from estimator.networks.language.scope import Flow

FORMAT = 1
KEYS = (
    "format", "name", "family", "source", "params", "inputs", "blocks", "layers", "outputs", "loss",
    "training",
)  # fmt: skip
INPUT_KEYS = ("shape", "dtype")
BLOCK_KEYS = ("args", "layers")
SHAPE = Items(Whole(Range(1)))
MOST_DIMENSIONS = 8
_DESCRIPTORS = ("/dev/", "/proc/")
DTYPES: Mapping[str, DType] = {
    "float64": DType.FP64, "float32": DType.FP32, "float16": DType.FP16, "bfloat16": DType.BF16,
    "int64": DType.INT64, "int32": DType.INT32, "int8": DType.INT8, "uint8": DType.INT8, "bool": DType.BOOL,
}  # fmt: skip


def read_network(document: Node, *, overrides: Mapping[str, object] | None = None) -> Network:
    """Return the network a document describes; ``overrides`` replace values of ``params:``.

    Raises InputError, or CombinedInputError with every structural error of the text: shapes are not
    looked at here.
    """
    problems = Problems()
    network = None
    with suppress(StopReadingError):
        network = _Reader(document, overrides or {}, problems).network()
    problems.raise_all()
    if network is None:
        message = "reading stopped without an error"
        raise AssertionError(message)
    return network


class _Reader:
    """Reads the sections of one document."""

    def __init__(self, document: Node, overrides: Mapping[str, object], problems: Problems) -> None:
        self.problems = problems
        self.document = document
        self.nodes = self._sections(document)
        self.values = read_params(self.nodes.get("params"), overrides, problems)
        self.inputs = self._inputs()
        blocks = self.nodes.get("blocks")
        binder = Binder(problems)
        self.parser = Parser(list(blocks.keys()) if isinstance(blocks, MapNode) else [], binder, problems)
        self.blocks = self._blocks(blocks)
        self.expander = Expander(
            self.blocks,
            self.values,
            inputs=len(self.inputs),
            parser=self.parser,
            binder=binder,
            problems=problems,
        )

    def network(self) -> Network:
        """Read all sections."""
        layers, losses = self._layers(), self._losses()
        scope = Scope()
        for index, one in enumerate(self.inputs):
            reference = (Reference(index),)
            scope.define(one.name, Target(reference, 0, 0, reference, one.name, is_layer=True))
        frame = Frame(self.values, scope, Paths(), None)
        flow: Flow = (Reference(0),) if len(self.inputs) == 1 else ()
        outputs = self._outputs(frame, self.expander.run(layers, frame, flow))
        frame.training_only = True
        for loss in losses:
            self.expander.item(loss, frame, outputs)
        return Network(
            name=self._text("name") or self._file_name(),
            inputs=self.inputs,
            nodes=tuple(self.expander.nodes),
            outputs=outputs,
            family=self._text("family"),
            source=self._text("source"),
            parameters=self.values,
            recipe=self._training(),
        )

    def _sections(self, document: Node) -> dict[str, Node]:
        nodes = entries(document, KEYS, "the network", self.problems)
        if not isinstance(document, MapNode):
            return nodes
        if "layers" not in nodes:
            self.problems.add("'layers' is required", document.at)
        version = nodes.get("format")
        if isinstance(version, Scalar) and version.value == FORMAT and version.value is not True:
            return nodes
        if version is not None:
            self.problems.add("unknown format", version.at, f"this version reads format: {FORMAT}")
        return nodes

    def _text(self, key: str) -> str:
        node = self.nodes.get(key)
        if node is None:
            return ""
        if isinstance(node, Scalar) and isinstance(node.value, int | float) and key == "name":
            return str(node.value)
        text = checked(node, Text(), key, self.values, self.problems) or ""
        if text.isprintable():
            return text
        odd = next(character for character in text if not character.isprintable())
        self.problems.add(f"{key!r} has the character {odd!r}", node.at, "write letters, digits and spaces")
        return ""

    def _file_name(self) -> str:
        """Return the file's name without its ending; a descriptor (of ``<(…)``) has only a number."""
        path = self.document.at.file.replace("\\", "/")
        last = path.rsplit("/", 1)[-1].split(".", 1)[0]
        is_name = not path.startswith(_DESCRIPTORS) and all(map(str.isprintable, last))
        return (last if is_name else "") or "network"

    def _inputs(self) -> tuple[Input, ...]:
        section = self.nodes.get("inputs")
        if section is None:
            return ()
        if not isinstance(section, MapNode):
            self.problems.add("'inputs' must be a mapping", section.at, "write {x: {shape: [3, 32, 32]}}")
            return ()
        found = []
        for key, node in section.entries:
            check_name(key.value, key.at, self.problems)
            found.append(self._input(str(key.value), node))
        return tuple(found)

    def _input(self, name: str, node: Node) -> Input:
        """Read ``{shape: [...], dtype: int64}`` or a shape alone."""
        nodes: dict[str, Node] = {"shape": node}
        if not isinstance(node, ListNode):
            nodes = entries(node, INPUT_KEYS, f"input {name!r}", self.problems)
        shape: tuple[int, ...] = ()
        if "shape" in nodes:
            shape = checked(nodes["shape"], SHAPE, "shape", self.values, self.problems) or ()
            if len(shape) > MOST_DIMENSIONS:
                self.problems.add(f"a shape of {len(shape)} dimensions", nodes["shape"].at, "at most 8")
        elif isinstance(node, MapNode):
            self.problems.add(f"input {name!r}: 'shape' is required", node.at)
        dtype = DType.FP32
        if "dtype" in nodes:
            kind = Choice(tuple(DTYPES))
            dtype = DTYPES.get(
                checked(nodes["dtype"], kind, "dtype", self.values, self.problems) or "", dtype
            )
        return Input(name, shape, dtype)

    def _blocks(self, section: Node | None) -> dict[str, Block]:
        if section is None:
            return {}
        if not isinstance(section, MapNode):
            self.problems.add("'blocks' must be a mapping of names to {args, layers}", section.at)
            return {}
        blocks = {}
        for key, node in section.entries:
            name = str(key.value)
            if name in LAYERS or name in CONTAINERS:
                self.problems.add(f"block {name!r} has the name of a layer type", key.at, "choose another")
            check_name(name, key.at, self.problems)
            blocks[name] = self._block(name, node)
        return blocks

    def _block(self, name: str, node: Node) -> Block:
        nodes = entries(node, BLOCK_KEYS, f"block {name!r}", self.problems)
        if isinstance(node, MapNode) and "layers" not in nodes:
            self.problems.add(f"block {name!r}: 'layers' is required", node.at)
        layers = self.parser.layers(nodes["layers"], "layers") if "layers" in nodes else ()
        return Block(name=name, parameters=self._parameters(nodes.get("args")), layers=layers, at=node.at)

    def _parameters(self, node: Node | None) -> tuple[BlockParameter, ...]:
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return ()
        if not isinstance(node, MapNode):
            self.problems.add("'args' must be a mapping", node.at, "write {width: , stride: 1}")
            return ()
        found = []
        for key, value in node.entries:
            if not is_variable(str(key.value)):
                self.problems.add(f"{key.value!r} cannot be an argument's name", key.at)
            is_required = isinstance(value, Scalar) and value.value is None
            default = None if is_required else read_term(value, self.problems)
            found.append(BlockParameter(name=str(key.value), default=default))
        return tuple(found)

    def _layers(self) -> tuple[Item, ...]:
        node = self.nodes.get("layers")
        if node is None:
            return ()
        if not isinstance(node, ListNode) or not node.items:
            self.problems.add("'layers' must be a list of at least one layer", node.at)
            return ()
        return self.parser.layers(node, "layers")

    def _losses(self) -> tuple[Item, ...]:
        if "loss" not in self.nodes:
            return ()
        found = self.parser.layers(self.nodes["loss"], "loss")
        return tuple(replace(item, common=item.common.labelled("loss")) for item in found)

    def _outputs(self, frame: Frame, flow: Flow) -> Flow:
        node = self.nodes.get("outputs")
        if node is None:
            return flow
        terms = [
            read_term(one, self.problems) for one in (node.items if isinstance(node, ListNode) else (node,))
        ]
        return resolve_sources(terms, frame, flow, self.problems)

    def _training(self) -> Mapping[str, Any]:
        if "training" not in self.nodes:
            return {}
        return read_training(self.nodes["training"], self.values, self.problems)
