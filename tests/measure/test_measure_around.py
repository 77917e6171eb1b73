"""The loader probe, links between processes, clusters, and what explains a time."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from estimator.app.explanation import parse_measured
from estimator.catalog.interconnects import load_interconnect
from estimator.cli.main import program
from estimator.errors import InputError, MeasurementError
from estimator.measure.collectives import fit_line, ring_share
from estimator.measure.images import decode_png, encode_png, find_images, load_image, make_images
from estimator.measure.loader import measure_loader, worker_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("own_folder")


def run(*arguments: str) -> Any:  # noqa: ANN401 - click's result
    return CliRunner().invoke(program(), list(arguments))


def test_images_made_are_images_read() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    assert np.array_equal(decode_png(encode_png(pixels)), pixels)


def test_loader_rates_by_workers(tmp_path: Path) -> None:
    paths = make_images(tmp_path, 6, (40, 50))
    assert find_images(tmp_path) == paths
    found = measure_loader(paths, (32, 32), 0.6, own=True, workers=(0, 1))
    assert [workers for workers, _ in found.rates] == [0, 1]
    assert all(rate > 10 for _, rate in found.rates)
    assert found.read_bytes_per_s > 1e5
    assert worker_counts(2.0) == (0, 1, 2, 4)


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images below"):
        find_images(tmp_path)


def test_loader_names_the_bottleneck(tmp_path: Path) -> None:
    make_images(tmp_path, 3, (30, 30))
    done = run("measure", "resnet50", "--data", str(tmp_path), "--for", "0.5s", "--format", "json")
    data = json.loads(done.stdout)
    assert data["consumed_images_per_s"] > 0
    best = max(row["images_per_s"] for row in data["rates"])
    assert data["bottleneck"] == ("network" if best >= data["consumed_images_per_s"] else "loader")


def test_line_through_all_reduces() -> None:
    sizes = [4096 * 4**n for n in range(8)]
    alpha, bus = fit_line([ring_share(4) * s for s in sizes], [50e-6 + 1.5 * s / 2e9 for s in sizes])
    assert alpha == pytest.approx(50e-6, rel=1e-3)
    assert bus == pytest.approx(2e9, rel=1e-3)
    with pytest.raises(MeasurementError, match="noise"):
        fit_line([1.0, 2.0], [2.0, 1.0])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def ranks(count: int, *arguments: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Start the processes that torchrun would start, without its supervisor; none outlives the test."""
    common = {
        **os.environ, "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1", "COLUMNS": "200",
    }  # fmt: skip
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(  # noqa: S603 - the program under test
                    [sys.executable, "-m", "estimator", *arguments],
                    env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
            )
            for rank in range(count)
        ]  # fmt: skip
        try:
            yield started
        finally:
            for process in started:
                process.kill()


@pytest.mark.torch
@pytest.mark.parametrize("count", [2, 4])
def test_data_parallel_ranks_make_one_report(count: int, tiny: Path) -> None:
    pytest.importorskip("torch")
    with ranks(count, "measure", str(tiny), "--for", "0.5s", "--format", "json") as started:
        outputs = [process.communicate(timeout=240) for process in started]
    assert [process.returncode for process in started] == [0] * count, [e for _, e in outputs]
    data = json.loads(outputs[0][0])
    assert data["measured"]["processes"] == count
    assert data["device"]["devices"] == count
    assert [out for out, _ in outputs[1:]] == [""] * (count - 1)


