"""The keys of architecture and device profiles, with the range each value must lie in."""

from __future__ import annotations

from estimator.catalog.schema import Either, Flag, ListOf, Number, Table, Text
from estimator.precision import DType
from estimator.provenance import Basis

FORMAT = 1
VENDORS = (
    "nvidia", "amd", "intel", "apple", "arm", "google", "amazon", "huawei", "graphcore", "ampere",
    "marvell", "fujitsu", "ibm", "sifive", "broadcom", "alibaba", "microsoft", "qualcomm", "other",
)  # fmt: skip
FORM_FACTORS = ("desktop", "workstation", "laptop", "pcie", "sxm", "oam", "server", "embedded", "cloud")
MEMORY_TYPES = (
    "gddr3", "gddr5", "gddr5x", "gddr6", "gddr6x", "gddr7", "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "mcdram",
    "ddr2", "ddr3", "ddr4", "ddr5", "lpddr2", "lpddr3", "lpddr4", "lpddr4x", "lpddr5", "lpddr5x", "sram",
)  # fmt: skip
UNITS = ("vector", "matrix", "matrix_narrow")
PEAK_NAMES = tuple(f"{dtype}_{unit}" for unit in UNITS for dtype in DType)

_ID = Text(pattern=r"[a-z0-9][a-z0-9.+-]*", example="rtx-4090")
_FORMAT = Number(low=FORMAT, high=FORMAT, whole=True)
_NOTE = Text()
_SOURCE = Either(
    Text(),
    Table(
        fields={"key": Text(), "source": Text(), "basis": Text(choices=tuple(Basis)), "note": _NOTE},
    ),
)
_SOURCES = Table(others=_SOURCE)
_FMA = Table(fields={dtype: Number(low=0.25, high=262144) for dtype in DType})
_CLOCK = Number(low=100, high=7000)
_HEX = r"0x[0-9a-f]{2,3}"

ARCHITECTURE = Table(
    fields={
        "format": _FORMAT,
        "id": _ID,
        "name": Text(),
        "vendor": Text(choices=VENDORS),
        "kind": Text(choices=("gpu", "cpu")),
        "year": Number(low=2005, high=2035, whole=True),
        "targets": ListOf(item=Text()),
        "market": Text(choices=("geforce", "professional", "consumer", "no tensor cores", "export")),
        "aliases": ListOf(item=Text()),
        "cpuid": ListOf(
            item=Table(
                fields={
                    "family": Number(low=5, high=255, whole=True),
                    "models": ListOf(item=Text(pattern=rf"{_HEX}(-{_HEX})?", example="0x10-0x1f")),
                    "steppings": ListOf(item=Number(low=0, high=15, whole=True)),
                },
                required=("family", "models"),
            )
        ),
        "arm_parts": ListOf(item=Text(pattern=r"0x[0-9a-f]{2}/0x[0-9a-f]{3}", example="0x41/0xd0c")),
        "unit_name": Text(),
        "lanes_per_unit": Number(low=1, high=4096, whole=True),
        "simd_bits": Number(low=32, high=2048, whole=True),
        "fma_pipes": Number(low=1, high=8, whole=True),
        "has_fma": Flag(),
        "integers_share_lanes": Flag(),
        "fma_per_clock": Table(fields=dict.fromkeys(UNITS, _FMA)),
        "matrix_clock_scale": Number(low=0.5, high=1),
        "threads_per_unit": Number(low=1, high=4096, whole=True),
        "blocks_per_unit": Number(low=1, high=128, whole=True),
        "shared_memory_kib": Number(low=8, high=1024),
        "note": _NOTE,
        "sources": _SOURCES,
    },
    required=(
        "format", "id", "name", "vendor", "kind", "unit_name", "lanes_per_unit", "fma_per_clock", "sources",
    ),
)  # fmt: skip

DEVICE = Table(
    fields={
        "format": _FORMAT,
        "id": _ID,
        "name": Text(),
        "vendor": Text(choices=VENDORS),
        "kind": Text(choices=("gpu", "cpu")),
        "architecture": _ID,
        "form_factor": Text(choices=FORM_FACTORS),
        "released": Text(pattern=r"\d{4}(-\d{2}(-\d{2})?)?", example="2022-10-12"),
        "units": Number(low=1, high=2048, whole=True),
        "boost_clock_mhz": _CLOCK,
        "all_core_clock_mhz": _CLOCK,
        "max_clock_mhz": _CLOCK,
        "base_clock_mhz": _CLOCK,
        "matrix_clock_mhz": _CLOCK,
        "threads": Number(low=1, high=4096, whole=True),
        "efficiency_cores": Table(
            fields={
                "architecture": _ID,
                "units": Number(low=1, high=288, whole=True),
                "clock_mhz": _CLOCK,
            },
            required=("architecture", "units", "clock_mhz"),
        ),
        "sockets": Number(low=1, high=16, whole=True),
        "chips_per_board": Number(low=1, high=4, whole=True),
        "memory_gib": Number(low=0.125, high=8192),
        "memory_type": Text(choices=MEMORY_TYPES),
        "memory_bus_bits": Number(low=32, high=16384, whole=True),
        "memory_gbit_per_s_per_pin": Number(low=0.5, high=40),
        "memory_channels": Number(low=1, high=24, whole=True),
        "memory_mt_per_s": Number(low=400, high=12800),
        "bandwidth_gb_per_s": Number(low=3, high=100_000),
        "unified_memory": Flag(),
        "virtual": Flag(),
        "l2_mib": Number(low=0.1, high=1024),
        "caches_kib": Table(others=Number(low=8, high=2**21)),
        "pcie": Table(
            fields={
                "generation": Number(low=1, high=7, whole=True),
                "lanes": Number(low=1, high=128, whole=True),
            },
            required=("generation", "lanes"),
        ),
        "nvlink": Table(
            fields={
                "name": Text(),
                "generation": Number(low=1, high=6, whole=True),
                "gb_per_s": Number(low=1, high=4000),
            },
            required=("gb_per_s",),
        ),
        "power_limit_w": Number(low=1, high=3000),
        "launch_price_usd": Number(low=10, high=1_000_000),
        "aliases": ListOf(item=Text()),
        "stands_for": ListOf(item=Text()),
        "pci_ids": ListOf(item=Text(pattern=r"[0-9a-f]{4}:[0-9a-f]{4}", example="10de:1b06")),
        "datasheet_peaks_tflops": Table(fields=dict.fromkeys(PEAK_NAMES, Number(low=0.001, high=100_000))),
        "note": _NOTE,
        "sources": _SOURCES,
    },
    required=("format", "id", "name", "vendor", "kind", "architecture", "units", "sources"),
)
