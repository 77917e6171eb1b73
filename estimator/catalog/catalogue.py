"""All profiles in reach, indexed by the words of their names; devices are made when asked for."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from estimator.catalog.architectures import build_architecture
from estimator.catalog.devices import build_device
from estimator.catalog.names import without_memory, words
from estimator.catalog.records import names_of, read_snapshot
from estimator.catalog.sources import Sources
from estimator.catalog.store import SNAPSHOT, bundled_root, override_roots

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.catalog.records import Record, Records
    from estimator.hardware.architecture import Architecture
    from estimator.hardware.device import Device

Words = tuple[str, ...]
# A number alone or with its suffix is enough where only one device has it: ``3090``, ``1080 ti``.
_SERIES = frozenset({"rtx", "gtx", "rx", "xeon", "epyc", "ryzen", "arc"})


class Catalogue:
    """Profiles by id and by name.

    ``exact`` are ids, names and aliases; ``short`` the same without ``RTX`` and the like before a number;
    ``loose`` also without, or with, the memory the device has; ``open`` names that leave a variant open,
    with the device that stands for them.
    """

    def __init__(self, records: Records) -> None:
        """Index checked profiles."""
        self.records = records
        self.sources = Sources(records.sources)
        self.exact: dict[Words, set[str]] = {}
        self.short: dict[Words, set[str]] = {}
        self.loose: dict[Words, set[str]] = {}
        self.open: dict[Words, str] = {}
        self.by_pci: dict[str, set[str]] = {}
        self.clouds = {key.partition(":")[0] for key in records.instances}
        self._architectures: dict[str, Architecture] | None = None
        self._devices: dict[str, Device] = {}
        for id_, record in records.devices.items():
            self._index(id_, record)

    def _index(self, id_: str, record: Record) -> None:
        known = self.records.words.get(id_)
        if known is None:
            known = [" ".join(words(name)) for name in names_of(id_, record)]
        for text in known:
            exact = tuple(text.split(" "))
            self.exact.setdefault(exact, set()).add(id_)
            if short := _without_series(exact):
                self.short.setdefault(short, set()).add(id_)
            bare = without_memory(exact, record.get("memory_gib"))
            memory = record.get("memory_gib")
            full = tuple(sorted({*bare, f"{memory:g}gb"})) if memory else bare
            for loose in filter(None, (bare, full)):
                self.loose.setdefault(loose, set()).add(id_)
                if short := _without_series(loose):
                    self.loose.setdefault(short, set()).add(id_)
        for name in record.get("stands_for", ()):
            self.open[words(name)] = id_
        for pci_id in record.get("pci_ids", ()):
            self.by_pci.setdefault(pci_id, set()).add(id_)

    @property
    def architectures(self) -> dict[str, Architecture]:
        """All architectures by id."""
        if self._architectures is None:
            self._architectures = {
                id_: build_architecture(record, self.sources)
                for id_, record in self.records.architectures.items()
            }
        return self._architectures

    def device(self, id_: str) -> Device:
        """Return the device of that id; KeyError where there is none."""
        if id_ not in self._devices:
            self._devices[id_] = build_device(self.records.devices[id_], self.architectures, self.sources)
        return self._devices[id_]


def _without_series(name_words: Words) -> Words:
    """Drop ``RTX`` and the like; empty where there is none."""
    short = tuple(word for word in name_words if word not in _SERIES)
    return short if len(short) < len(name_words) else ()


def current_catalogue() -> Catalogue:
    """Return the catalogue of the bundled profiles with the user's own put in their place.

    Read once; read again only when other folders are named. Raises InputError for a bad user profile.
    """
    return _catalogue(bundled_root(), override_roots())


@functools.lru_cache(maxsize=4)
def _catalogue(bundled: Path, overrides: tuple[Path, ...]) -> Catalogue:
    snapshot = bundled / SNAPSHOT
    if snapshot.is_file() and not overrides:
        return Catalogue(read_snapshot(snapshot))
    # Imported only here: the snapshot needs neither the YAML reader nor the rules.
    from estimator.catalog.reading import read_root

    records = read_snapshot(snapshot) if snapshot.is_file() else read_root(bundled)
    for root in reversed(overrides):
        records = records.updated(read_root(root))
    return Catalogue(records)


def forget_catalogue() -> None:
    """Read the profiles anew at the next request: something was added."""
    _catalogue.cache_clear()
