"""A measurement row as a case to predict: network, recipe, hardware and what was measured."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.calibrate.row_aliases import NetworkRef, UncoveredError, network_of
from estimator.calibrate.row_batch import batch_of, usual_batch
from estimator.calibrate.row_errata import corrected
from estimator.calibrate.row_facts import parallelism_of, recompute_of, row_facts
from estimator.calibrate.row_settings import (
    DEFAULT_OPTIMIZER,
    TRANSFORMER_OPTIMIZER,
    copies_input,
    keeps_input,
    optimizer_of,
    precision_of,
    software_of,
    trust_of,
    unusable,
)
from estimator.calibrate.row_span import (
    EPOCH_MODES,
    STEP_MODES,
    TOTAL_MODES,
    Measured,
    measured_of,
    phases_of,
    span_of,
)
from estimator.predict.layout import Parallelism

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.calibrate.row_aliases import AliasTables, NetworkAlias
    from estimator.calibrate.rows import MeasuredRow
    from estimator.document import Value
    from estimator.software import Software
    from estimator.workload.kernel import Phase

ALLREDUCE = "allreduce"
_DEVICES_A_NODE = 8
# Notes that begin with what a rate counts: "unit = mel frames/s", "audio samples/s", "tokens/s".
_COUNTS_ITEMS = re.compile(r".{0,8}unit|.{0,2}tokens|(?:mel )?frames/s|audio samples/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What to predict for one row, and the time that was measured for it.

    The predicted time is ``steps`` optimizer steps in ``phases`` plus one forward pass of
    ``validation_samples``. A step passes ``step_samples`` over all devices, ``micro_batch`` at a time on a
    data-parallel rank (None: not stated). ``parallel`` is None where a model-parallel layout is not stated.
    ``recompute``: the activations computed twice (none, selective, full).
    ``copies_input``: the timed region holds the batch's copy to the device; ``keeps_input``: none is made.
    ``message_bytes``: an all-reduce alone; ``measured_s`` None: a rate of FLOPs was measured.
    """

    row: MeasuredRow
    network: NetworkRef
    micro_batch: int | None
    step_samples: float
    optimizer: str
    count: int
    nodes: int
    parallel: Parallelism | None
    recompute: str
    precision: str
    software: Software
    phases: tuple[Phase, ...]
    inference: bool
    steps: float
    validation_samples: float
    measured: Measured
    trust: str
    usable: bool
    why_unusable: str | None
    group: str = ""
    copies_input: bool = False
    keeps_input: bool = False
    message_bytes: int | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def measured_s(self) -> float | None:
        """Seconds of the whole span, where the row states a time."""
        return self.measured.seconds

    @property
    def source_group(self) -> str:
        """Name the origin of the row's table; tables of one origin are not independent."""
        return self.group or self.row.source_id

    @property
    def accumulation(self) -> int | None:
        """Passes before an optimizer step, where batch and layout are known."""
        if self.micro_batch is None or self.parallel is None:
            return None
        return max(1, round(self.step_samples / (self.micro_batch * self.parallel.data)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncovered:
    """A row that cannot be compared with a prediction, and why."""

    row: MeasuredRow
    reason: str


def interpret(row: MeasuredRow, tables: AliasTables) -> Case | Uncovered:
    """Translate a row into a case, or say why it cannot be one."""
    row = corrected(row, tables)
    try:
        return _allreduce(row, tables) if row.mode == ALLREDUCE else _case(row, tables)
    except UncoveredError as reason:
        return Uncovered(row=row, reason=str(reason))


def interpret_all(
    rows: Iterable[MeasuredRow], tables: AliasTables
) -> tuple[tuple[Case, ...], tuple[Uncovered, ...]]:
    """Translate rows; cases and uncovered rows keep their order."""
    found = [interpret(row, tables) for row in rows]
    return (
        tuple(each for each in found if isinstance(each, Case)),
        tuple(each for each in found if isinstance(each, Uncovered)),
    )


def _case(row: MeasuredRow, tables: AliasTables) -> Case:
    if row.mode not in STEP_MODES and row.mode not in EPOCH_MODES and row.mode not in TOTAL_MODES:
        raise UncoveredError(f"mode {row.mode!r} not supported")
    facts = row_facts(row)
    network, alias = network_of(tables, row.model, facts)
    network = _traced_name(network, row, tables)
    precision, guessed = precision_of(row, tables)
    count = row.devices or _count_from_hours(row)
    layout, stated = parallelism_of(row, count)
    seq = _int(dict(network.params).get("seq") or facts.get("seq"))
    usual = int(alias.batch) if alias and alias.batch.isdigit() else usual_batch(row, facts)
    batch = batch_of(row, layout, seq, usual)
    assumed = f"batch not stated: {usual} a device" if batch.micro == usual and not row.batch_size else None
    micro, total = batch.micro, batch.total
    if alias and alias.batch == "tokens":
        micro, total = _samples_of_tokens(batch.micro, batch.total, seq)
    span = span_of(row, total, seq, tables)
    trust = trust_of(row, tables)
    why = unusable(row, trust)
    software = software_of(row, precision, tables)
    default = tables.sources.get(row.source_id, {}).get("optimizer") or _usual_optimizer(network, alias, seq)
    return Case(
        row=row,
        network=network,
        micro_batch=micro,
        step_samples=total,
        optimizer="none" if row.mode == "forward_backward" else optimizer_of(row, default, tables),
        count=count,
        nodes=_nodes(row, count),
        parallel=layout if stated or count == 1 or _is_replicated(network, micro) else None,
        recompute=recompute_of(row.notes),
        precision=precision,
        software=software,
        phases=phases_of(row),
        inference=row.mode == "forward",
        steps=span.steps,
        validation_samples=span.validation_samples,
        measured=measured_of(row, count=count, step_samples=total, items=_items(row, alias, facts, seq)),
        trust=trust,
        usable=why is None,
        why_unusable=why,
        group=tables.sources.get(row.source_id, {}).get("group", ""),
        copies_input=copies_input(row),
        keeps_input=keeps_input(row),
        assumptions=tuple(filter(None, (guessed, assumed))),
    )


def _is_replicated(network: NetworkRef, micro: int | None) -> bool:
    """Tell whether a run that states no layout keeps a whole model on each device.

    Runs of large transformers may not; there the layout is open.
    """
    return micro is not None and not {"d", "layers"} <= dict(network.params).keys()


def _usual_optimizer(network: NetworkRef, alias: NetworkAlias | None, seq: int | None) -> str:
    """Return what a network is usually trained with: Adam for transformers, else SGD with momentum."""
    if alias and alias.optimizer:
        return alias.optimizer
    is_transformer = seq is not None and "d" in dict(network.params)
    return TRANSFORMER_OPTIMIZER if is_transformer else DEFAULT_OPTIMIZER


def _traced_name(network: NetworkRef, row: MeasuredRow, tables: AliasTables) -> NetworkRef:
    """Take a label of timm's own benchmark as timm's name, with what its script does to the network."""
    name = network.name
    if "timm" in row.framework and ":" not in name:
        name = f"timm:{row.model}"
    changed = tables.search("variants", f"{row.source} | {row.source_path} | {row.model}")
    return replace(network, name=name + changed["suffix"] if changed else name)


def _allreduce(row: MeasuredRow, tables: AliasTables) -> Case:
    """Translate bus bandwidth of an all-reduce of S bytes over n devices: 2 (n-1)/n S / bandwidth."""
    size = _int(row_facts(row).get("message"))
    count = row.devices
    if size is None or count is None or row.metric != "gb_per_s":
        raise UncoveredError("message size, devices or bus bandwidth of the all-reduce not stated")
    trust = trust_of(row, tables)
    why = unusable(row, trust)
    return Case(
        row=row, network=NetworkRef(name="all_reduce"), micro_batch=1, step_samples=1.0, optimizer="sgd",
        count=count, nodes=_nodes(row, count), parallel=Parallelism(data=count), recompute="none",
        precision="fp32",
        software=software_of(row, "fp32", tables), phases=(), inference=False, steps=1.0,
        validation_samples=0.0,
        measured=Measured(seconds=2 * (count - 1) / count * size / (row.value * 1e9)),
        trust=trust, usable=why is None, why_unusable=why, message_bytes=size,
        group=tables.sources.get(row.source_id, {}).get("group", ""),
    )  # fmt: skip


def _items(row: MeasuredRow, alias: NetworkAlias | None, facts: dict[str, Value], seq: int | None) -> float:
    """Return what one sample counts in the row's rate (tokens, frames), 1 for a rate of samples."""
    text = alias.items if alias else ""
    if text == "?" and row.metric == "samples_per_s":
        raise UncoveredError("whether the rate is per device or over all devices is not stated")
    counts_items = row.metric == "tokens_per_s" or _COUNTS_ITEMS.match(row.notes)
    if counts_items and text and text != "?":
        value = facts.get(text[1:]) if text.startswith("$") else float(text)
        return float(value) if isinstance(value, int | float) else 1.0
    if row.metric == "tokens_per_s":
        if seq is None:
            raise UncoveredError("sequence length not stated")
        return float(seq)
    return 1.0


def _samples_of_tokens(micro: int | None, total: float, seq: int | None) -> tuple[int | None, float]:
    """Turn a batch counted in tokens into one in sequences."""
    if seq is None:
        raise UncoveredError("sequence length not stated")
    return (max(1, micro // seq) if micro else None), total / seq


def _count_from_hours(row: MeasuredRow) -> int:
    """Device-hours hardly depend on the number of devices; a usual number stands in where none is stated."""
    if row.metric == "gpu_hours":
        return 1024
    raise UncoveredError("number of devices not stated")


def _nodes(row: MeasuredRow, count: int) -> int:
    """Hosts: as stated, else eight devices a host; loose servers hold one device each."""
    text = row.num_nodes
    if text.isdigit():
        return max(1, min(int(text), count))
    if text.startswith("spread"):
        return count
    return max(1, -(-count // _DEVICES_A_NODE)) if not text.startswith("1") else 1


def _int(value: Value) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def reasons(uncovered: Iterable[Uncovered]) -> list[tuple[str, int, str]]:
    """Sum up uncovered rows: reason, count, first example; most frequent first."""
    rows = list(uncovered)
    first = {each.reason: each for each in reversed(rows)}
    return [
        (reason, count, f"{first[reason].row.at.file}:{first[reason].row.at.line}: {first[reason].row.model}")
        for reason, count in Counter(each.reason for each in rows).most_common()
    ]
