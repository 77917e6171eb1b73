"""The architectures that torchvision and timm register, converted with the image size as a parameter."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Given
from estimator.convert.sizes import Formula, NoFormulaError, generalised
from estimator.convert.torch_module import convert
from estimator.convert.torch_trace import import_torch, weightless
from estimator.errors import EstimatorError, InputError, MissingPackageError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from estimator.convert.entries import Converted
    from estimator.convert.torch_trace import Torch

IMAGE = "image"
FOR_INFERENCE = "_reparam"  # ends the names of timm's modules whose branches are merged after training
QUICK = bool(
    os.environ.get("ESTIMATOR_QUICK_CONVERSION")
)  # only networks that take any image size as they are


@cache
def _timm() -> Any:  # noqa: ANN401 - an optional package
    """Return timm, set to plain PyTorch calls: attention through PyTorch's function, no scripts."""
    import_torch()
    os.environ.setdefault("TIMM_FUSED_ATTN", "1")
    try:
        import timm
    except ImportError:
        raise MissingPackageError("timm is not installed", hint="pip install timm") from None
    timm.layers.set_no_jit(True)
    return timm


@cache
def _torchvision() -> Any:  # noqa: ANN401 - an optional package
    import_torch()
    try:
        import torchvision
    except ImportError:
        raise MissingPackageError("torchvision is not installed", hint="pip install torchvision") from None
    return torchvision


def timm_names() -> list[str]:
    """Return every architecture that timm registers."""
    return list(_timm().list_models())


def timm_names_for_inference() -> list[str]:
    """Return the names of the modules that ``timm.utils.reparameterize_model`` changes, as merged."""
    found = []
    for name in timm_names():
        with weightless():
            module = _timm().create_model(name)
        if any(hasattr(part, way) for part in module.modules() for way in _MERGES):
            found.append(name + FOR_INFERENCE)
    return found


_MERGES = ("fuse", "reparameterize", "switch_to_deploy")  # what that function looks for


def _timm_module(name: str, **sizes: int) -> Torch:
    """Return one of timm's modules, without weights; merged where the name asks for it."""
    short = name.removesuffix(FOR_INFERENCE)
    with weightless():
        module = _timm().create_model(short, **sizes)
        if short == name:
            return module
        return importlib.import_module("timm.utils").reparameterize_model(module.eval())


def timm_old_names() -> dict[str, str]:
    """Return the architectures of names that timm knew once, as it maps them itself.

    Left out are names whose width differs from that of the architecture they are mapped to.
    """
    _timm()
    registry = importlib.import_module("timm.models._registry")
    known = set(timm_names())
    found = {}
    for old, new in registry._deprecated_models.items():  # noqa: SLF001 - timm gives no other list
        current = str(new).split(".", 1)[0]
        if current in known and old not in known and _WIDTH.findall(old) == _WIDTH.findall(current):
            found[old] = current
    return found


_WIDTH = re.compile(r"\d+x\d+d?")


def torchvision_names() -> list[str]:
    """Return every architecture that torchvision registers, but those quantised for inference."""
    return [n for n in _torchvision().models.list_models() if not n.startswith("quantized_")]


def version(package: str) -> str:
    """Return the version of torchvision or timm that is installed."""
    return str((_timm() if package == "timm" else _torchvision()).__version__)


def module_of(name: str) -> tuple[Torch, list[tuple[int, ...]]]:
    """Return the module of ``package:name`` at its usual size, without weights, and its input shapes."""
    package, short = name.split(":", 1)
    if package == "timm":
        module = _timm_module(short)
        return module.to("meta"), [tuple(module.default_cfg.get("input_size", (3, 224, 224)))]
    models = _torchvision().models
    inputs = _torchvision_inputs(short, models)
    return _torchvision_module(short, inputs[0].shape[-1]).to("meta"), [given.shape for given in inputs]


def _torchvision_module(name: str, size: int) -> Torch:
    """Return one of torchvision's modules; of a detector its backbone and heads."""
    models = _torchvision().models
    extra = {"image_size": size} if name.startswith("vit_") else {}
    with weightless():
        module = models.get_model(name, **_weights(models, name), **extra)
    return _detector(module) if hasattr(module, "rpn") or hasattr(module, "anchor_generator") else module


