"""What rows of real tables mean: network, batch, layout, settings, span; or why they cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from estimator.calibrate.case import Case, Uncovered, interpret, interpret_all, reasons
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.row_settings import era_of, software_of
from estimator.calibrate.rows import read_rows
from estimator.catalog.converted import converted_names
from estimator.software import AttentionKernel, Layout, Mode, OptimizerKernels

if TYPE_CHECKING:
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

ROOT = Path(__file__).parents[2]
ROWS = read_rows(ROOT / "tests" / "golden" / "evaluate" / "rows.csv")


@pytest.fixture(scope="module")
def tables() -> AliasTables:
    return read_alias_tables(ROOT / "profiles" / "aliases")


def row_of(source: str, model: str = "") -> MeasuredRow:
    return next(row for row in ROWS if row.source_id == source and model in row.model)


def case_of(tables: AliasTables, source: str, model: str = "") -> Case:
    case = interpret(row_of(source, model), tables)
    assert isinstance(case, Case), case
    return case


def test_a_rate_becomes_seconds_a_step(tables: AliasTables) -> None:
    case = case_of(tables, "lambda_tf", "resnet50")
    assert case.network.name == "resnet50_v1"
    assert case.measured_s == pytest.approx(128 / 652.55)
    assert (case.software.framework, case.software.layout) == ("tensorflow-xla", Layout.CHANNELS_LAST)


def test_a_timm_row_names_timms_network(tables: AliasTables) -> None:
    case = case_of(tables, "timm_train")
    assert case.network.name == "timm:resnet50"
    assert dict(case.network.params)["image"] == 224
    assert (case.precision, case.inference, case.micro_batch) == ("amp-unscaled", False, 512)
    assert case.measured_s == pytest.approx(0.618983)


def test_timms_inference_of_2025_merges_branches_first(tables: AliasTables) -> None:
    """Its results count 2.08 M parameters of mobileone_s0 with PyTorch 2.9, 5.29 M before."""
    row = replace(row_of("timm_train"), source_id="timm_infer", model="mobileone_s0", mode="forward")
    names = {}
    for version in ("240", "291"):
        path = f"results/benchmark-infer-amp-nchw-pt{version}-cu124-rtx4090.csv"
        case = interpret(replace(row, source_path=path), tables)
        assert isinstance(case, Case), case
        names[version] = case.network.name
    assert names == {"240": "timm:mobileone_s0", "291": "timm:mobileone_s0_reparam"}
    plain = interpret(replace(row, source_path=path, model="resnet50"), tables)
    assert isinstance(plain, Case)
    assert plain.network.name == "timm:resnet50"


def test_every_merged_network_is_in_the_archive(tables: AliasTables) -> None:
    source = (
        "github.com/huggingface/pytorch-image-models | results/benchmark-infer-amp-nchw-pt291-cu128-4090.csv"
    )
    known = {name.removeprefix("timm:") for name in converted_names() if name.startswith("timm:")}
    merged = {name for name in known if name.endswith("_reparam")}
    named = {name for name in known - merged if tables.search("variants", f"{source} | {name}")}
    assert {f"{name}_reparam" for name in named} == merged


def test_no_optimizer_in_forward_backward(tables: AliasTables) -> None:
    assert [phase.value for phase in case_of(tables, "jcjohnson").phases] == ["forward", "dgrad", "wgrad"]


def test_a_label_with_parameters(tables: AliasTables) -> None:
    case = case_of(tables, "amacharla15")
    assert case.network.name == "keras_vgg_like"
    assert dict(case.network.params) == {"depth": 2, "filters": 16}
    assert (case.software.mode, case.optimizer) == (Mode.COMPILED, "adam")
    assert case.steps == pytest.approx(50000 / 128)


def test_an_epoch_counts_its_validation(tables: AliasTables) -> None:
    case = case_of(tables, "minimaxir")
    assert case.steps == pytest.approx(60000 / 128)
    assert case.validation_samples == 10000
    assert case.measured_s == pytest.approx(3.51256)


def test_megatron_layout_and_accumulation(tables: AliasTables) -> None:
    case = case_of(tables, "VTRAIN_S")
    assert case.parallel is not None
    assert (case.parallel.tensor, case.parallel.data, case.parallel.pipeline) == (2, 1, 4)
    assert (case.micro_batch, case.step_samples, case.accumulation) == (4, 8.0, 2)
    params = dict(case.network.params)
    assert params["ffn"] == 4 * int(str(params["d"]))
    assert (params["seq"], params["vocab"]) == (1024, 51200)


def test_fully_sharded_data_parallel_with_checkpoints(tables: AliasTables) -> None:
    case = case_of(tables, "LLMFOUNDRY")
    assert case.parallel is not None
    assert (case.parallel.sharding, case.recompute, case.parallel.data) == ("fsdp", "full", 512)
    assert (case.precision, case.software.attention) == ("amp-bf16", AttentionKernel.FLASH)
    assert case.measured_s == pytest.approx(512 * 8 * 2048 / 515636)


def test_a_rate_of_tokens_where_a_sample_is_a_sentence_pair(tables: AliasTables) -> None:
    case = case_of(tables, "LAMBDA")
    assert case.precision == "fp16-master"
    assert case.measured_s == pytest.approx(160 * 48 / 15388)


def test_a_run_counts_epochs_of_its_log(tables: AliasTables) -> None:
    case = case_of(tables, "MLPERF", "ResNet50")
    assert case.steps > 1000
    assert (case.precision, case.count) == ("amp-bf16", 16)
    assert case.assumptions


def test_a_rate_of_flops_waits_for_the_count(tables: AliasTables) -> None:
    case = case_of(tables, "MEGATRON21")
    assert case.measured_s is None
    assert case.measured.flop_per_s == pytest.approx(137e12 * 32)
    assert case.measured.flops_with_recompute


def test_device_hours_of_a_number_of_tokens(tables: AliasTables) -> None:
    case = case_of(tables, "MODELCARD")
    assert case.steps == pytest.approx(1e12 / (4 * 2**20))
    assert case.measured_s == pytest.approx(82432 * 3600 / 1024)


def test_seconds_for_several_steps(tables: AliasTables) -> None:
    assert case_of(tables, "APPLEBERT").steps == 100


def test_an_all_reduce_by_its_bus_bandwidth(tables: AliasTables) -> None:
    case = case_of(tables, "VTRAIN_AR")
    assert case.message_bytes == 2**20
    assert case.measured_s == pytest.approx(44.2e-6, rel=0.01)


def test_a_batch_that_is_not_stated_is_an_assumption(tables: AliasTables) -> None:
    case = case_of(tables, "nvidia_dle")
    assert case.micro_batch == 192
    assert any("batch not stated" in each for each in case.assumptions)


def test_a_model_parallel_layout_that_is_not_stated_stays_open(tables: AliasTables) -> None:
    case = case_of(tables, "MLPERF", "GPT-3")
    assert case.parallel is None
    assert case.step_samples == 2048


def test_flags_and_trust_make_a_row_unusable(tables: AliasTables) -> None:
    flagged = case_of(tables, "lambda_tf", "alexnet")
    assert (flagged.usable, flagged.why_unusable) == (False, "flagged AMBIGUOUS by its collector")
    assert not case_of(tables, "ryujaehun").usable
    assert case_of(tables, "ryujaehun").trust == "low"
    assert not case_of(tables, "keras_examples").usable
    assert case_of(tables, "timm_train").usable


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "My Net 7"}, "unknown network 'My Net 7'"),
        ({"mode": "warm_up"}, "mode 'warm_up' not supported"),
        ({"batch_size": ""}, "batch not stated"),
        ({"batch_size": "16 and 32"}, "batch is not one number"),
        ({"precision": "posit8"}, "precision 'posit8' unknown"),
        ({"precision": "unknown"}, "precision not stated"),
        ({"metric": "joules"}, "metric 'joules' in mode 'train_step'"),
        ({"mode": "pretrain_total", "metric": "h"}, "length of the run not stated"),
        ({"devices": None}, "number of devices not stated"),
        ({"notes": "TP=3", "devices": 8}, "parallel layout does not divide the devices"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(
    tables: AliasTables, changes: dict[str, object], reason: str
) -> None:
    row = replace(row_of("timm_train"), **changes)  # type: ignore[arg-type]  # cells by name
    found = interpret(row, tables)
    assert isinstance(found, Uncovered)
    assert found.reason == reason


def test_reasons_are_summed_up_most_frequent_first(tables: AliasTables) -> None:
    unknown = replace(row_of("timm_train"), model="no such net!")
    silent = replace(row_of("timm_train"), batch_size="")
    _, gaps = interpret_all([silent, unknown, unknown], tables)
    (first, second) = reasons(gaps)
    assert first[:2] == ("unknown network 'no such net!'", 2)
    assert second[:2] == ("batch not stated", 1)
    assert "rows.csv:" in first[2]


def made(model: str, **changes: str | float) -> MeasuredRow:
    row = replace(ROWS[0], mode="train_step", metric="samples_per_s", devices=1, num_nodes="1", trust="high")
    return replace(row, model=model, model_config="", precision="amp", **changes)  # type: ignore[arg-type]


def test_hundreds_of_epochs_of_millions_are_steps(tables: AliasTables) -> None:
    """Logs of BERT in MLPerf 0.7 count 978 steps of 3,072 sequences as epochs."""
    row = replace(
        made("BERT-large", input_shape="128", batch_size="3072", value=344.0),
        mode="pretrain_total", metric="s",
        notes="train_samples(log)=3.50515e+06; last eval epoch_num=978",
    )  # fmt: skip
    case = interpret(row, tables)
    assert isinstance(case, Case)
    assert case.steps == 978


def test_frames_and_audio_samples_are_no_utterances(tables: AliasTables) -> None:
    """A batch of 64 clips of 566 mel frames at 36,224 frames a second takes a second."""
    row = made(
        "Tacotron2", batch_size="64", value=36_224.0,
        notes="mel frames/s; real training loop", input_shape="LJSpeech",
    )  # fmt: skip
    case = interpret(row, tables)
    assert isinstance(case, Case)
    assert case.measured_s == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("shape", "notes", "seq"),
    [
        ("512 (packed/unpadded real tokens, mean well below 512)", "", 256),
        ("512", "seq512 rows use binned data (bin size 64)", 288),
        ("512", "", 512),
        ("128", "seq512 rows use binned data (bin size 64)", 128),
    ],
)
def test_bert_without_padding_computes_its_tokens_alone(
    shape: str, notes: str, seq: int, tables: AliasTables
) -> None:
    """More than half of 512 positions would be padding (arXiv:2107.02027)."""
    case = interpret(made("BERT-large", input_shape=shape, notes=notes, batch_size="8"), tables)
    assert isinstance(case, Case)
    assert dict(case.network.params)["seq"] == seq


def test_a_page_that_states_hundreds_of_epochs_means_epochs(tables: AliasTables) -> None:
    row = replace(
        made("efficientnet-b0", input_shape="224x224x3", batch_size="256", value=11.0),
        mode="pretrain_total", metric="h", notes="RMSprop; epochs=400", devices=8,
    )  # fmt: skip
    case = interpret(row, tables)
    assert isinstance(case, Case)
    assert case.steps == pytest.approx(400 * 1_281_167 / 2048)


def test_a_run_on_one_device_accumulates_its_global_batch(tables: AliasTables) -> None:
    """Transformer-XL's configurations split 256 sequences into chunks where there are fewer devices."""
    row = replace(
        made(
            "Transformer-XL-base", input_shape="tgt_len=192;mem_len=192", batch_size="32", value=45_960.0,
            notes="JITLamb;DDP;global batch 256;max_step 40000",
        ),
        mode="pretrain_total", metric="s",
        model_config="layers=16;d_model=512;heads=8;d_head=64;d_inner=2048",
    )  # fmt: skip
    case = interpret(row, tables)
    assert isinstance(case, Case)
    assert (case.micro_batch, case.accumulation, case.steps) == (32, 8, 40_000)


