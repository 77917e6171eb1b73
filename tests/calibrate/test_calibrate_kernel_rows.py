from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from estimator.calibrate.fit import Problem
from estimator.calibrate.kernel_rows import read_products
from estimator.catalog.calibration import load_prior
from estimator.catalog.lookup import load_device
from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "op,device,precision,batch,m,n,k,ms,source\n"


def test_a_product_is_one_kernel_on_its_device(tmp_path: Path) -> None:
    table = tmp_path / "products.csv"
    table.write_text(f"{HEADER}gemm,v100-sxm2-16gb,fp32,1,512,1024,2048,0.2,x\n", encoding="utf-8")
    (found,) = read_products(table, load_device)
    assert found.device.id == "v100-sxm2-16gb"
    assert found.seconds == pytest.approx(0.2e-3)
    assert found.table.flops.tolist() == [2 * 512 * 1024 * 2048]
    assert found.table.categories[0].kind == "gemm.linear"


def test_the_host_is_not_in_the_time_of_a_kernel(tmp_path: Path) -> None:
    table = tmp_path / "products.csv"
    table.write_text(f"{HEADER}gemm,a100-sxm-80gb,fp16,1,512,512,512,0.01,x\n", encoding="utf-8")
    (found,) = read_products(table, load_device)
    problem = Problem([found, replace(found, device_only=False)], load_prior())
    alone, called = np.exp(problem.design.log_seconds(np.array(problem.parameters.start))[0])
    assert alone < 20e-6 < called


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    table = tmp_path / "products.csv"
    table.write_text(f"{HEADER}gemm,t4,fp32,1,512,many,2048,0.2,x\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"products.csv:2: .*many"):
        read_products(table, load_device)
