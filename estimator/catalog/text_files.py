"""Reading a text from disk or a stream: within limits, and every way it can go wrong said clearly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from estimator.catalog.excerpts import remember
from estimator.catalog.yaml_reader import LARGEST_BYTES
from estimator.errors import InputError, Location

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text and the name it has in messages."""

    file: str
    text: str


def read_text_file(path: str | PathLike[str]) -> SourceText:
    """Read a UTF-8 text file. Raises InputError for whatever else is there, or is not."""
    name = str(path)
    try:
        with Path(path).open("rb") as stream:
            return read_stream(stream, name)
    except FileNotFoundError:
        raise InputError(f"there is no file {name!r}") from None
    except IsADirectoryError:
        raise InputError(f"{name!r} is a directory", hint="name a file in it") from None
    except PermissionError:
        raise InputError(f"{name!r} may not be read") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name!r} cannot be read: {reason.lower()}") from None


def read_stream(stream: BinaryIO, name: str) -> SourceText:
    """Read a UTF-8 text from a binary stream; no more of it than a text may have."""
    data = stream.read(LARGEST_BYTES + 1)
    start = Location(name, 1, 1)
    if len(data) > LARGEST_BYTES:
        raise InputError(f"the text is larger than {LARGEST_BYTES // 2**20} MiB", at=start)
    if not data.strip():
        raise InputError("the text is empty", at=start)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        at = Location(name, line, len(before) - before.rfind("\n"))
        raise InputError("this is not UTF-8 text", at=at, hint="is this a YAML text file?") from None
    remember(name, text)
    return SourceText(name, text)
