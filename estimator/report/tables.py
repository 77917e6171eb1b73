"""Tables and figures of the Markdown pages on accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a table as one paragraph."""
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(cell.replace("|", "/") for cell in row) for row in rows]
    return ["\n".join(f"| {line} |" for line in lines)]


def percent(value: float | None, *, signed: bool = False) -> str:
    """Return a fraction of one as per cent with one decimal, a dash for None."""
    if value is None:
        return "—"
    return f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
