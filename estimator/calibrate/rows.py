"""Reads measurement tables: one frozen row a measured training or inference run."""

from __future__ import annotations

import csv
import gzip
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.errors import CombinedInputError, InputError, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

COLUMNS = (
    "row", "source_id", "source", "source_path", "year", "model", "model_config", "input_shape",
    "batch_size", "grad_accum", "num_devices", "num_nodes", "interconnect", "device", "precision", "layout",
    "framework", "framework_version", "cuda_cudnn", "mode", "metric", "value", "notes", "licence", "trust",
)  # fmt: skip
_REQUIRED = ("model", "device", "mode", "metric", "value")
_MAX_ERRORS = 20
_MAX_CELL = 1 << 20
_MAX_TABLE_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One line of a measurement table; text columns as written, figures as numbers.

    ``batch_size``, ``grad_accum`` and ``num_nodes`` stay text, because sources write layouts there
    (``micro 2; global 16``). ``devices`` is None where the table leaves it out.
    """

    row: str
    source_id: str
    source: str
    source_path: str
    year: int | None
    model: str
    model_config: str
    input_shape: str
    batch_size: str
    grad_accum: str
    devices: int | None
    num_nodes: str
    interconnect: str
    device: str
    precision: str
    layout: str
    framework: str
    framework_version: str
    cuda_cudnn: str
    mode: str
    metric: str
    value: float
    notes: str
    licence: str
    trust: str
    baselines: tuple[tuple[str, float], ...] = ()
    at: Location


def read_rows(path: Path) -> tuple[MeasuredRow, ...]:
    """Read a measurement table (CSV, gzip or not).

    Columns beyond :data:`COLUMNS` are ignored, but ``predicted_NAME_ms`` is kept as a baseline in seconds.
    Raises InputError for a file that cannot be read or lacks columns, CombinedInputError for malformed lines.
    """
    return parse_rows(read_table_text(path), str(path))


def read_table_text(path: Path) -> str:
    """Text of a file that may be gzipped; refuses what is not UTF-8 text or is larger than 256 MiB."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
                raw = packed.read(_MAX_TABLE_BYTES + 1)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"cannot read {path}: {reason}") from None
    if len(raw) > _MAX_TABLE_BYTES:
        raise InputError(f"{path} is larger than 256 MiB", hint="split the table")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start})") from None


def parse_rows(text: str, file: str) -> tuple[MeasuredRow, ...]:
    """Read the text of a measurement table; ``file`` names it in errors."""
    csv.field_size_limit(_MAX_CELL)
    reader = csv.DictReader(io.StringIO(text), strict=True)
    _check_columns(reader.fieldnames, file)
    rows: list[MeasuredRow] = []
    errors: list[InputError] = []
    for cells in _lines(reader, file, errors):
        try:
            rows.append(_row(cells, Location(file, reader.line_num, 1)))
        except InputError as error:
            errors.append(error)
        if len(errors) >= _MAX_ERRORS:
            break
    if errors:
        raise CombinedInputError(errors)
    return tuple(rows)


def _lines(
    reader: csv.DictReader[str], file: str, errors: list[InputError]
) -> Iterable[dict[str | None, str | list[str] | None]]:
    """Give the lines; a broken quotation ends the table with an error."""
    try:
        yield from reader
    except csv.Error as error:
        errors.append(InputError(f"broken CSV: {error}", at=Location(file, reader.line_num, 1)))


def _check_columns(found: Iterable[str] | None, file: str) -> None:
    """Refuse a table without the columns that every measurement table has."""
    names = set(found or ())
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(
            f"no measurement table: column{'s' * (len(missing) > 1)} {', '.join(missing)} missing",
            at=Location(file, 1, 1),
            hint=f"the first line must name {', '.join(COLUMNS)}",
        )


def _row(cells: Mapping[str | None, str | list[str] | None], at: Location) -> MeasuredRow:
    """Type the cells of one line."""
    if None in cells or None in cells.values():
        raise InputError("line has another number of cells than the first line", at=at)
    text = {str(name): value.strip() for name, value in cells.items() if isinstance(value, str)}
    empty = [name for name in _REQUIRED if not text[name]]
    if empty:
        raise InputError(f"{', '.join(empty)} empty", at=at)
    return MeasuredRow(
        year=_whole(text["year"], "year", at),
        devices=_whole(text["num_devices"], "num_devices", at),
        value=_positive(text["value"], "value", at),
        baselines=tuple(_baselines(text)),
        at=at,
        **{name: text[name] for name in COLUMNS if name not in ("year", "num_devices", "value")},
    )


def _baselines(text: Mapping[str, str]) -> Iterable[tuple[str, float]]:
    """Other people's predictions in seconds, where the table carries them."""
    for name, cell in text.items():
        if name.startswith("predicted_") and name.endswith("_ms") and cell:
            try:
                yield name.removeprefix("predicted_").removesuffix("_ms"), float(cell) / 1e3
            except ValueError:
                continue


def _positive(text: str, name: str, at: Location) -> float:
    """Read a number above zero."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}, not a number", at=at) from None
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{name} is {text}, must be above 0", at=at)
    return value


def _whole(text: str, name: str, at: Location) -> int | None:
    """Read a whole number above zero (``8`` or ``8.0``), or None for an empty cell."""
    if not text:
        return None
    value = _positive(text, name, at)
    if value != int(value):
        raise InputError(f"{name} is {text}, must be whole", at=at)
    return int(value)