def from_timm(name: str) -> Converted:
    """Return ``timm:NAME``. Raises InputError where there is no such name or it cannot be traced."""
    _check(name.removesuffix(FOR_INFERENCE), timm_names(), "timm")
    module = _timm_module(name)
    shape = tuple(module.default_cfg.get("input_size", (3, 224, 224)))
    takes_size = True

    def build(size: int) -> Torch:
        nonlocal takes_size
        if takes_size:
            try:
                return _timm_module(name, img_size=size)
            except TypeError:
                takes_size = False
        return module

    source = "https://github.com/huggingface/pytorch-image-models"
    return replace(_sized(module, build, shape, name, auxiliary=False), source=source)


def from_torchvision(name: str) -> Converted:
    """Return ``torchvision:NAME``; detectors as their backbone and heads, which is where their work is."""
    models = _torchvision().models
    _check(name, models.list_models(), "torchvision")

    inputs = _torchvision_inputs(name, models)
    source = "https://github.com/pytorch/vision"
    shape = inputs[0].shape
    if len(inputs) > 1 or len(shape) != 3:  # noqa: PLR2004 - an image has channels, height and width
        network = convert(_torchvision_module(name, shape[-1]), inputs, name=name)
        return replace(network, source=source)
    module = _torchvision_module(name, shape[-1])

    def build(size: int) -> Torch:
        return _torchvision_module(name, size) if name.startswith("vit_") else module

    return replace(_sized(module, build, shape, name, auxiliary=True), source=source)


def _weights(models: Any, name: str) -> dict[str, None]:  # noqa: ANN401 - a package
    """Return the arguments that keep a builder from downloading."""
    import inspect

    accepted = inspect.signature(models.get_model_builder(name)).parameters
    return {key: None for key in ("weights", "weights_backbone") if key in accepted}


def _check(name: str, known: Iterable[str], package: str) -> None:
    if name not in set(known):
        raise InputError(f"{package} has no architecture {name!r}", hint=suggestion(name, known))


def _sized(
    module: Torch, build: Callable[[int], Torch], shape: tuple[int, ...], name: str, *, auxiliary: bool
) -> Converted:
    """Convert at several image sizes, and make the size a parameter where formulas say what changes."""
    first = convert(module, [Given(IMAGE, shape)], name=name, auxiliary=auxiliary)
    if len(first.outputs) == 1 and len(first.output_shapes[0]) == 1:
        first.loss = "CrossEntropyLoss"  # one number a class
    channels, height, width = shape
    if height != width:
        return first
    sized = _Sizes(first, build, channels, height)
    network = sized.run() or first
    network.fixed_size = "; ".join(sized.reasons) if network is first else ""
    return network


