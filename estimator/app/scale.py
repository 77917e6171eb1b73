"""The use case of ``estimator scale``: one network on more and more devices, weak and strong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.app.fit import memory_summary
from estimator.app.prediction import lowered
from estimator.app.request import assumptions_of, training_of
from estimator.app.systems import joined_system
from estimator.catalog.interconnects import load_interconnect
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.predict.collectives import exchange_s
from estimator.predict.step import estimate_step
from estimator.provenance import Assumption
from estimator.results.sweep import ScalePoint, ScaleResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from estimator.app.here import Grounds
    from estimator.app.prediction import LoweredRun
    from estimator.app.request import Request
    from estimator.app.source import Described
    from estimator.hardware.system import Interconnect, System

WEAK, STRONG = "weak", "strong"
_PER_NODE = {DeviceKind.CPU: 1, DeviceKind.GPU: 8}
_BETWEEN = "infiniband-hdr"
_BETWEEN_LONE = "ethernet-10g"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What is scaled over: numbers of devices, links within a node, and what joins nodes."""

    counts: tuple[int, ...]
    links: tuple[str | None, ...] = (None,)
    per_node: int | None = None
    between: str | None = None
    kinds: tuple[str, ...] = (WEAK, STRONG)


def scale(described: Described, request: Request, grounds: Grounds, ladder: Ladder) -> ScaleResult:
    """Return a point for each number of devices, link and kind of scaling.

    Weak keeps the batch of a device; strong keeps the global batch of the fewest devices, and leaves out
    (with a warning) numbers that it cannot be split over evenly.
    """
    training = training_of(request, described.training)
    work = _Work(described=described, request=request, grounds=grounds)
    counts = tuple(sorted(set(ladder.counts)))
    points: list[ScalePoint] = []
    warnings: list[str] = []
    for link in ladder.links:
        systems = {count: work.system(count, link, ladder) for count in counts}
        for kind in ladder.kinds:
            total = training.batch * counts[0]
            batches = {c: training.batch if kind == WEAK else total // c for c in counts}
            uneven = [c for c in counts if kind == STRONG and total % c]
            if uneven:
                listed = ", ".join(map(str, uneven))
                warnings.append(f"a global batch of {total} cannot be split evenly over {listed} devices")
            rows = [work.point(kind, systems[c], batches[c]) for c in counts if c not in uneven]
            points += _relative(rows, systems[counts[-1]].within)
    if not points:
        raise InputError(warnings[0], hint="give a larger --batch")
    return ScaleResult(
        inputs={
            **request.inputs(), "network": described.network.name, "network_file": request.network,
            "batch": training.batch, "precision": training.precision.name,
        },
        device=grounds.device.name,
        gradient_bytes=sum(c.bytes for c in work.run(training.batch).workload.collectives),
        points=tuple(points),
        coverage=request.coverage,
        basis=work.basis,
        assumptions=tuple(dict.fromkeys((*assumptions_of(request, training), *work.assumed))),
        warnings=tuple(dict.fromkeys(warnings)),
    )  # fmt: skip


class _Work:
    """Steps of one network on one kind of device; each batch is lowered once."""

    def __init__(self, *, described: Described, request: Request, grounds: Grounds) -> None:
        self._network = described.network
        self._request = request
        self._training = training_of(request, described.training)
        self._device = grounds.device
        self._grounds = grounds
        self._runs: dict[int, LoweredRun] = {}
        self.assumed: list[Assumption] = list(grounds.assumptions)
        self.basis = ""

    def run(self, batch: int) -> LoweredRun:
        """Return the work of a batch on one device."""
        if batch not in self._runs:
            self._runs[batch] = lowered(
                self._network, replace(self._training, batch=batch), self._device.kind
            )
        return self._runs[batch]

    def system(self, count: int, link: str | None, ladder: Ladder) -> System:
        """Return ``count`` devices, spread over nodes where one does not hold them."""
        per_node = ladder.per_node or _PER_NODE[self._device.kind]
        nodes = max(1, count // per_node)
        if count > per_node and count % per_node:
            raise InputError(
                f"--devices: {count} cannot be spread evenly over nodes of {per_node}",
                hint="give multiples, or another --per-node",
            )
        named = joined_system(self._device, min(count, per_node), link, ())
        self.assumed += named.assumptions
        lone = per_node == 1  # then the only link is the one between nodes
        asked = ladder.between or (link if lone else None)
        between = load_interconnect(asked or (_BETWEEN_LONE if lone else _BETWEEN))
        if nodes == 1:
            return replace(named.system, count=count)
        if asked is None:
            self._assume("interconnect between nodes", between.name, "change it with --between")
        if ladder.per_node is None:
            self._assume("devices a node", str(per_node), "change it with --per-node")
        return replace(named.system, count=count, nodes=nodes, between=between)

    def _assume(self, what: str, value: str, why: str) -> None:
        self.assumed.append(Assumption(what=what, value=value, why=f"not said; {why}"))

    def point(self, kind: str, system: System, batch: int) -> ScalePoint:
        """Return one point; speed-up and efficiency are still to be set."""
        run = self.run(batch)
        step = estimate_step(
            run.workload, system,
            software=run.training.software, policy=run.training.precision,
            calibration=self._grounds.calibration, measured_here=self._grounds.measured_here,
            coverage=self._request.coverage, input_samples_per_s=run.training.images_per_s,
        )  # fmt: skip
        self.basis = step.time.basis
        era = run.training.software.era
        memory = memory_summary(run.workload.footprint, run.doubled, system.device, batch, era)
        parts = run.workload.collectives
        return ScalePoint(
            kind=kind,
            link=None,
            between=system.between.name if system.between else None,
            devices=system.count,
            nodes=system.nodes,
            batch=batch,
            global_batch=batch * system.count * run.training.accumulation,
            step_s=step.time.expected,
            low_s=step.time.low,
            high_s=step.time.high,
            samples_per_s=step.samples_per_s,
            speed_up=1.0,
            efficiency=1.0,
            exchange_s=sum(exchange_s(c.kind, c.bytes, system, buckets=c.buckets) for c in parts),
            exposed_s=step.phases.communication_s,
            fits=memory.fits,
        )


def _relative(rows: Sequence[ScalePoint], link: Interconnect | None) -> Iterable[ScalePoint]:
    """Set speed-up and efficiency against the fewest devices, and the link of the series."""
    for row in rows:
        gain = row.samples_per_s / rows[0].samples_per_s
        efficiency = gain * rows[0].devices / row.devices
        yield replace(row, speed_up=gain, efficiency=efficiency, link=link.name if link else None)
