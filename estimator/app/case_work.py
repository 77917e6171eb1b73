"""Lowers the networks of measured cases: once or twice a recipe, whatever the number of batches."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from estimator.app.request import on_kind
from estimator.errors import EstimatorError
from estimator.hardware.architecture import DeviceKind
from estimator.layers.functional.attention import FIRST_FLASH_ERA
from estimator.layers.functional.norms import FUSED_RMS_NORM_ERA
from estimator.layers.vision import RESAMPLING_IN_FP32_ERA
from estimator.networks.layouts import FIRST_ERA as FIRST_LAYOUT_ERA
from estimator.networks.layouts import settled
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing, Training
from estimator.precision import POLICIES
from estimator.predict.replica import Replica
from estimator.predict.table import build_pair
from estimator.software import FOREACH_SINCE, Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import NetworkRef
    from estimator.document import Value
    from estimator.networks.graph import Network
    from estimator.predict.table import KernelTable
    from estimator.software import Software
    from estimator.workload.workload import Workload

    _Task: TypeAlias = "tuple[Recipe, tuple[int, ...], OpenNetwork]"


# The years from which frameworks launch other kernels: all that the layers and optimizers ask for.
KERNEL_ERAS = (
    FIRST_FLASH_ERA,
    FIRST_LAYOUT_ERA,
    FOREACH_SINCE,
    RESAMPLING_IN_FP32_ERA,
    FUSED_RMS_NORM_ERA,
)


_FEWEST_FOR_PROCESSES = 200
_CHUNK = 16


class OpenNetwork(Protocol):
    """Opens a network by its name with parameters replaced; raises InputError when it cannot."""

    def __call__(self, name: str, overrides: Mapping[str, Value]) -> Network:
        """Return the network."""


class Recipe(NamedTuple):
    """What decides the kernels of a case, its batch apart: cases with equal recipes share two lowerings."""

    network: NetworkRef
    kind: DeviceKind
    precision: str
    optimizer: str
    software: Software
    inference: bool
    recompute: bool

    def training(self, batch: int) -> Training:
        """Return the recipe at one batch, as a framework runs it on its kind of device."""
        training = Training(
            batch=batch,
            precision=POLICIES.get(self.precision),
            optimizer=OPTIMIZERS.get(self.optimizer),
            software=self.software,
            checkpointing=Checkpointing.BLOCKS if self.recompute else Checkpointing.NONE,
            training=not self.inference,
        )
        return on_kind(training, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A recipe at one batch: its kernels, gradient bytes, FLOPs, input of a sample, weights not trained."""

    replica: Replica
    gradient_bytes: int
    sample_flops: float
    forward_flops: float
    input_bytes: float
    family: str
    layout: Layout = Layout.CHANNELS_FIRST
    frozen: int = 0

    @property
    def table(self) -> KernelTable:
        """Kernels of a pass and an update."""
        return self.replica.table

    @property
    def parameters(self) -> int:
        """All weights."""
        return self.replica.parameters


def recipe_of(case: Case, kind: DeviceKind) -> Recipe:
    """Return the recipe of a case on a kind of device; the framework scales times, not kernels."""
    era = kernel_era(case.software.era)
    return Recipe(
        network=case.network,
        kind=kind,
        precision=case.precision,
        optimizer="none" if case.inference else case.optimizer,
        software=replace(case.software, framework="pytorch", era=era),
        inference=case.inference,
        recompute=case.recompute == "full",
    )


def kernel_era(year: int) -> int:
    """Return the first year from which frameworks have launched the same kernels as in ``year``."""
    return max((since for since in KERNEL_ERAS if since <= year), default=0)