class _Sizes:
    """Looks for formulas of the image size."""

    def __init__(self, first: Converted, build: Callable[[int], Torch], channels: int, size: int) -> None:
        self.first = first
        self.build = build
        self.channels = channels
        self.size = size
        self.known: dict[int, Converted | None] = {}
        self.reasons: list[str] = []

    def run(self) -> Converted | None:
        """Return the network with formulas, or None where the size is fixed."""
        odd = self.size + 37
        if self._at(odd) is not None and self._at(odd).entries == self.first.entries:  # type: ignore[union-attr]
            return self._with_parameter(self.first)  # nothing but the input changes
        for sizes in () if QUICK else self._choices():
            if self._at(2 * self.size) is None:
                return None  # twice the size is a multiple of every window and patch
            others = [self._at(s) for s in sizes]
            try:
                if all(others):
                    return self._with_parameter(
                        generalised([self.first, *(o for o in others if o)], [self.size, *sizes], IMAGE)
                    )
            except NoFormulaError as error:
                self.reasons.append(str(error))
        return None

    def _choices(self) -> list[tuple[int, ...]]:
        """Return sizes to try beside the usual one: odd ones first, then multiples of it.

        Odd ones tell rounding up from rounding down; networks of windows or patches take multiples only,
        of 14 where patches are of 14. Many tell which of a network's sides it is that must be even.
        """
        size = self.size
        return [
            (size * 2, size + size // 2, size + 37),
            (size * 2, size + 64, size + 32),
            (size * 2, size + 2 * 112, size + 112),
            (size * 2, size + size // 2, *(size + more for more in (37, 1, 2, 5, 11, 22, 45, 91))),
        ]

    def _at(self, size: int) -> Converted | None:
        """Return the network at another size, or None where it cannot be."""
        if size not in self.known:
            given = [Given(IMAGE, (self.channels, size, size))]
            try:
                module = self.build(size)
                found = convert(module, given, name=self.first.name, auxiliary=False, like=self.first)
                for entry, like in zip(found.entries, self.first.entries, strict=False):
                    entry.training_only = like.training_only
                self.known[size] = found
            except (EstimatorError, AssertionError, ValueError, RuntimeError, AttributeError) as error:
                self.reasons.append(f"{size}: {error}")
                self.known[size] = None
        return self.known[size]

    def _with_parameter(self, network: Converted) -> Converted:
        side = Formula(f"${IMAGE}", (self.size,))
        return replace(network, inputs=[Given(IMAGE, (self.channels, side, side))], params={IMAGE: self.size})


def _torchvision_inputs(name: str, models: Any) -> list[Given]:  # noqa: ANN401 - a package
    """Return the inputs of an architecture at its usual size."""
    if name.startswith("raft"):
        return [Given("first", (3, 368, 496)), Given("second", (3, 368, 496))]
    if name in _VIDEO:
        return [Given("video", (3, *_VIDEO[name]))]
    if name in _DETECTION:
        return [Given(IMAGE, (3, _DETECTION[name], _DETECTION[name]))]
    if any(name.startswith(word) for word in ("deeplab", "fcn_", "lraspp")):
        return [Given(IMAGE, (3, 520, 520))]
    return [Given(IMAGE, (3, _usual_size(name, models), _usual_size(name, models)))]


_VIDEO = {
    "mc3_18": (16, 112, 112), "r2plus1d_18": (16, 112, 112), "r3d_18": (16, 112, 112),
    "s3d": (16, 224, 224), "mvit_v1_b": (16, 224, 224), "mvit_v2_s": (16, 224, 224),
    "swin3d_t": (16, 224, 224), "swin3d_s": (16, 224, 224), "swin3d_b": (16, 224, 224),
}  # fmt: skip
_DETECTION = {
    "ssd300_vgg16": 300,
    "ssdlite320_mobilenet_v3_large": 320,
    "fasterrcnn_mobilenet_v3_large_320_fpn": 320,
} | dict.fromkeys(
    ("fcos_resnet50_fpn", "retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2", "fasterrcnn_resnet50_fpn",
     "fasterrcnn_resnet50_fpn_v2", "fasterrcnn_mobilenet_v3_large_fpn", "maskrcnn_resnet50_fpn",
     "maskrcnn_resnet50_fpn_v2", "keypointrcnn_resnet50_fpn"),
    800,
)  # fmt: skip


def _usual_size(name: str, models: Any) -> int:  # noqa: ANN401 - a package
    """Return the image size of an architecture's published weights, 224 where it has none."""
    try:
        weights = models.get_model_weights(name).DEFAULT
        crop = weights.transforms().crop_size
    except (ValueError, AttributeError, KeyError):
        return 224
    return int(crop[0] if isinstance(crop, list | tuple) else crop)


def _detector(module: Torch) -> Torch:
    """Return backbone and dense heads of a detector as one module of an image batch.

    What follows them (matching, proposals, boxes cut out) depends on values and is not traced.
    """
    torch = import_torch()

    class BackboneAndHead(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.backbone = module.backbone
            self.head = module.rpn.head if hasattr(module, "rpn") else module.head

        def forward(self, image: Torch) -> Torch:
            features = self.backbone(image)
            return self.head(list(features.values()) if isinstance(features, dict) else [features])

    return BackboneAndHead()
