"""The boards of accuracy: which rows each one is over, what it leaves out, and what is to be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.precision import HALVES, POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.results.evaluation import Detail

AMP = tuple(name for name in POLICIES if POLICIES.get(name).product in HALVES)
FP32, TF32 = ("fp32",), ("tf32",)
_LLM = (
    "LLMFOUNDRY", "VTRAIN", "DGXC", "MBRIDGE", "BIGSCI", "BLOOM", "MEGATRON", "KORTHI", "TITAN", "MAXTEXT",
    "FLASHATTN", "MODELCARD", "OPT", "JAXTB", "LITGPT", "TINYLLAMA", "LEVANTER", "FAIRSEQ", "MODDED", "LLMC",
    "NANOGPT", "DLPERF_GPT", "TORCHTUNE",
)  # fmt: skip
_LARGE = ("V100", "A100", "P100", "H100")
_VISION_FILES = ("vision_and_small",)
_GUESSED = ("layout not stated", "micro-batch not stated", "batch not stated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One figure to reach; ``unseen`` is what the calibration of each row had not seen."""

    board: str
    what: str
    unseen: str
    keep: Callable[[Detail], bool]
    target_median: float | None = None
    target_mean: float | None = None


def is_llm(row: Detail) -> bool:
    """Tell whether a row is a large language model's training, judged by its source."""
    return row.source_id.startswith(_LLM) and row.mode != "allreduce"


def is_vision(row: Detail) -> bool:
    """Tell whether a row is one GPU training a convolutional or small network."""
    in_file = any(name in row.place for name in _VISION_FILES)
    return in_file and row.devices == 1 and row.mode in ("train_step", "forward_backward") and not is_cpu(row)


def is_cpu(row: Detail) -> bool:
    """Tell whether a row ran on a CPU."""
    return "CPU" in row.label


def _vision(precisions: tuple[str, ...]) -> Callable[[Detail], bool]:
    return lambda row: is_vision(row) and not row.source_id.startswith("timm") and row.precision in precisions


def _timm(layout: str) -> Callable[[Detail], bool]:
    return lambda row: row.source_id == "timm_train" and layout in row.framework


def _neusight(row: Detail) -> bool:
    return row.source_id.lower() == "neusight" and row.devices == 1


def _guessed(row: Detail) -> bool:
    return any(text.startswith(_GUESSED) for text in row.assumptions)


BOARDS: tuple[Board, ...] = (
    Board(
        board="A", what="transformers fp32, V100, A100, P100, H100", unseen="device", target_mean=0.05,
        keep=lambda row: _neusight(row) and any(name in row.label for name in _LARGE),
    ),
    Board(board="A", what="transformers fp32, all GPUs", unseen="device", target_mean=0.07, keep=_neusight),
    Board(
        board="B", what="timm training, RTX 3090, AMP, channels-last", unseen="family",
        target_median=0.04, target_mean=0.08, keep=_timm("channels_last"),
    ),
    Board(
        board="B", what="timm training, RTX 3090, AMP, channels-first", unseen="family",
        target_median=0.05, target_mean=0.08, keep=_timm("channels_first"),
    ),
    Board(
        board="C", what="vision training, AMP, other source", unseen="source_id",
        target_median=0.08, target_mean=0.12, keep=_vision(AMP),
    ),
    Board(
        board="C", what="vision training, fp32, other source", unseen="source_id",
        target_median=0.10, target_mean=0.14, keep=_vision(FP32),
    ),
    Board(
        board="C", what="vision training, AMP, unseen device", unseen="device",
        target_median=0.11, target_mean=0.15, keep=_vision(AMP),
    ),
    Board(
        board="C", what="vision training, fp32, unseen device", unseen="device",
        target_median=0.11, target_mean=0.15, keep=_vision(FP32),
    ),
    Board(
        board="C", what="vision training, TF32, unseen device", unseen="device",
        target_median=0.11, target_mean=0.15, keep=_vision(TF32),
    ),
    Board(
        board="C", what="vision training, unseen architecture", unseen="architecture",
        target_median=0.15, target_mean=0.18, keep=_vision(AMP + FP32 + TF32),
    ),
    Board(
        board="C", what="vision training, unseen framework", unseen="framework",
        target_median=0.25, keep=_vision(AMP + FP32 + TF32),
    ),
    Board(
        board="D", what="language models, layout stated", unseen="source_id",
        target_median=0.06, target_mean=0.09, keep=lambda row: is_llm(row) and not _guessed(row),
    ),
    Board(
        board="D", what="language models, layout guessed", unseen="source_id",
        target_median=0.12, keep=lambda row: is_llm(row) and _guessed(row),
    ),
    Board(
        board="E", what="CPU steps of the project's own table", unseen="source_id", target_median=0.15,
        keep=lambda row: row.source_id == "cpu_zen4_2vcpu" and row.mode == "train_step",
    ),
    Board(
        board="E", what="CPU training of public tables", unseen="source_id", target_median=0.25,
        keep=lambda row: is_cpu(row) and row.source_id != "cpu_zen4_2vcpu" and row.mode != "forward",
    ),
)  # fmt: skip


def scaling_key(row: Detail) -> tuple[str, ...]:
    """Name what rows of one scaling curve share: everything but the number of devices."""
    per_device = f"{row.batch / row.devices:g}"
    return (row.source_id, row.network, row.device, row.precision, row.framework, row.mode, per_device)