NVIDIA = "NVIDIA/DeepLearningExamples"


def test_scripts_of_a_source_set_what_its_tables_leave_out(tables: AliasTables) -> None:
    """NVIDIA's BERT halves its model and scripts it; its ResNet keeps autocast, in channels-last."""
    path = "PyTorch/LanguageModeling/BERT/README.md#L811"
    bert = interpret(
        made("BERT-large", source=NVIDIA, source_path=path, input_shape="128", batch_size="8", notes=""),
        tables,
    )
    assert isinstance(bert, Case)
    assert (bert.precision, bert.software.mode) == ("fp16", Mode.FUSED)
    path = "PyTorch/Classification/ConvNets/resnet50v1.5/README.md#L596"
    resnet = interpret(
        made(
            "ResNet50",
            source=NVIDIA,
            source_path=path,
            batch_size="8",
            layout="",
            framework="PyTorch",
            framework_version="21.03",
            notes="",
        ),
        tables,
    )
    assert isinstance(resnet, Case)
    assert (resnet.precision, resnet.software.mode) == ("amp", Mode.EAGER)
    assert resnet.software.layout is Layout.CHANNELS_LAST


def test_lambdas_benchmark_runs_nvidias_scripts(tables: AliasTables) -> None:
    """BERT as above; NCF, too, is halved and has a fused optimizer. TorchScript's LAMB is read as LAMB."""
    path = "pytorch/results/1080Ti/PyTorch_{}_FP16/02-05-2024.txt"
    cases = {}
    for script, model in (("bert_base_squad", "BERT-base"), ("ncf", "NCF (NeuMF, ml-20m)")):
        row = made(model, source="lambdal/deeplearning-benchmark", source_path=path.format(script), notes="")
        cases[script] = interpret(
            replace(row, precision="amp", input_shape="128", batch_size="8", value=100.0), tables
        )
    bert, ncf = cases["bert_base_squad"], cases["ncf"]
    assert isinstance(bert, Case)
    assert isinstance(ncf, Case)
    assert (bert.precision, bert.software.mode) == ("fp16", Mode.FUSED)
    assert (ncf.precision, ncf.software.optimizer) == ("fp16", OptimizerKernels.FUSED)
    lamb = interpret(
        replace(made("BERT-base", input_shape="128", batch_size="8", value=100.0), notes="JITLamb;DDP"),
        tables,
    )
    assert isinstance(lamb, Case)
    assert lamb.optimizer == "lamb"


