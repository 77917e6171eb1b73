"""How names of devices are compared: case, vendor words, spaces, hyphens and order do not matter."""

from __future__ import annotations

import re

# Words that tell the vendor or the product line and never two devices apart.
_FILLER = frozenset({
    "nvidia", "amd", "ati", "intel", "google", "habana", "huawei", "amazon", "aws", "graphcore",
    "corporation", "corp", "inc", "geforce", "tesla", "quadro", "radeon", "instinct", "tm", "r", "series",
    "generation", "gen", "edition", "device", "accelerator", "processor", "core", "cpu", "gpu", "with",
    "graphics",
})  # fmt: skip
# On Apple chips CPU and GPU share a name, and one shares it with a Tesla: these words tell which is meant.
_APPLE = re.compile(r"m[1-9]")
_APPLE_WORDS = frozenset({"cpu", "gpu", "tesla"})
# What people note in parentheses about the host or about what they do not know: no part of the name.
_HOST_NOTE = re.compile(
    r"\((?:aws|azure|gcp|dgx|one gpu|one die|[^()]*unstated|[^()]*unspecified|unspecified)[^()]*\)"
    r"|@\s*[\d.]+\s*ghz|\b\d+(?:st|nd|rd|th) gen\b|\b\d+-core processor\b|\bone gpu of the board\b"
)
_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™]")
_JOINED = (
    (re.compile(r"\b(rtx|gtx|gt|rx|titan)(?=[a-z]?\d)"), r"\1 "),
    (re.compile(r"(?<=\d{3})(ti|super|xtx|xt|gre)\b"), r" \1"),
    (re.compile(r"\bti(?=super\b)"), "ti "),
    (re.compile(r"(\d)\s*-?\s*gi?b\b"), r"\1gb"),
    (re.compile(r"\b(\d+)[ -]cores?\b"), r"\1core"),
    (re.compile(r"\bmax[- ]?q\b"), "maxq"),
    (re.compile(r"(?<=maxq)\s+design\b"), ""),
)
_WORD = re.compile(r"[a-z0-9.]+")
_COUNT_BEFORE = re.compile(r"\s*(?:(\d+)\s*[x*\u00d7]\s+|(\d{1,3})[x*\u00d7])(\S.*?)\s*", re.IGNORECASE)
_COUNT_AFTER = re.compile(r"\s*(\S.*?)\s+[x*\u00d7]\s?(\d{1,5})\s*", re.IGNORECASE)


def words(name: str) -> tuple[str, ...]:
    """Return what is left of a name to compare by, in alphabetical order."""
    text = _HOST_NOTE.sub(" ", _MARKS.sub(" ", name.lower()))
    for pattern, replacement in _JOINED:
        text = pattern.sub(replacement, text)
    found = [word.strip(".") for word in _WORD.findall(text)]
    apple = "apple" in found or any(_APPLE.fullmatch(word) for word in found)
    kept = {
        word
        for word in found
        if word and word != "apple" and (word not in _FILLER or (apple and word in _APPLE_WORDS))
    }
    return tuple(sorted(kept))


def without_memory(name_words: tuple[str, ...], memory_gib: float | None) -> tuple[str, ...]:
    """Drop the word that states the memory (``11gb``), if it is the memory the device has."""
    if memory_gib is None or memory_gib != int(memory_gib):
        return name_words
    return tuple(word for word in name_words if word != f"{int(memory_gib)}gb")


def split_count(spec: str) -> tuple[int, str] | None:
    """Split ``2x RTX 4090`` or ``RTX 4090 x2`` into count and name; None where no count is given.

    Ask for the whole text as a name first: ``7900XTX`` looks like 7900 pieces of a TX.
    """
    if match := _COUNT_BEFORE.fullmatch(spec):
        return int(match.group(1) or match.group(2)), match.group(3)
    if match := _COUNT_AFTER.fullmatch(spec):
        return int(match.group(2)), match.group(1)
    return None
