"""What the free-text columns of a measurement row state: shapes, configuration, parallel layout."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.calibrate.row_aliases import UncoveredError, typed
from estimator.predict.layout import Parallelism

if TYPE_CHECKING:
    from estimator.calibrate.rows import MeasuredRow
    from estimator.document import Value

_PAIR = re.compile(r"\b([A-Za-z_]+)=([^;,\s]+)")
_IMAGE = re.compile(r"(?:(\d{1,2})x)?(\d{2,5})x(\d{2,5})(?:x(\d{1,2}))?(?![\dx])")
_VOLUME = re.compile(r"(?:\d{1,2}x)?(\d{2,4})x\1x\1|(\d{2,4})\^3")
_PAIR_OF_SEQUENCES = re.compile(r"(?:src )?(\d+)(?: in)? / (?:tgt )?(\d+).*")
_SEQUENCES = (
    re.compile(r"(\d+)(?:\s*\(.*\))?"),
    re.compile(r"(?:seq(?:_len)?[ =]|tgt_len=|bptt |max len )\s*(\d+)\b.*"),
    re.compile(r"(\d+) timesteps"),
    re.compile(r"\(.*(?:block|; )\s*(\d+)\)"),
)
# BERT's second phase holds sequences of up to 512 tokens; just over half of those would be padding (Krell et
# al., Efficient Sequence Packing without Cross-contamination, arXiv:2107.02027). Runs without padding compute
# the rest alone; those that put sequences of like length together pad each to the end of its bin.
_BERT_LONGEST, _BERT_TOKENS, _BIN = 512, 256, 64
_UNPADDED, _BINNED = "unpadded real tokens", "binned"
_PROGRESSIVE = re.compile(r"(\d+)-(\d+) px.*")
_HEADS = (
    (re.compile(r"squad", re.IGNORECASE), "qa"),
    (re.compile(r"pretrain|MLPerf", re.IGNORECASE), "pretraining"),
    (re.compile(r"\bMLM\b"), "mlm"),
    (re.compile(r"NER|classification|seq-cls|XNLI", re.IGNORECASE), "classification"),
)
_LAYOUT_KEYS = {
    "tensor": r"\bTP\s?=?\s?(\d+)|\btensor parallel size\s*=?\s*(\d+)|\btp(\d+)\b",
    "pipeline": r"\bPP\s?=?\s?(\d+)|\bpp(\d+)(?:_\d+)?\b",
    "context": r"\bCP\s?=?\s?(\d+)",
    "experts": r"\bEP\s?=?\s?(\d+)",
    "virtual": r"\bVP\s?=?\s?(\d+)",
}
_MODEL_PARALLEL = re.compile(r"model-parallel size (\d+)")
_INTERLEAVED = re.compile(r"NeMo")
_SEQUENCE_PARALLEL = re.compile(r"NeMo|Megatron-Core|Megatron-Bridge|torchtitan")
_FSDP = re.compile(
    r"\bFSDP2?(?!=0)\b|\bFSDP\d|FULL_SHARD|fully sharded|ZeRO-3|deepspeed_zero_3", re.IGNORECASE
)
_ZERO1 = re.compile(r"ZeRO-[12]\b|\bdeepspeed_zero_[12]\b")
_NO_RECOMPUTE = re.compile(
    r"checkpointing=(?:False|off)|no activation checkpointing|checkpointing off|remat=none", re.IGNORECASE
)
_SELECTIVE = re.compile(r"selective (?:AC|recompute)|\bSAC\b|remat=minimal|per-op SAC", re.IGNORECASE)
_RECOMPUTE = re.compile(
    r"checkpointing=(?:True|on)|checkpointing on\b|full AC|activation checkpoint|recompute on|"
    r"full activation recompute|remat=full|ZeRO-3 \+ recompute|full recompute",
    re.IGNORECASE,
)


def row_facts(row: MeasuredRow) -> dict[str, Value]:
    """Collect what a row states about its network: configuration keys, image or sequence sizes, head."""
    facts: dict[str, Value] = {}
    for text in (row.input_shape, row.model_config):
        facts |= {key: typed(value) for key, value in _PAIR.findall(text) if value[0].isalnum()}
    facts |= _shape_facts(row.input_shape)
    if facts.get("seq") == _BERT_LONGEST and (_UNPADDED in row.input_shape or _BINNED in row.notes):
        facts["seq"] = _BERT_TOKENS + (_BIN // 2 if _BINNED in row.notes else 0)
    for pattern, head in _HEADS:
        if pattern.search(f"{row.model} {row.notes}"):
            facts["head"] = head
            break
    if dimension := re.search(r"\bdim=([23])D\b", row.notes):
        facts["dim"] = f"{dimension[1]}d"
    if encoder := re.search(r"dec (\d+)", row.model_config):
        facts["dec"] = int(encoder[1])
    return {key: _vocabulary(value) if key == "vocab" else value for key, value in facts.items()}


def _vocabulary(value: Value) -> Value:
    """Read ``51200(default in repo)`` and ``50k`` as numbers."""
    found = re.match(r"(\d+)(k?)", str(value))
    return int(found[1]) * (1000 if found[2] else 1) if found else None


def _shape_facts(shape: str) -> dict[str, Value]:
    """Read ``3x224x224``, ``224x224x3``, ``128^3``, ``seq 30 x 128``, ``1024`` and the like."""
    if found := _PROGRESSIVE.fullmatch(shape):
        side = (int(found[1]) + int(found[2])) // 2
        return {"image": side, "height": side, "width": side}
    if found := _VOLUME.search(shape):
        return {"image": int(found[1] or found[2])}
    if (found := _IMAGE.search(shape)) and not shape.startswith("seq"):
        height, width = int(found[2]), int(found[3])
        facts: dict[str, Value] = {"height": height, "width": width}
        if height == width:
            facts["image"] = height
        if channels := found[1] or found[4]:
            facts["channels"] = int(channels)
        return facts
    if found := _PAIR_OF_SEQUENCES.fullmatch(shape):
        return {"src": int(found[1]), "tgt": int(found[2])}
    for pattern in _SEQUENCES:
        if found := pattern.fullmatch(shape):
            return {"seq": int(found[1])}
    return {}


def parallelism_of(row: MeasuredRow, count: int) -> tuple[Parallelism, bool]:
    """Read the parallel layout from the notes; the flag says whether the row states any.

    Data parallelism takes the devices that the stated ones leave. Raises UncoveredError when they do not
    divide.
    """
    notes = row.notes.replace("tensor parallel size = num_devices", f"TP={count}")
    found = {name: re.search(pattern, notes) for name, pattern in _LAYOUT_KEYS.items()}
    sizes = {name: int(next(filter(None, hit.groups()))) for name, hit in found.items() if hit}
    if size := _MODEL_PARALLEL.search(notes):
        sizes |= {"tensor": min(8, int(size[1])), "pipeline": max(1, int(size[1]) // 8)}
    if "virtual" not in sizes and sizes.get("pipeline", 1) > 1 and _INTERLEAVED.search(row.framework):
        sizes["virtual"] = _interleaved(row, sizes["pipeline"])
    layout = Parallelism(
        tensor=sizes.get("tensor", 1), pipeline=sizes.get("pipeline", 1), context=sizes.get("context", 1),
        experts=sizes.get("experts", 1), virtual=sizes.get("virtual", 1),
        sequence_parallel=sizes.get("tensor", 1) > 1 and bool(_SEQUENCE_PARALLEL.search(row.framework)),
    )  # fmt: skip
    if count % layout.model_devices:
        raise UncoveredError("parallel layout does not divide the devices")
    sharding = "fsdp" if _FSDP.search(notes) else "zero1" if _ZERO1.search(notes) else "none"
    stated = bool(sizes) or sharding != "none"
    return replace(layout, data=count // layout.model_devices, sharding=sharding), stated


def _interleaved(row: MeasuredRow, pipeline: int) -> int:
    """Return the stages a device has where a framework interleaves by default: a layer a stage."""
    layers = re.search(r"\blayers=(\d+)", row.model_config)
    count = int(layers[1]) if layers else pipeline
    return count // pipeline if count % pipeline == 0 else 1


def recompute_of(notes: str) -> str:
    """Read which activations are computed twice: none, selective or full."""
    if _NO_RECOMPUTE.search(notes):
        return "none"
    if _SELECTIVE.search(notes):
        return "selective"
    return "full" if _RECOMPUTE.search(notes) else "none"
