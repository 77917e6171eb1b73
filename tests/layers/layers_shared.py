"""What several tests of layers ask PyTorch for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def kept_by_torch(run: Callable[..., Any], *inputs: Any, besides: Iterable[Any]) -> int:  # noqa: ANN401 - torch is optional
    """Return the bytes of all distinct memory autograd keeps for ``run``, but that of tensors ``besides``.

    Attention is un-fused.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kept: dict[int, int] = {}
    alive = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        sdpa_kernel(SDPBackend.MATH),
    ):
        run(*inputs)
    others = {tensor.untyped_storage().data_ptr() for tensor in besides}
    return sum(size for pointer, size in kept.items() if pointer not in others)