class Works:
    """Keeps what was lowered, by recipe and batch."""

    def __init__(self, open_network: OpenNetwork, processes: int = 1, *, keep: bool = True) -> None:
        """Remember how networks open, how many processes may lower them, and whether to keep the results.

        Without ``keep`` only what the last call of ``prepare`` asked for is held.
        """
        self._open = open_network
        self._keep = keep
        self._processes = processes
        self._works: dict[Recipe, dict[int, Work]] = {}
        self._refused: dict[Recipe, EstimatorError] = {}

    def prepare(self, wanted: Iterable[tuple[Recipe, int]]) -> None:
        """Lower all recipes at the batches that are wanted; what fails is raised where it is asked for."""
        pairs = list(wanted)
        wanting = [(recipe, batch) for recipe, batch in pairs if recipe not in self._refused]
        missing = any(batch not in self._works.get(recipe, {}) for recipe, batch in wanting)
        if missing and not self._keep:
            self._works.clear()
        batches: dict[Recipe, set[int]] = {}
        for recipe, batch in pairs:
            if recipe not in self._refused and batch not in self._works.get(recipe, {}):
                batches.setdefault(recipe, set()).add(batch)
        tasks = [(recipe, tuple(sorted(missing)), self._open) for recipe, missing in batches.items()]
        for (recipe, _, _), found in zip(tasks, self._run(tasks), strict=True):
            if isinstance(found, EstimatorError):
                self._refused[recipe] = found
            else:
                self._works.setdefault(recipe, {}).update(found)

    def _run(self, tasks: Sequence[_Task]) -> Iterator[dict[int, Work] | EstimatorError]:
        """Lower all tasks, in their order; many are shared out over processes."""
        if self._processes == 1 or len(tasks) < _FEWEST_FOR_PROCESSES:
            yield from map(_attempt, tasks)
            return
        with ProcessPoolExecutor(self._processes) as pool:
            yield from pool.map(_attempt, tasks, chunksize=_CHUNK)

    def work(self, recipe: Recipe, batch: int) -> Work:
        """Return the kernels of a recipe at one batch; raises EstimatorError when there are none."""
        self.prepare([(recipe, batch)])
        if recipe in self._refused:
            raise self._refused[recipe]
        return self._works[recipe][batch]


def _attempt(task: _Task) -> dict[int, Work] | EstimatorError:
    """Lower one task; an error is its result, so that it crosses the border between processes."""
    recipe, batches, open_network = task
    try:
        return _lowered(recipe, batches, open_network(recipe.network.name, dict(recipe.network.params)))
    except EstimatorError as error:
        return EstimatorError(str(error).splitlines()[0])


def _lowered(recipe: Recipe, batches: Sequence[int], network: Network) -> dict[int, Work]:
    """Lower at the smallest and the largest batch, and read the tables between them off these."""
    item = POLICIES.get(recipe.precision).weights.itemsize
    first = settled(network, recipe.training(batches[0]), on_cpu=recipe.kind is DeviceKind.CPU)
    layout = first.software.layout
    recipe = recipe._replace(software=replace(recipe.software, layout=layout))

    def work(workload: Workload, table: KernelTable | None = None) -> Work:
        return replace(_work(network, workload, Replica.of(workload, item, table)), layout=layout)

    small = lower(network, recipe.training(batches[0]))
    if len(batches) == 1:
        return {batches[0]: work(small)}
    large = lower(network, recipe.training(batches[-1]))
    try:
        low, high = build_pair(small, large)
    except ValueError:  # the two launch different kernels: each batch is lowered by itself
        return {batch: work(lower(network, recipe.training(batch))) for batch in batches}
    ends = work(small, low), work(large, high)
    width = batches[-1] - batches[0]
    return {batch: _between(*ends, (batch - batches[0]) / width) for batch in batches}


def _between(small: Work, large: Work, share: float) -> Work:
    """Return the work of a batch ``share`` of the way between two; sparse gradients grow with it, too."""
    more = large.gradient_bytes - small.gradient_bytes
    return replace(
        small,
        replica=small.replica.between(large.replica, share),
        gradient_bytes=round(small.gradient_bytes + share * more),
    )


def _work(network: Network, workload: Workload, replica: Replica) -> Work:
    return Work(
        replica=replica,
        gradient_bytes=sum(each.bytes for each in workload.collectives),
        sample_flops=(workload.forward_flops + workload.backward_flops) / workload.batch,
        forward_flops=workload.forward_flops / workload.batch,
        input_bytes=workload.input_bytes / workload.batch,
        family=network.family or _family(network.name),
        frozen=sum(layer.parameters - layer.trainable_parameters for layer in workload.layers),
    )


def _family(name: str) -> str:
    """Return the first word of a network's name: what names of one family share."""
    stem = name.rpartition(":")[2]
    return stem.split("_")[0].rstrip("0123456789") or stem
