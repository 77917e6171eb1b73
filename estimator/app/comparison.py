"""The use case of ``estimator compare``: who is faster, by how much, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.results.prediction import ComparisonResult, LayerGain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.app.request import Request
    from estimator.results.prediction import DeviceCost, Prediction

_BOUND_WORDS = {
    "compute_s": "arithmetic",
    "memory_s": "memory traffic",
    "launch_s": "kernel launches",
    "host_s": "the host that issues kernels",
    "communication_s": "the exchange of gradients",
    "serial_s": "serial work",
}
_PLURAL = frozenset({"kernel launches"})
_SHOWN_SHARE = 0.1
_SLOWER = 1.02
_MATTERS = 0.005  # of a step on either device


def compare(
    request: Request,
    predictions: tuple[Prediction, ...],
    warnings: Sequence[str],
    inputs: Mapping[str, object],
    costs: tuple[DeviceCost, ...] = (),
) -> ComparisonResult:
    """Return predictions with the sentences that explain their order, and what they cost.

    The baseline is the first CPU, or the slowest system when there is none.
    """
    baseline = _baseline(predictions)
    fastest = min(predictions, key=_seconds_a_sample)
    return ComparisonResult(
        inputs={**request.inputs(), **inputs},
        predictions=predictions,
        explanation=tuple(_explain(baseline, fastest, p) for p in predictions if p is not baseline),
        warnings=tuple(warnings),
        gains=_gains(baseline, fastest) if fastest is not baseline else (),
        baseline=baseline.device.id,
        costs=costs,
    )


def _seconds_a_sample(prediction: Prediction) -> float:
    return 1 / prediction.step.samples_per_s


def _baseline(predictions: tuple[Prediction, ...]) -> Prediction:
    cpus = [p for p in predictions if p.device.kind == "cpu"]
    return cpus[0] if cpus else max(predictions, key=_seconds_a_sample)


def _explain(baseline: Prediction, fastest: Prediction, other: Prediction) -> str:
    """Say why ``other`` is as much faster or slower than the baseline as it is."""
    del fastest
    ratio = _seconds_a_sample(baseline) / _seconds_a_sample(other)
    name, base = _named(other), _named(baseline)
    if ratio < 1 / _SLOWER:
        return (
            f"{name} is {1 / ratio:.1f}x slower than {base}: {_time_shares(other)} "
            "of its step, and more lanes do not shorten that."
        )
    lanes = other.device.lanes * other.device.devices / (baseline.device.lanes * baseline.device.devices)
    parts = [f"{name} has {_times(lanes)} the lanes of {base}"]
    peaks = (other.device.peak_flop_per_s, baseline.device.peak_flop_per_s)
    if peaks[0] and peaks[1]:
        parts.append(
            f"{_times(peaks[0] * other.device.devices / peaks[1] / baseline.device.devices)} its peak"
        )
    bandwidths = (other.device.bandwidth_bytes_per_s, baseline.device.bandwidth_bytes_per_s)
    if bandwidths[0] and bandwidths[1]:
        scale = other.device.devices / baseline.device.devices
        parts.append(f"{_times(bandwidths[0] / bandwidths[1] * scale)} its bandwidth")
    text = ", ".join(parts) + f", and trains {_times(ratio)} as fast"
    return f"{text}: {_time_shares(other)} of its step{_utilisation(other, baseline)}."


def _utilisation(other: Prediction, baseline: Prediction) -> str:
    if other.step.mfu is None or baseline.step.mfu is None:
        return ""
    saving = " (Winograd's convolutions need fewer multiplications)" if other.step.mfu > 1 else ""
    return (
        f", and its products reach {100 * other.step.mfu:.0f} % of peak{saving} "
        f"where {_named(baseline)} reaches {100 * baseline.step.mfu:.0f} %"
    )


def _time_shares(prediction: Prediction) -> str:
    """Return ``memory traffic takes 60 %, arithmetic 30 %`` with the parts that matter, largest first."""
    total = prediction.step.time_s.expected
    shares = sorted(
        ((getattr(prediction.step.bounds, name) / total, words) for name, words in _BOUND_WORDS.items()),
        reverse=True,
    )
    shown = [(share, words) for share, words in shares if share >= _SHOWN_SHARE] or shares[:1]
    first, *rest = shown
    verb = "take" if first[1] in _PLURAL else "takes"
    text = f"{first[1]} {verb} {100 * first[0]:.0f} %"
    return ", ".join([text, *(f"{words} {100 * share:.0f} %" for share, words in rest)])


def _named(prediction: Prediction) -> str:
    count = prediction.device.devices
    name = prediction.device.name
    return f"{count}x {name}" if count > 1 else name


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"  # noqa: PLR2004 - two digits either way


def _gains(baseline: Prediction, fastest: Prediction) -> tuple[LayerGain, ...]:
    """Rank the layers that matter by how much the fastest system speeds them up, most first."""
    rows = []
    least_slow, least_fast = (_MATTERS * p.step.time_s.expected for p in (baseline, fastest))
    for slow, fast in zip(baseline.layers, fastest.layers, strict=True):
        slow_s, fast_s = slow.forward_s + slow.backward_s, fast.forward_s + fast.backward_s
        if fast_s > 0 and (slow_s > least_slow or fast_s > least_fast):
            rows.append(
                LayerGain(
                    path=slow.path,
                    baseline=baseline.device.name,
                    device=fastest.device.name,
                    baseline_s=slow_s,
                    device_s=fast_s,
                    speed_up=slow_s / fast_s,
                )
            )
    return tuple(sorted(rows, key=lambda row: (-round(row.speed_up, 9), row.path)))  # no order by rounding
