"""Memory against what sources state, and against batches of which it is known whether they fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from estimator.app.accuracy_memory import ALLOCATED, FITS, REFUSED, STATED, memory_accuracy
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.rows import read_rows
from estimator.report.accuracy_memory import memory_section, with_memory

if TYPE_CHECKING:
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "profiles" / "measured" / "memory.csv"


@pytest.fixture(scope="module")
def tables() -> AliasTables:
    return read_alias_tables(ROOT / "profiles" / "aliases")


@pytest.fixture(scope="module")
def rows() -> tuple[MeasuredRow, ...]:
    return read_rows(SHIPPED)


def timm(row: MeasuredRow, model: str, batch: int) -> MeasuredRow:
    """Make a row as timm's training benchmark on an RTX 3090 writes it."""
    return replace(
        row, source_id="timm_train", model=model, input_shape="3x224x224", batch_size=str(batch),
        grad_accum="", device="NVIDIA RTX 3090", precision="amp", layout="NCHW", framework="PyTorch (timm)",
        framework_version="1.12", metric="ms", value=100.0, notes="",
    )  # fmt: skip


def test_bert_takes_what_the_guide_of_transformers_says(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    found = memory_accuracy([row for row in rows if row.source_id == "HFDOC"], tables)
    # batch 4 fp32, batch 1, checkpointing, AMP, AMP and checkpointing, Adafactor, all of them; GB
    stated = [15.675, 9.103, 7.104, 14.616, 7.628, 12.892, 5.082]
    assert [round((row.stated_bytes or 0) / 1e9, 3) for row in found.stated] == stated
    for row, known in zip(found.stated, stated, strict=True):
        assert row.predicted_bytes / 1e9 == pytest.approx(known, rel=0.1)
    (group,) = found.groups
    assert group.stated == 7
    assert group.close == 1
    assert group.median_error is not None
    assert group.median_error < 0.05


def test_tensors_of_stylegan3_take_a_tenth_less_than_stated_and_what_is_not_in_the_step(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    found = memory_accuracy([row for row in rows if row.metric == ALLOCATED], tables)
    assert len(found.stated) == 32
    # The file describes the generator's half: the discriminator's Adam and gradients (12 bytes of 29 million
    # weights) and the averaged generator (4 of 15 to 33 million) stay in memory beside it.
    beside = 0.44e9
    for row in found.stated:
        assert (row.predicted_bytes + beside) / (row.stated_bytes or 0) == pytest.approx(0.94, abs=0.07)


def test_batches_that_ran_fit_and_the_next_larger_ones_do_not(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    # What ran last of 512, 384, 256, 192, 128, … in timm's tables of an RTX 3090 with 24 GB.
    last = {
        "resnet18": 512,
        "densenet121": 256,
        "vgg16": 384,
        "vit_base_patch16_224": 192,
        "convnext_base": 128,
    }
    found = memory_accuracy([timm(rows[0], model, batch) for model, batch in last.items()], tables)
    (group,) = found.groups
    assert (group.ran, group.ran_said) == (5, 5)
    assert (group.refused, group.refused_said) == (4, 4)
    assert group.bracketed_close == 4
    assert found.far == ()


def test_weights_that_are_spread_are_counted_as_shards(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    seven = replace(
        rows[0], source_id="LLMFOUNDRY", model="MPT-7b", input_shape="2048", batch_size="6", devices=8,
        model_config="layers=32;d_model=4096;heads=32;ffn=16384;vocab=50368", precision="bf16",
        device="NVIDIA H100-80GB SXM", framework="Composer", framework_version="", metric="tokens_per_s",
        notes="FSDP FULL_SHARD; activation checkpointing=False; MP mode DEFAULT (amp_bf16); FlashAttention",
    )  # fmt: skip
    alone = replace(seven, devices=1, notes=seven.notes.replace("FSDP FULL_SHARD; ", ""))
    (group,) = memory_accuracy([seven], tables).groups
    assert (group.ran, group.ran_said) == (1, 1)
    assert memory_accuracy([alone], tables).groups[0].ran_said == 0  # 106 GB of weights and states


def test_a_verdict_is_off_by_the_memory_of_a_sample(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    base = replace(rows[0], metric=FITS, value=1.0)
    largest = memory_accuracy([base], tables)
    assert largest.far == ()
    for metric, batch, off in ((FITS, 8, 1.0), (REFUSED, 2, -0.5)):
        (row,) = memory_accuracy([replace(base, metric=metric, batch_size=str(batch))], tables).far
        assert row.largest_batch == 4
        assert row.off == pytest.approx(off)


def test_what_cannot_be_compared_is_told(rows: tuple[MeasuredRow, ...], tables: AliasTables) -> None:
    unknown = replace(rows[0], model="no such network", metric=STATED)
    found = memory_accuracy([unknown], tables)
    assert found.stated == ()
    assert sum(count for _, count in found.uncovered) == 1


def test_the_section_replaces_itself_and_stands_before_the_caveats(
    rows: tuple[MeasuredRow, ...], tables: AliasTables
) -> None:
    section = memory_section(memory_accuracy(rows[:2], tables))
    page = "# Title\n\nText.\n\n## How far these figures can be trusted\n\n* A caveat.\n\n## Boards\n"
    once = with_memory(page, section)
    assert once.index("## Memory") < once.index("## How far")
    assert "| BERT-large seq-cls 512, fp32 adamw | v100-sxm2-16gb | 4 | 15.68 |" in once
    assert with_memory(once, section) == once
    assert with_memory(once, ["## Memory", "Nothing."]) == page.replace(
        "## How", "## Memory\n\nNothing.\n\n## How"
    )
    assert with_memory("# Title\n", ["## Memory", "Nothing."]) == "# Title\n\n## Memory\n\nNothing.\n"


def test_every_shipped_row_names_source_licence_and_basis(rows: tuple[MeasuredRow, ...]) -> None:
    assert {row.source_id for row in rows} == {"HFDOC", "NANOGPT", "STYLEGAN3"}
    for row in rows:
        assert row.source
        assert row.source_path
        assert row.licence
        assert row.trust
        assert "basis: " in row.notes
        assert row.metric in (STATED, ALLOCATED, FITS, REFUSED)