def lambda_run(tables: AliasTables, place: str, model: str, **columns: str | float) -> Case:
    """Return a run of Lambda's benchmark as its table has it; ``place`` is its folder and script."""
    folder, _, script = place.rpartition("/")
    path = f"pytorch/{folder}/PyTorch_{script}/19-11-2022_09-49-31.txt"
    source = "lambdal/deeplearning-benchmark"
    row = replace(made(model, source=source, source_path=path, value=100.0), **columns)  # type: ignore[arg-type]
    case = interpret(row, tables)
    assert isinstance(case, Case)
    return case


@pytest.mark.parametrize(
    ("folder", "precision"),
    [
        ("results/V100", "amp"),
        ("results/3090_v1", "tf32"),
        ("results_v2/x_1xGH200_96GB_v2_bk", "tf32"),
        ("results/3090_sonantic_v1", "amp"),
    ],
)
def test_a_flag_that_a_script_no_longer_knows_leaves_autocast_off(
    tables: AliasTables, folder: str, precision: str
) -> None:
    """The logs of the tables v1 and v2 print ``amp: False`` whatever the benchmark asked for."""
    case = lambda_run(
        tables, f"{folder}/waveglow_FP16", "WaveGlow", input_shape="segment", batch_size="18", notes=""
    )
    assert case.precision == precision


