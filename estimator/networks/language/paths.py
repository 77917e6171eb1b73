"""The path of a layer in reports."""

from __future__ import annotations


class Paths:
    """Gives the parts of one container their path.

    A part is called by its name, or by its type: the first ``Conv2d`` of a container is ``Conv2d``, the
    next ``Conv2d_2``. Repetitions and branches are numbered from 0, so the layer named ``attention`` in the
    fourth repetition of a ``repeat`` without a name is ``layers.3.attention``. What joins a Residual or
    Parallel is its last part (``Residual.add``), what stands on the shortcut is in ``Residual.shortcut``.
    """

    __slots__ = ("_counts", "prefix")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._counts: dict[str, int] = {}

    def take(self, label: str) -> str:
        """Return the next path for a label."""
        counts = self._counts
        number = counts.get(label, 0) + 1
        part = label
        if number > 1:
            part = f"{label}_{number}"
            while part in counts:
                number += 1
                part = f"{label}_{number}"
            counts[part] = 1
        counts[label] = number
        return f"{self.prefix}.{part}" if self.prefix else part
