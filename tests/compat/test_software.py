"""Tests whether a build works with a driver, with a CUDA toolkit, and with a cuDNN version."""

from __future__ import annotations

from doctor.compat import (
    cudnn_serves_gpu,
    driver_minimum,
    runs_on_driver,
    runs_with_cuda,
    runs_with_cudnn,
)
from doctor.tables import DriverFloor, Tables
from tests.sampling import each

from .releases import release


@each(
    "version, driver, platform, verdict",
    [
        (
            "2.21.0",
            "535.183.01",
            "linux",
            "yes",
        ),  # the most common wrong "no" of other tools: 12.5 on a driver for 12.2
        ("2.16.1", "535.54.03", "linux", "yes"),
        ("2.20.0", "525.60.13", "linux", "yes"),
        ("2.20.0", "525.60.12", "linux", "no"),
        ("2.20.0", "525.60", "linux", "unknown"),  # any release that begins with these numbers
        ("2.20.0", "525", "linux", "unknown"),
        ("2.20.0", "525.59", "linux", "no"),
        ("2.20.0", "470.256.02", "linux", "no"),
        ("2.20.0", "450.80.02", "linux", "no"),
        ("2.14.0", "450.80.02", "linux", "yes"),
        ("2.14.0", "450.51.06", "linux", "no"),
        ("2.14.0", "615.10", "linux", "yes"),
        ("2.20.0", "700.10", "linux", "yes"),  # newer drivers run older CUDA
        ("2.4.0", "450.51.05", "linux", "yes"),  # the driver of CUDA 11.0 itself, below the floor of 11.x
        ("2.3.0", "418.39", "linux", "yes"),
        ("2.3.0", "410.48", "linux", "no"),  # before CUDA 11, there is no minor-version compatibility
        ("2.10.1", "452.39", "windows", "yes"),
        ("2.10.1", "451.48", "windows", "no"),
        ("2.20.0", "528.33", "wsl", "yes"),
        ("2.20.0", "511.65", "wsl", "no"),
    ],
)
def test_build_on_driver(tables: Tables, version: str, driver: str, platform: str, verdict: str) -> None:
    where = "windows-amd64" if platform == "windows" else "linux-x86_64"
    assert (
        runs_on_driver(release(tables, version, platform=where), driver, tables, platform).verdict == verdict
    )


def test_invalid_driver_version_gives_unknown(tables: Tables) -> None:
    assert runs_on_driver(release(tables, "2.20.0"), "N/A", tables).verdict == "unknown"


@each(
    "version, capabilities, platform, driver, rule",
    [
        ("2.20.0", (), "linux", "525.60.13", "minor-version"),
        ("2.20.0", ("8.6",), "linux", "525.60.13", "minor-version"),
        ("2.14.1", ("7.0",), "linux", "450.80.02", "minor-version"),
        ("2.3.4", ("7.0",), "linux", "418.39", "toolkit"),
        ("2.20.0", (), "wsl", "528.33", "minor-version"),
        ("2.10.1", ("8.9",), "linux", "520.61.05", "architecture"),
        ("2.20.0", ("9.0",), "linux", "555.42.02", "ptx"),
        ("2.18.0", ("9.0",), "linux", "545.23.06", "ptx"),
        ("2.21.0", ("12.0",), "linux", "570.26", "architecture"),
    ],
)
def test_lowest_driver(
    tables: Tables, version: str, capabilities: tuple[str, ...], platform: str, driver: str, rule: str
) -> None:
    floor = driver_minimum(release(tables, version), tables, platform, capabilities).rows[-1]
    assert isinstance(floor, DriverFloor)
    assert (floor.driver, floor.rule) == (driver, rule)


@each(
    "version, cuda, verdict",
    [
        ("2.3.1", "10.1", "yes"),
        ("2.3.1", "10.2", "no"),
        ("2.3.1", "11.0", "no"),
        ("2.4.0", "11.0", "yes"),
        ("2.4.0", "11.1", "no"),
        ("2.4.0", "11.2", "no"),
        ("2.5.0", "11.0", "no"),
        ("2.5.0", "11.2", "yes"),
        ("2.11.0", "11.8", "yes"),
        ("2.12.0", "11.2", "unknown"),
        ("2.15.0", "11.8", "no"),
        ("2.15.0", "12.9", "yes"),
        ("2.20.0", "13.0", "no"),
        ("2.20.0", "12.5.1", "yes"),
        ("1.14.0", "10.0", "yes"),
        ("1.14.0", "9.0", "no"),
        ("1.12.0", "9.0", "yes"),
        ("2.20.0", "twelve", "unknown"),
    ],
)
def test_build_with_cuda_toolkit(tables: Tables, version: str, cuda: str, verdict: str) -> None:
    answer = runs_with_cuda(release(tables, version), cuda, tables)
    assert answer.verdict == verdict, answer.reason


def test_missing_library_is_named_with_the_toolkits_that_contain_it(tables: Tables) -> None:
    answer = runs_with_cuda(release(tables, "2.4.0"), "11.2", tables)
    assert "libcusolver.so.10 is in CUDA 10.1 to 11.0" in answer.reason


@each(
    "version, cudnn, verdict",
    [
        ("2.3.1", "7.6.5", "yes"),
        ("2.3.1", "7.4.2", "no"),
        ("2.3.1", "8.0.5", "no"),
        ("2.5.0", "8.0.5", "no"),  # "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0"
        ("2.5.0", "8.1.0", "yes"),
        ("2.12.0", "8.5.0", "no"),
        ("2.17.0", "9.3.0", "no"),
        ("2.18.0", "8.9.7", "no"),
        ("2.18.0", "9.1.0", "no"),
        ("2.18.0", "9.0.0", "no"),
        ("2.18.0", "9", "yes"),
        ("2.18.0", "9.3.0.75", "yes"),
        ("1.12.0", "7.2.1", "unknown"),  # no document states the minor version with which it was compiled
        ("1.12.0", "7.6.5", "yes"),  # there is no later cuDNN 7 with which it could have been compiled
        ("1.3.0", "7.6.5", "no"),
        ("1.12.0", "6.0.21", "no"),
    ],
)
def test_build_with_cudnn(tables: Tables, version: str, cudnn: str, verdict: str) -> None:
    answer = runs_with_cudnn(release(tables, version), cudnn, tables)
    assert answer.verdict == verdict, answer.reason


def test_cudnn_9_11_has_nothing_for_pascal(tables: Tables) -> None:
    assert cudnn_serves_gpu("9.10.2.21", ("6.1",), tables, "12").verdict == "yes"
    answer = cudnn_serves_gpu("9.11.0.98", ("6.1",), tables, "12")
    assert answer.verdict == "no"
    assert "start at 7.5" in answer.reason


def test_cudnn_9_3_has_no_machine_code_for_blackwell(tables: Tables) -> None:
    assert cudnn_serves_gpu("9.3.0.75", ("12.0",), tables, "12").verdict == "unknown"
    assert cudnn_serves_gpu("9.8.0.87", ("12.0",), tables, "12").verdict == "yes"


def test_unknown_cudnn_gives_unknown(tables: Tables) -> None:
    assert cudnn_serves_gpu("99.1", ("8.6",), tables).verdict == "unknown"