def test_a_benchmark_that_forgets_the_flag_has_no_autocast_either(tables: AliasTables) -> None:
    def run(folder: str) -> Case:
        return lambda_run(
            tables, f"results/{folder}/ncf_FP16", "NeuMF (NCF)", batch_size="10000000", notes=""
        )

    assert run("1cc_H100_80GB_SXM5_v1").precision == "tf32"
    assert run("A100_40GB_SXM4_v1").precision == "fp16"


@pytest.mark.parametrize(
    ("folder", "notes", "batch"),
    [
        ("results/8xA100_40GB_SXM4_v1", "JITLamb; script arg is GLOBAL batch 52", 52),
        ("results/8xA100_SXM4", "JITLamb; batch parsed from log args; script arg is GLOBAL batch 416", 6),
    ],
)
def test_the_logs_of_transformer_xl_say_what_ran(
    tables: AliasTables, folder: str, notes: str, batch: int
) -> None:
    """No adaptive softmax, LAMB on the small network and Adam on the large one, of 256 positions."""
    small = "layers=16;d_model=512;heads=8;d_head=64;d_inner=2048;vocab=267735 adaptive"

    def run(size: str, config: str) -> Case:
        return lambda_run(
            tables, f"{folder}/transformerxl{size}_FP16", f"Transformer-XL-{size}", model_config=config,
            notes=notes, input_shape="tgt_len=192;mem_len=192", batch_size="6", devices=8,
        )  # fmt: skip

    base, large = run("base", small), run("large", small.replace("d_model=512", "d_model=1024"))
    assert (base.precision, base.optimizer, base.micro_batch) == ("fp16", "lamb", batch)
    assert dict(base.network.params)["adaptive"] is False
    assert (large.precision, large.optimizer) == ("fp16-master", "adam")
    assert {dict(large.network.params)[name] for name in ("seq", "mem")} == {256}


