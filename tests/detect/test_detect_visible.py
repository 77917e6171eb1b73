"""CUDA_VISIBLE_DEVICES and its kin: which devices a framework sees, in which order."""

from __future__ import annotations

import pytest

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.visible import apply_masks

GPUS = [
    GpuFacts(index=n, vendor="NVIDIA", name="NVIDIA A40", uuid=f"GPU-{n}{n}{n}{n}-abcd") for n in range(4)
]
SLICES = [
    GpuFacts(index=0, vendor="NVIDIA", name="A100", uuid="GPU-9999", mig_enabled=True),
    GpuFacts(
        index=0, vendor="NVIDIA", name="A100 MIG 1g.5gb", uuid="MIG-1", mig_enabled=True, parent_index=0
    ),
    GpuFacts(
        index=0, vendor="NVIDIA", name="A100 MIG 1g.5gb", uuid="MIG-2", mig_enabled=True, parent_index=0
    ),
]
RADEONS = [GpuFacts(index=n, vendor="AMD", name="AMD", uuid=f"GPU-{n}f") for n in range(3)]


@pytest.mark.parametrize(
    ("mask", "indices"),
    [
        (None, [0, 1, 2, 3]), ("", []), ("-1", []), ("NoDevFiles", []), ("2,0", [2, 0]), (" 1 , 3 ", [1, 3]),
        ("0,7,1", [0]), ("0,-1,1", [0]), ("1,1", []), ("GPU-2222-abcd,GPU-0", [2, 0]), ("GPU-", []),
        ("gpu-3333", [3]), ("GPU-none", []), ("1gpu", [1]), ("all", []),
    ],
)  # fmt: skip
def test_cuda_mask(mask: str | None, indices: list[int]) -> None:
    environ = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    visible, hidden = apply_masks(GPUS, environ, Ledger())
    assert [gpu.index for gpu in visible] == indices
    assert [gpu.framework_index for gpu in visible] == list(range(len(indices)))
    assert sorted(gpu.index for gpu in visible + hidden) == [0, 1, 2, 3]


def test_two_slices_named_is_one_device() -> None:
    """Case 96, https://github.com/pytorch/pytorch/pull/92315."""
    visible, _ = apply_masks(SLICES, {"CUDA_VISIBLE_DEVICES": "MIG-2,MIG-1"}, Ledger())
    assert [gpu.uuid for gpu in visible] == ["MIG-2"]


def test_a_partitioned_gpu_computes_only_through_its_slices() -> None:
    visible, hidden = apply_masks(SLICES, {}, Ledger())
    assert [gpu.uuid for gpu in visible] == ["MIG-1"]
    assert [gpu.uuid for gpu in hidden] == ["GPU-9999", "MIG-2"]
    none, _ = apply_masks(SLICES, {"CUDA_VISIBLE_DEVICES": "GPU-9999"}, Ledger())
    assert none == ()


def test_partitioned_without_slices() -> None:
    ledger = Ledger()
    visible, _ = apply_masks(SLICES[:1], {}, ledger)
    assert visible == ()
    assert "no slice" in ledger.findings()[0].what


def test_unlike_gpus_by_number_are_not_certain() -> None:
    """Case 100, https://github.com/NVIDIA/cudnn-frontend/pull/699."""
    gpus = [GPUS[0], GpuFacts(index=1, vendor="NVIDIA", name="NVIDIA T4", uuid="GPU-t4")]
    for environ, warned in (
        ({"CUDA_VISIBLE_DEVICES": "1"}, True),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, False),
        ({"CUDA_VISIBLE_DEVICES": "GPU-t4"}, False),
    ):
        ledger = Ledger()
        apply_masks(gpus, environ, ledger)
        assert any("not certain" in found.what for found in ledger.findings()) is warned


@pytest.mark.parametrize(
    ("environ", "indices"),
    [
        ({"HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, [2]),
        ({"CUDA_VISIBLE_DEVICES": "0"}, [0]),
        ({"CUDA_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "2"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-2f"}, [2]),
    ],
)
def test_amd_masks(environ: dict[str, str], indices: list[int]) -> None:
    visible, _ = apply_masks(RADEONS, environ, Ledger())
    assert [gpu.index for gpu in visible] == indices
