"""A tree of small text files to read facts from: the live ``/``, a copy of one, or a recording."""

from __future__ import annotations

import os
import re
import stat
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# /proc/cpuinfo is the largest file read: some 2 KiB a logical CPU.
MAX_FILE_BYTES = 8 << 20
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


def parse_integer(text: str | None) -> int | None:
    """Return the decimal or ``0x`` number that is the whole text, else None."""
    if text is None:
        return None
    text = text.strip()
    if _HEX.fullmatch(text):
        return int(text, 16)
    return int(text) if _INTEGER.fullmatch(text) else None


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts ``cpu2`` before ``cpu10``."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts)


class Tree(ABC):
    """Read-only files by absolute path; what cannot be read is None, never an exception."""

    @abstractmethod
    def text(self, path: str) -> str | None:
        """Return the whole text of a file, or None where it cannot be read."""

    @abstractmethod
    def names(self, path: str) -> tuple[str, ...]:
        """Return the entries of a directory in natural order, empty where it cannot be read."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Say whether there is a file or directory of that path."""

    def line(self, path: str) -> str | None:
        """Return the text without blanks and NULs around it, or None where that leaves nothing."""
        text = self.text(path)
        return (text.strip("\0 \t\r\n") or None) if text is not None else None

    def integer(self, path: str) -> int | None:
        """Return the number a file holds, or None where there is no file or no number in it."""
        return parse_integer(self.line(path))

    def positive(self, path: str) -> int | None:
        """Return the number above 0 that a file holds; drivers write 0 for "not known"."""
        value = self.integer(path)
        return value if value and value > 0 else None


class DiskTree(Tree):
    """Files below a directory; links that lead out of it are not followed (another machine's facts)."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._resolved: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        """Read at most `MAX_FILE_BYTES` of a regular file."""
        place = self._place(path)
        if place is None:
            return None
        try:
            if not stat.S_ISREG(os.stat(place).st_mode):  # noqa: PTH116 - a pipe would block: stat before open
                return None
            with open(place, "rb") as file:  # noqa: PTH123 - thousands of reads: no Path object for each
                return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """List a directory."""
        place = self._place(path)
        if place is None:
            return ()
        try:
            return tuple(sorted(os.listdir(place), key=natural_key))  # noqa: PTH208 - as above
        except (OSError, ValueError):
            return ()

    def exists(self, path: str) -> bool:
        """Ask the file system."""
        place = self._place(path)
        return place is not None and os.path.exists(place)  # noqa: PTH110 - as above

    def _place(self, path: str) -> str | None:
        """Return the path on disk, or None where links lead out of the root."""
        if self._root == "/":
            return path
        parts = [part for part in path.split("/") if part not in {"", "."}]
        if ".." in parts:
            return None
        try:
            return self._real("/".join(parts))
        except (OSError, ValueError):
            return None

    def _real(self, path: str) -> str | None:
        """Resolve a relative path directory by directory, each of them once."""
        if not path:
            return self._root
        if path in self._resolved:
            return self._resolved[path]
        parent, _, name = path.rpartition("/")
        above = self._real(parent)
        place = f"{above}/{name}" if above is not None else None
        if place is not None and os.path.islink(place):  # noqa: PTH114 - as above
            place = os.path.realpath(place)
            if place != self._root and not place.startswith(self._root + os.sep):
                place = None
        self._resolved[path] = place
        return place


class RecordedTree(Tree):
    """Files held in memory: ``files`` by path, ``listings`` of directories whose files were not read."""

    def __init__(self, files: Mapping[str, str], listings: Mapping[str, Iterable[str]] | None = None) -> None:
        self._files = {_normal(path): text for path, text in files.items()}
        self._names: dict[str, set[str]] = {}
        for path in self._files:
            self._add_parents(path)
        for path, names in (listings or {}).items():
            self._names.setdefault(_normal(path), set()).update(names)
            self._add_parents(_normal(path))

    def text(self, path: str) -> str | None:
        """Look a file up."""
        return self._files.get(_normal(path))

    def names(self, path: str) -> tuple[str, ...]:
        """List a directory by the files below it and by its recorded listing."""
        return tuple(sorted(self._names.get(_normal(path), ()), key=natural_key))

    def exists(self, path: str) -> bool:
        """Look among files, directories and listings."""
        path = _normal(path)
        parent, _, name = path.rpartition("/")
        return path in self._files or path in self._names or name in self._names.get(parent, ())

    def _add_parents(self, path: str) -> None:
        while path:
            path, _, name = path.rpartition("/")
            self._names.setdefault(path, set()).add(name)


class RecordingTree(Tree):
    """Another tree, with all that was read from it kept for a record."""

    def __init__(self, inner: Tree) -> None:
        self._inner = inner
        self.files: dict[str, str] = {}
        self.listings: dict[str, tuple[str, ...]] = {}

    def text(self, path: str) -> str | None:
        """Read and keep."""
        text = self._inner.text(path)
        if text is not None:
            self.files[_normal(path)] = text
        return text

    def names(self, path: str) -> tuple[str, ...]:
        """List and keep."""
        names = self._inner.names(path)
        if names:
            self.listings[_normal(path)] = names
        return names

    def exists(self, path: str) -> bool:
        """Ask, and keep that it is there."""
        found = self._inner.exists(path)
        if found:
            parent, _, name = _normal(path).rpartition("/")
            self.listings[parent] = tuple({*self.listings.get(parent, ()), name})
        return found


def _normal(path: str) -> str:
    """Return the path as ``/a/b`` whatever way it was written."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return "/" + "/".join(parts) if parts else ""