def test_what_a_table_misread_is_corrected(tables: AliasTables) -> None:
    """The column of NCF's page before "mixed precision" is "TF32"."""
    row = made("NeuMF (NCF)", source_id="DLE", row="611", batch_size="1048576")
    assert case_precision(row, tables) == "tf32"
    assert case_precision(replace(row, row="612"), tables) == "amp"


def case_precision(row: MeasuredRow, tables: AliasTables) -> str:
    case = interpret(row, tables)
    assert isinstance(case, Case), case
    return case.precision


@pytest.mark.parametrize(
    ("framework", "notes", "meant"),
    [
        ("PyTorch", "flash=False; torch.compile=None", ("pytorch", Mode.EAGER)),
        ("PyTorch", "flash=False; torch.compile=default", ("pytorch", Mode.COMPILED)),
        ("TensorFlow", "inputs transferred per step in TF/Theano (feed)", ("tensorflow", Mode.EAGER)),
        ("TensorFlow v1.2", "1 K80 (Amazon EC2 [p2.xlarge]); precision", ("tensorflow", Mode.EAGER)),
        ("PyTorch", 'misc: {"backend": "NCCL 2.2.13"}', ("pytorch", Mode.EAGER)),
        ("cltorch/clnn (OpenCL)", "", ("opencl", Mode.EAGER)),
    ],
)
def test_notes_do_not_rename_the_framework(
    tables: AliasTables, framework: str, notes: str, meant: tuple[str, Mode]
) -> None:
    row = replace(row_of("timm_train"), framework=framework, framework_version="", notes=notes)
    software = software_of(row, "fp32", tables)
    assert (software.framework, software.mode) == meant


def test_a_tpu_runs_what_xla_compiles_whatever_the_framework(tables: AliasTables) -> None:
    row = replace(
        row_of("timm_train"), device="Google TPU v3", layout="", framework="TensorFlow 1.12", notes=""
    )
    software = software_of(row, "bf16", tables)
    assert (software.framework, software.mode, software.layout) == (
        "xla-tpu", Mode.COMPILED, Layout.CHANNELS_LAST,
    )  # fmt: skip


def test_a_range_of_years_says_less_than_the_rows_own(tables: AliasTables) -> None:
    row = replace(row_of("timm_train"), framework="Torch7", framework_version="2015-2016", notes="")
    assert [era_of(replace(row, year=year), "torch7", tables) for year in (2014, 2016)] == [2015, 2016]


def test_dlrm_passes_its_data_at_most_once(tables: AliasTables) -> None:
    """Its logs number the only epoch 1, or every twentieth of it."""
    notes = "SGD; MLPerf v1.0 closed; global_batch=55296; train_samples(log)=3.8e+09; last eval epoch_num="
    row = made("DLRM (MLPerf, Criteo 1TB)", batch_size="6912")
    row = replace(row, mode="pretrain_total", metric="s", devices=8)
    for number, epochs in (("1.9", 0.9), ("18", 0.9)):
        case = interpret(replace(row, notes=notes + number), tables)
        assert isinstance(case, Case)
        assert case.steps * 55_296 == pytest.approx(epochs * 4_195_197_692)
        assert case.optimizer == "sgd"


def test_a_named_optimizer_is_taken_for_recurrent_networks_too(tables: AliasTables) -> None:
    row = made("lstm_lm_ptb_medium", input_shape="seq_len=35", batch_size="20", value=100.0)
    case = interpret(replace(row, notes="SGD with momentum; pass 1"), tables)
    assert isinstance(case, Case)
    assert case.optimizer == "momentum"
