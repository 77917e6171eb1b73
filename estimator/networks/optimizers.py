"""Optimizers: the state they keep for a parameter and the kernels that update it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.precision import DType
from estimator.registry import Registry
from estimator.software import FOREACH_SINCE, OptimizerKernels
from estimator.workload.kernel import FRESH, Kernel, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from estimator.precision import PrecisionPolicy
    from estimator.software import Software

# torch's multi-tensor kernels take so many tensors and blocks of so many elements a launch
# (ATen/native/cuda/MultiTensorApply.cuh: depth-3 lists 48 tensors, 320 blocks, 65,536 elements a block).
_TENSORS_PER_LAUNCH = 48
_ELEMENTS_PER_LAUNCH = 320 * 65536
# glibc maps allocations from this size up afresh each time (malloc/malloc.c: DEFAULT_MMAP_THRESHOLD_MAX).
_MAPPED_BYTES = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerRule:
    """``states`` parameter-sized tensors are kept; ``steps`` are the update's element-wise operations.

    Each entry of ``steps`` is the number of parameter-sized tensors that operation reads and writes, as
    torch.optim's un-fused code issues them; ``fused`` the tensors a fused update moves, in ``fused_kernels``
    of them: what needs the norm of the whole waits for it. The results of the steps ``fresh`` are new
    tensors, which live to the end of the update.
    """

    name: str
    states: float
    steps: tuple[int, ...]
    fused: int
    fresh: tuple[int, ...] = ()
    fused_kernels: int = 1


OPTIMIZERS: Registry[OptimizerRule] = Registry("optimizer")

for _rule in (
    OptimizerRule(name="none", states=0, steps=(), fused=0),
    # p -= lr g
    OptimizerRule(name="sgd", states=0, steps=(3,), fused=3),
    # b *= m; b += g; p -= lr b
    OptimizerRule(name="momentum", states=1, steps=(2, 3, 3), fused=5),
    # the same, and d = g + m b
    OptimizerRule(name="nesterov", states=1, steps=(2, 3, 3, 3), fused=5, fresh=(2,)),
    # m.lerp; v *= b; v += g g; sqrt; / bias; + eps; p -= m / d
    OptimizerRule(name="adam", states=2, steps=(3, 2, 3, 2, 2, 2, 4), fused=7, fresh=(3, 4)),
    # the same after p *= 1 - lr wd
    OptimizerRule(name="adamw", states=2, steps=(2, 3, 2, 3, 2, 2, 2, 4), fused=7, fresh=(4, 5)),
    # m.lerp; v *= b; v += g g; sqrt; + eps; u = m / d + wd p; norms of p and u (2 each); p -= r u.
    # Fused (Apex): norm of g; m, v and u from g, p, m and v; norm of p; norm of u; p from p and u
    OptimizerRule(
        name="lamb",
        states=2,
        steps=(3, 2, 3, 2, 2, 3, 3, 2, 1, 2, 1, 3),
        fused=13,
        fresh=(3, 5),
        fused_kernels=5,
    ),
    # v *= a; v += g g; sqrt; + eps; p -= g / d
    OptimizerRule(name="rmsprop", states=1, steps=(2, 3, 2, 2, 4), fused=5, fresh=(2,)),
    # s += g g; sqrt; + eps; p -= g / d
    OptimizerRule(name="adagrad", states=1, steps=(3, 2, 2, 4), fused=5, fresh=(1,)),
    # g g + eps; row mean; column mean; outer root; g / root; clip by its norm (2); p -= u
    OptimizerRule(name="adafactor", states=0.01, steps=(2, 1, 1, 1, 3, 1, 2, 3), fused=7, fresh=(0,)),
    # u = lerp(m, g); sign; p -= lr u; m.lerp
    OptimizerRule(name="lion", states=1, steps=(3, 2, 3, 3), fused=5, fresh=(0,)),
):
    OPTIMIZERS.add(_rule.name, _rule)


def _update(
    name: str, passes: int, sizes: Sequence[int], *, dtype: DType, launches: int, reads: int
) -> Kernel:
    elements = sum(sizes)
    return Kernel(
        name=name,
        op=Op.OPTIMIZER,
        phase=Phase.OPTIMIZER,
        compute=dtype,
        elementwise_flops=elements,
        bytes_read=reads * elements * dtype.itemsize,
        bytes_written=(passes - reads) * elements * dtype.itemsize,
        elements=elements,
        launches=launches,
    )


def multi_tensor_launches(sizes: Sequence[int]) -> int:
    """Return how many launches one operation over a list of tensors of these sizes takes."""
    return max(-(-len(sizes) // _TENSORS_PER_LAUNCH), -(-sum(sizes) // _ELEMENTS_PER_LAUNCH))


def update_kernels(
    rule: OptimizerRule,
    sizes: Sequence[int],
    policy: PrecisionPolicy,
    software: Software,
) -> tuple[Kernel, ...]:
    """Return the kernels of one optimizer step over parameter tensors of ``sizes`` elements.

    Before 2023 frameworks zeroed gradients instead of freeing them. Loss scaling reads and writes every
    gradient once more, into the format of master weights where there are any, which are copied back. A
    fused optimizer finds all gradients in one buffer, into which the backward pass has added them; it
    updates fp32 copies of half-precision weights, and writes the weights.
    """
    if not sizes:
        return ()
    if software.optimizer is OptimizerKernels.FUSED and rule.fused:
        return _fused(rule, sizes, policy)
    dtype = _updated(policy)
    single = software.optimizer is OptimizerKernels.SINGLE
    launches = len(sizes) if single else multi_tensor_launches(sizes)
    kernels = []
    if software.era < FOREACH_SINCE:
        own = policy.weights
        kernels.append(_update("zero_grad", 1, sizes, dtype=own, launches=len(sizes), reads=0))
        kernels.append(_update("grad_accumulate", 3, sizes, dtype=own, launches=len(sizes), reads=2))
    if policy.loss_scaling:
        kernels.append(_copy("unscale", sizes, policy.weights, dtype))
    for i, passes in enumerate(rule.steps):
        for name, some in _by_output(f"{rule.name}_{i}", sizes, dtype, fresh=single and i in rule.fresh):
            many = len(some) if single else launches
            kernels.append(_update(name, passes, some, dtype=dtype, launches=many, reads=max(passes - 1, 1)))
    if policy.masters:
        kernels.append(_copy("write_back", sizes, policy.masters, policy.weights))
    return tuple(kernels)


def _copy(name: str, sizes: Sequence[int], source: DType, target: DType) -> Kernel:
    """Return the kernel that reads tensors in one format and writes them in another, many at a launch."""
    once = multi_tensor_launches(sizes)
    kernel = _update(name, 2, sizes, dtype=source, launches=once, reads=1)
    return replace(kernel, bytes_written=sum(sizes) * target.itemsize)


def _by_output(
    name: str, sizes: Sequence[int], dtype: DType, *, fresh: bool
) -> Iterator[tuple[str, Sequence[int]]]:
    """Set tensors apart whose results the system maps afresh; a CPU pays for their pages."""
    large = [size for size in sizes if size * dtype.itemsize >= _MAPPED_BYTES] if fresh else []
    small = [size for size in sizes if size * dtype.itemsize < _MAPPED_BYTES] if large else sizes
    if large:
        yield name + FRESH, large
    if small:
        yield name, small


def update_bytes(
    rule: OptimizerRule, sizes: Sequence[int], policy: PrecisionPolicy, software: Software
) -> int:
    """Return the memory of an update's own tensors: of one parameter after the other, or of all at once.

    The foreach form makes one copy of all parameters (torch.optim: "uses ~ sizeof(params) more peak memory").
    """
    if not rule.fresh or not sizes or software.optimizer is OptimizerKernels.FUSED:
        return 0
    if software.optimizer is OptimizerKernels.SINGLE:
        return len(rule.fresh) * max(sizes) * _updated(policy).itemsize
    return sum(sizes) * _updated(policy).itemsize


def _fused(rule: OptimizerRule, sizes: Sequence[int], policy: PrecisionPolicy) -> tuple[Kernel, ...]:
    once = multi_tensor_launches(sizes)
    launches = once * rule.fused_kernels
    reads = rule.fused - 1 - round(rule.states)
    update = _update(rule.name, rule.fused, sizes, dtype=DType.FP32, launches=launches, reads=reads)
    if policy.weights.itemsize >= DType.FP32.itemsize:
        update = _update(rule.name, rule.fused, sizes, dtype=policy.weights, launches=launches, reads=reads)
    else:
        weights = sum(sizes) * policy.weights.itemsize
        update = replace(update, bytes_written=update.bytes_written + weights)
    scaled = policy.loss_scaling or policy.weights is DType.FP16
    check = _copy("unscale", sizes, policy.weights, policy.weights)
    return (check, update) if scaled else (update,)


def state_bytes(rule: OptimizerRule, parameters: int, policy: PrecisionPolicy) -> int:
    """Return the memory of the optimizer's state, and of master weights; all have one format."""
    return round((rule.states + bool(policy.masters)) * parameters * _updated(policy).itemsize)


def _updated(policy: PrecisionPolicy) -> DType:
    """Return the format of what the optimizer updates."""
    return policy.masters or policy.weights
