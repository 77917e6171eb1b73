"""Which precision policy, framework settings and optimizer a measurement row ran with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.calibrate.row_aliases import UncoveredError
from estimator.precision import POLICIES, DType
from estimator.software import CURRENT_ERA, AttentionKernel, Layout, Mode, OptimizerKernels, Software

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

_FLAGS = re.compile(r"SUSPICIOUS|SUSPECT|AMBIGUOUS|OUTLIER|LOW SCALING|WARNING|CONTAMINATED|ANOMAL|[Aa]nomal")
_POLICIES = {name: POLICIES.get(name) for name in POLICIES}
_NAMED = _POLICIES.keys() | {"fp4"}  # said of rows, and refused by its name
_BF16_MIXED = re.compile(r"amp_bf16|bf16 autocast|autocast.{0,12}bf16|bf16[ -]mixed|\bbf16 \(cl")
_FP8_RUN = re.compile(  # language models on the first generation with FP8, and on later ones
    r"FP8 \(or lower\) hybrid is usual|(?:GPT|Llama|BERT).* \| .*\b(?:G?[HB][1-3]00|MI3\d\d)"
)
_SYNTHETIC = re.compile(r"(?i)(?<!fit on )\bsynthetic|random input")  # Keras' fit hands arrays over
_INPUT_COPY = re.compile(r"(?i)includes (?:pageable )?host-to-device copy|host->device copy|incl\. H2D copy")
_NGC = re.compile(r"\b(1[7-9]|2\d)\.(?:0[1-9]|1[0-2])\b")
_YEAR = re.compile(r"\b(20[12]\d)(?:-(20[12]\d))?\b")
# First year of a release line, newest first. PyTorch 1.11 has the cuDNN 8.2 of 1.10; 1.12 brings 8.3.
_RELEASES = {
    "pytorch": (((2, 6), 2025), ((2, 2), 2024), ((2, 0), 2023), ((1, 12), 2022), ((1, 8), 2021),
                ((1, 4), 2020), ((1, 1), 2019), ((0, 3), 2018), ((0, 1), 2017)),
    "tensorflow": (((2, 16), 2024), ((2, 12), 2023), ((2, 8), 2022), ((2, 4), 2021), ((2, 2), 2020),
                   ((1, 14), 2019), ((1, 5), 2018), ((1, 0), 2017), ((0, 5), 2016)),
}  # fmt: skip
_VERSION = re.compile(r"(?<![\d.])v?(\d)\.(\d{1,2})(?![\d])")
_FLASH_YEAR = 2023  # scaled_dot_product_attention came with PyTorch 2.0
_TF_CHANNELS_LAST_YEAR = 2019  # the layout pass of TensorFlow 1.13 and later
_HALF = frozenset(n for n, each in _POLICIES.items() if each.product.itemsize < DType.FP32.itemsize)
_OPTIMIZERS = (
    (r"\b(?:Fused)?AdamW\b|decoupled AdamW", "adamw"), (r"LAMB\b|\b(?:JIT)?Lamb\b", "lamb"),
    (r"NovoGrad", "adam"),
    (r"(?:Fused|DeepSpeedCPU)?Adam\b|\badam\b", "adam"), (r"(?i)\bLion\b", "lion"), (r"Adadelta", "adagrad"),
    (r"(?i)rmsprop", "rmsprop"), (r"(?i)adagrad", "adagrad"), (r"(?i)adafactor", "adafactor"),
    (r"plain SGD", "sgd"), (r"SGD with momentum|momentum SGD", "momentum"),
)  # fmt: skip
DEFAULT_OPTIMIZER = "momentum"
TRANSFORMER_OPTIMIZER = "adam"


def unusable(row: MeasuredRow, trust: str) -> str | None:
    """Why a row should not be fitted or scored: its source flagged it, or trusts it little; None if fine."""
    if found := _FLAGS.search(row.notes):
        return f"flagged {found[0].upper()} by its collector"
    if trust == "low" or trust.startswith("DO NOT USE"):
        return "trust low"
    return None


def trust_of(row: MeasuredRow, tables: AliasTables) -> str:
    """How far a row is trusted: high … low; sources that split (``2018: high / 2020+: low``) are resolved."""
    source = tables.sources.get(row.source_id)
    text = row.trust or (source["trust"] if source else "")
    levels = dict(_split_trust(text))
    for condition, level in levels.items():
        if condition and _applies(condition, row):
            return level
    return levels.get("", text)


def _split_trust(text: str) -> Iterator[tuple[str, str]]:
    """Split ``PyTorch: medium-high; TF/Caffe2: low`` into its conditions."""
    for part in re.split(r"[;/] (?=\S+:)", text):
        condition, colon, level = part.partition(": ")
        yield (condition.strip(), level.strip()) if colon else ("", re.sub(r"\s*[(;].*| for .*", "", part))


def _applies(condition: str, row: MeasuredRow) -> bool:
    """Whether a condition (a year, a year and later, framework names) holds for a row."""
    if found := re.fullmatch(r"(20\d\d)(\+?)", condition):
        year = row.year or 0
        return year >= int(found[1]) if found[2] else year == int(found[1])
    names = {"TF": "tensorflow"}
    return any(names.get(name, name).lower() in row.framework.lower() for name in condition.split("/"))


def precision_of(row: MeasuredRow, tables: AliasTables) -> tuple[str, str | None]:
    """Return the policy name and, where it had to be guessed, why; raises UncoveredError for none."""
    text = row.precision
    source = tables.sources.get(row.source_id)
    if text == "fp16" and source and source["fp16"]:
        text = source["fp16"]
    if text == "amp" and (policy := tables.script(row).get("amp")):
        return policy, None
    if text in ("amp", "bf16") and _BF16_MIXED.search(row.notes):
        return "amp-bf16", None
    if text in _NAMED:
        return text, None
    if text.startswith("mixed") and _FP8_RUN.search(f"{row.model} | {row.device} | {row.notes}"):
        return "fp8", "mixed precision whose format the source does not state: FP8 is usual for these runs"
    if text.startswith("mixed"):
        policy = _usual_half(row)
        return policy, "mixed precision whose format the source does not state"
    if found := re.search(r"precision[^;]{0,30}\b(fp16|fp32|tf32|bf16)\b", row.notes):
        return found[1], "precision taken from the notes"
    raise UncoveredError("precision not stated" if text in ("", "unknown") else f"precision {text!r} unknown")


def _usual_half(row: MeasuredRow) -> str:
    """Name the half precision of a run that says "mixed": tuned GPU runs keep half-precision weights."""
    modern = bool(re.search(r"TPU|Gaudi", row.device)) or (row.year or 0) >= _FLASH_YEAR
    if "MLPerf" in row.notes and "TPU" not in row.device:
        return "bf16" if modern else "fp16"
    return "amp-bf16" if modern else "amp"


def software_of(row: MeasuredRow, precision: str, tables: AliasTables) -> Software:
    """Translate framework, version, layout and notes into settings."""
    label = f"{row.framework} | {row.framework_version} | {row.notes}"
    if row.cuda_cudnn.startswith("CPU "):  # the library of its products
        label += f" | {row.cuda_cudnn}"
    label += f" | on {row.device}"
    line = dict(tables.search("frameworks", label) or {})
    line |= {key: text for key, text in tables.script(row).items() if text}
    framework = line.get("framework") or "pytorch"
    era = era_of(row, framework, tables)
    mode = Mode(line.get("mode") or "eager")
    return Software(
        framework=framework,
        mode=mode,
        layout=_layout(row, framework, precision, era, line.get("layout", "")),
        attention=_attention(row, line.get("attention", ""), era, mode),
        optimizer=OptimizerKernels(line.get("optimizer") or "foreach"),
        era=era,
    )


def era_of(row: MeasuredRow, framework: str, tables: AliasTables) -> int:
    """Year of the framework release: from an NGC tag, a version number, the row or its source."""
    text = row.framework_version or row.framework
    if (
        found := _NGC.search(text)
        if re.search(r"NGC|py3|tf[12]|Release|PyTorch \d\d|^\d\d\.", text)
        else None
    ):
        return 2000 + int(found[1])
    releases = _RELEASES.get(framework.partition("-")[0], ())
    if found := _VERSION.search(text):
        version = (int(found[1]), int(found[2]))
        if year := next((year for first, year in releases if version >= first), None):
            return year
    if found := _YEAR.search(text):
        first, last = int(found[1]), int(found[2] or found[1])
        return row.year if row.year and first <= row.year <= last else first
    source = tables.sources.get(row.source_id)
    stated = source["year"] if source else ""
    return row.year or (int(stated) if stated else CURRENT_ERA)


def _layout(row: MeasuredRow, framework: str, precision: str, era: int, default: str) -> Layout:
    """Memory layout of images: as written, else what the framework does by itself."""
    text = row.layout.rstrip("?")
    half = precision in _HALF
    if "/" in text:
        text = "NHWC" if half else "NCHW"
    if framework.startswith("tensorflow") and half and era >= _TF_CHANNELS_LAST_YEAR:
        return Layout.CHANNELS_LAST  # its layout pass rewrites tensor-core convolutions
    if not text and "NHWC" in row.notes:
        text = "NHWC"
    if text == "NHWC" or (not text and default == Layout.CHANNELS_LAST):
        return Layout.CHANNELS_LAST
    return Layout.CHANNELS_FIRST


def _attention(row: MeasuredRow, default: str, era: int, mode: Mode) -> AttentionKernel:
    """Attention kernel: as written, else flash where the framework has it since its release."""
    if re.search(r"flash=False|T x T matrix written out", row.notes):
        return AttentionKernel.MATH
    if re.search(r"(?i)flash ?-?attention", row.notes):
        return AttentionKernel.FLASH
    if default:
        return AttentionKernel(default)
    return AttentionKernel.FLASH if era >= _FLASH_YEAR and mode is not Mode.FUSED else AttentionKernel.MATH


def keeps_input(row: MeasuredRow) -> bool:
    """Tell whether every step uses one batch that lies on the device: what benchmarks call synthetic data."""
    return bool(_SYNTHETIC.search(row.notes))


def copies_input(row: MeasuredRow) -> bool:
    """Tell whether the timed region holds the copy of the batch from ordinary host memory to the device."""
    return bool(_INPUT_COPY.search(row.notes))


def optimizer_of(row: MeasuredRow, default: str, tables: AliasTables) -> str:
    """Optimizer of the script, else the one named in the notes, else ``default``."""
    if rule := tables.script(row).get("rule"):
        return rule
    for pattern, name in _OPTIMIZERS:
        if re.search(pattern, row.notes):
            return name
    return default