@pytest.mark.torch
def test_a_killed_rank_is_told(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    target = tmp_path / "out.json"
    with ranks(2, "measure", str(tiny), "--for", "100s", "-o", str(target)) as (first, second):
        time.sleep(1.0)
        while not _connected(first.pid):  # both are in the group: kill one in the middle of its steps
            assert first.poll() is None, first.communicate()
            time.sleep(0.2)
        time.sleep(2.0)
        second.send_signal(signal.SIGKILL)
        _, err = first.communicate(timeout=240)
        second.communicate()
    assert first.returncode == 3, err
    assert "another process of the group" in err
    assert not target.exists()


def _connected(pid: int) -> bool:
    """Tell whether a process has sockets connected to another over the loopback."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc here")
    sockets = 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            sockets += str(fd.readlink()).startswith("socket:")
    return sockets >= 4


@pytest.mark.torch
def test_a_measured_link_is_one_that_predict_knows(own_folder: Path) -> None:
    pytest.importorskip("torch")
    with ranks(2, "measure", "--collectives", "--name", "bench-link", "--format", "json") as started:
        outputs = [process.communicate(timeout=240) for process in started]
    assert started[0].returncode == 0, outputs[0][1]
    data = json.loads(outputs[0][0])
    assert data["processes"] == 2
    assert data["hosts"] == 1
    assert len(data["points"]) == 8
    assert Path(data["saved_as"]).is_relative_to(own_folder)
    link = load_interconnect("bench-link")
    assert link.bus_bytes_per_s == pytest.approx(data["bus_bytes_per_s"], rel=1e-3)
    assert link.provenance is not None
    assert link.provenance.basis == "measured here"
    done = run("predict", "lenet5", "--device", "4x V100", "--link", "bench-link")
    assert done.exit_code == 0, done.stderr


@pytest.mark.torch
def test_an_all_reduce_needs_others() -> None:
    pytest.importorskip("torch")
    done = run("measure", "--collectives")
    assert done.exit_code == 3
    assert "torchrun" in done.stderr


def test_results_of_hosts_are_merged(tmp_path: Path, own_folder: Path) -> None:
    del own_folder
    for name in ("node1", "node2"):
        assert run("detect", "-o", str(tmp_path / f"{name}.json")).exit_code == 0
    done = run("cluster", "merge", str(tmp_path / "node1.json"), str(tmp_path / "node2.json"), "-f", "json")
    data = json.loads(done.stdout)
    assert [host["host"] for host in data["hosts"]] == ["node1", "node2"]
    assert [group["hosts"] for group in data["groups"]] == [["node1", "node2"]]
    bad = tmp_path / "bad.json"
    bad.write_text("{}", encoding="utf-8")
    assert "no result of estimator" in run("cluster", "merge", str(bad)).stderr


def result_of(host: str, seconds: float) -> tuple[str, dict[str, Any]]:
    return host, {
        "schema": "estimator/measure/1",
        "inputs": {"network": "n", "batch": 1, "precision": "fp32"},
        "device": {"name": "d"},
        "measured": {"step_s": {"median": seconds}},
    }


def test_the_slowest_host_is_named() -> None:
    from estimator.app.cluster import merge

    merged = merge([result_of("a", 1.0), result_of("b", 1.0), result_of("c", 1.4)])
    assert merged.slowest == "c"
    assert merged.groups[0].step_s is not None
    assert merged.groups[0].step_s.median == 1.0
    assert "c is 40 % slower" in merged.warnings[0]
    with pytest.raises(InputError, match="different commands"):
        merge([result_of("a", 1.0), ("b", {"schema": "estimator/detect/1"})])


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_of_two_processes(tiny: Path) -> None:
    pytest.importorskip("torch")
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address
        found = json.loads(run("cluster", "detect", "--dask", address, "--every-worker", "-f", "json").stdout)
        assert len(found["hosts"]) == 2
        assert len(found["groups"]) == 1
        once = json.loads(run("cluster", "detect", "--dask", address, "-f", "json").stdout)
        assert len(once["hosts"]) == 1
        done = run(
            "cluster",
            "measure",
            str(tiny),
            "--dask",
            address,
            "--for",
            "0.3s",
            "--every-worker",
            "-f",
            "json",
        )
        data = json.loads(done.stdout)
        assert data["kind"] == "measure"
        assert data["groups"][0]["step_s"]["steps"] == 2


def test_no_scheduler_is_told() -> None:
    pytest.importorskip("distributed")
    done = run("cluster", "detect", "--dask", "not-an-address")
    assert done.exit_code == 3
    assert "no Dask scheduler" in done.stderr


@pytest.mark.parametrize(
    ("text", "seconds", "unit"),
    [
        ("12 h/epoch", 43200.0, "epoch"), ("350ms per step", 0.35, "step"), ("2 days/run", 172800.0, "run"),
        ("410 images/s", 1 / 410, "sample"), ("4 it/s", 0.25, "step"), ("30 samples/min", 2.0, "sample"),
    ],
)  # fmt: skip
def test_measured_times_are_read(text: str, seconds: float, unit: str) -> None:
    measured = parse_measured(text)
    assert measured.seconds == pytest.approx(seconds)
    assert measured.unit == unit


@pytest.mark.parametrize("text", ["12 parsecs", "fast", "0 it/s", "-3 h/epoch", "3 h/fortnight"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_measured(text)


def explained(*arguments: str) -> dict[str, Any]:
    done = run("explain", *arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def test_a_normal_time_is_called_normal() -> None:
    expected = explained("resnet50", "--device", "RTX 3090", "--measured", "1 h/step")["expected_s"][
        "expected"
    ]
    data = explained("resnet50", "--device", "RTX 3090", "--measured", f"{expected}s/step")
    assert data["inside"]
    assert data["causes"] == []
    assert data["ratio"] == pytest.approx(1.0)


def test_causes_are_ranked_with_arithmetic_and_a_check() -> None:
    data = explained(
        "resnet50", "--device", "4x V100", "-p", "amp", "-b", "64", "--measured", "0.55 s/step"
    )  # fmt: skip
    assert data["ratio"] > 1
    assert not data["inside"]
    names = [cause["name"] for cause in data["causes"]]
    assert "fp32 instead of mixed precision" in names
    assert "DataParallel instead of DistributedDataParallel" in names
    excess = np.log(data["ratio"])
    misses = [abs(np.log(cause["factor"]) - excess) for cause in data["causes"]]
    assert misses == sorted(misses)
    for cause in data["causes"]:
        assert re.search(r"\d", cause["arithmetic"])
        assert len(cause["check"]) > 5


def test_what_feeds_a_device_explains_no_time_that_is_too_short_and_no_small_images() -> None:
    for network, stated in (("resnet50", "1 ms/step"), ("mlp_mnist", "30 ms/step")):
        names = [c["name"] for c in explained(network, "--device", "RTX 3090", "-m", stated)["causes"]]
        assert not {"disk too slow", "data loader with too few workers"} & set(names)


def test_rates_and_times_people_state() -> None:
    alike = [
        explained("gpt2", "--device", "A100", "--samples", "1000000", "-b", "8", "-m", stated)["ratio"]
        for stated in ("1h30m/epoch", "1:30:00/epoch", "16 epochs/day")
    ]
    assert alike == pytest.approx([alike[0]] * 3)
    by_token = explained("gpt2", "--device", "A100", "-b", "8", "-m", "10240 tokens/s")["ratio"]
    assert by_token == pytest.approx(
        explained("gpt2", "--device", "A100", "-b", "8", "-m", "10 samples/s")["ratio"]
    )
    wrong = run("explain", "resnet18", "--device", "A100", "-m", "5 tokens/s")
    assert wrong.exit_code == 2
    assert "reads no tokens" in wrong.stderr


def test_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image at all")
    with pytest.raises(MeasurementError, match=r"broken\.png"):
        load_image(broken, (8, 8), own=True)


def test_too_short_to_measure() -> None:
    for arguments, said in (
        (("calibrate", "--here", "--for", "0s"), "not a time to measure"),
        (("calibrate", "--here", "--for", "1ms"), "too short"),
        (("calibrate", "--here", "--from", "x"), "two ways"),
        (("measure", "lenet5", "--link", "nosuch"), "nosuch"),
        (("measure", "--collectives", "--data", "."), "one of them"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2, done.output
        assert said in done.stderr


def test_causes_on_a_cpu() -> None:
    names = [c["name"] for c in explained("resnet18", "--device", "EPYC 7742", "-m", "60 s/step")["causes"]]
    assert "one thread, or other work on the cores" in names
    assert "a build without wide vectors" in names
    assert not any("DataParallel" in name or "link" in name for name in names)


def test_an_epoch_of_unknown_length_is_an_error() -> None:
    done = run("explain", "gpt2", "--device", "A100", "--measured", "1 h/epoch")
    assert done.exit_code == 2
    assert "--samples" in done.stderr
