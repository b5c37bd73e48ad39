"""Finds what does not work together in a stated environment, directly from the files of the compatibility
tables.

It was written without knowledge of doctor/compat and doctor/judge, so that both can check each other. Input:
an `Environment`. Output: `Expected`, which contains every code that an expert could name, or no code if all
stated parts work together.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLES = Path(__file__).resolve().parents[3] / "compat_tables"

EMPTY, IMPORT, CRASH, SLOW, PIP, ASK, WORKS = "empty", "import", "crash", "slow", "pip", "ask", "works"
"""The observations: no GPU in the list; the import fails; a crash at the first operation; the first start
takes minutes; pip finds nothing; none (a question); it works."""

EXPLAINS = {
    "tf-cpu-only": {EMPTY, ASK},
    "tf-windows-native": {EMPTY, ASK},
    "container-no-gpu": {EMPTY, ASK},
    "gpu-absent": {EMPTY, ASK},
    "tf-no-wheel": {PIP, ASK},
    "tf-gpu-package-removed": {PIP, ASK},
    "gpu-arch-too-old": {EMPTY, CRASH, ASK},
    "gpu-arch-too-new": {CRASH, SLOW, ASK},
    "driver-too-old": {EMPTY, CRASH, ASK},
    "driver-too-new": {EMPTY, CRASH, ASK},
    "cuda-missing": {EMPTY, ASK},
    "cuda-version-mismatch": {EMPTY, ASK},
    "cudnn-missing": {EMPTY, CRASH, ASK},
    "cudnn-version-mismatch": {EMPTY, CRASH, ASK},
    "python-dependency-conflict": {IMPORT, ASK},
    "tf-conflicting-packages": {EMPTY, ASK},
    "library-path": {EMPTY, ASK},
}
LINKED = {"cuda-missing", "cuda-version-mismatch", "cudnn-missing", "cudnn-version-mismatch"}
"""Codes whose fault makes the import fail if the CUDA libraries are linked (before 1.14; on Windows before
1.15)."""
NO_CUDA = {"tf-cpu-only", "tf-windows-native", "container-no-gpu", "gpu-absent", "tf-conflicting-packages"}
"""If one of these codes applies, the CUDA version does not matter."""


@dataclass(frozen=True)
class Environment:
    """The stated facts about a machine. None means not stated. "none" means stated to be absent."""

    tensorflow: str
    package: str | None
    platform: str  # linux-x86_64, windows-amd64, wsl, macos-arm64, linux-aarch64
    system: str
    symptom: str
    python: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    gpu: str | None = None
    driver: str | None = None
    route: str = "pip"  # pip, extra, bare (a new venv and nothing else), conda, conda-cpu, image, image-cpu
    others: tuple[tuple[str, str], ...] = ()
    bits: int = 64


@dataclass(frozen=True)
class Expected:
    """The right answer. codes: every code that counts as right. If it is empty, all parts work together, and
    any error is wrong."""

    codes: frozenset[str] = field(default_factory=frozenset)
    reasons: tuple[str, ...] = ()


@lru_cache(maxsize=None)
def rows(table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    found: list[dict[str, Any]] = json.loads((TABLES / f"{table}.json").read_text("utf-8"))["rows"]
    return found


def number(text: str) -> tuple[int, ...]:
    """Return a version as a tuple of numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


@lru_cache(maxsize=None)
def release(package: str, version: str, platform: str) -> dict[str, Any] | None:
    """Return the row for a release, or for its last patch release if only the minor version is given."""
    side = "linux-x86_64" if platform == "wsl" else platform
    found = [
        row
        for row in rows("tensorflow")
        if row["package"] == package
        and row["platform"] in (side, "any")
        and (
            row["version"] == version
            or (version.count(".") == 1 and row["version"].startswith(version + "."))
        )
    ]
    return max(found, key=lambda row: number(row["version"])) if found else None


@lru_cache(maxsize=None)
def capability(name: str) -> tuple[int, int] | None:
    """Return the compute capability of a card by its name, or None if cards with this name differ or there is
    no such card."""
    found = set()
    for table in ("gpu_names", "gpus"):
        for row in rows(table):
            names = {row["name"].lower(), *(alias.lower() for alias in row.get("aliases", ()))}
            if name.lower() in names | {
                re.sub(r"^(?:nvidia |geforce |tesla |quadro )+", "", n) for n in names
            }:
                found.add(pair(row["capability"]))
    return found.pop() if len(found) == 1 else None


def pair(text: str) -> tuple[int, int]:
    """Return the major and minor numbers of a compiled capability."""
    found = number(text)
    return found[0], found[1]


def architecture(card: tuple[int, int]) -> dict[str, Any]:
    """Return the row for the architecture of a card."""
    return next(row for row in rows("architectures") if f"{card[0]}.{card[1]}" in row["capabilities"])


def build(env: Environment) -> dict[str, Any] | None:
    """Return the row for the installed build. If the package is not stated, the CUDA build is meant."""
    if env.package is None:
        found = [release(name, env.tensorflow, env.platform) for name in ("tensorflow", "tensorflow-gpu")]
        return next((row for row in found if row and row["gpu"]), found[0])
    return release(env.package, env.tensorflow, env.platform)


def judge(env: Environment) -> Expected:
    """Return every cause that the stated facts give for the observed problem."""
    found = misfits(env)
    if NO_CUDA & set(found):
        found = {
            code: why for code, why in found.items() if code in NO_CUDA or env.symptom not in EXPLAINS[code]
        }
    if env.symptom == WORKS:
        return Expected()
    linked = number(env.tensorflow) < ((1, 15) if env.platform == "windows-amd64" else (1, 14))
    right = {
        code: why
        for code, why in found.items()
        if env.symptom in EXPLAINS[code] or (env.symptom == IMPORT and linked and code in LINKED)
    }
    if env.symptom == EMPTY and env.tensorflow in ("2.16", "2.16.1", "2.21", "2.21.0"):
        right["library-path"] = "this release does not find what pip installs"
        if not found:
            right.update(
                dict.fromkeys(("undetermined", "healthy", "benign-messages"), "what is stated goes together")
            )
    # a Blackwell card under an older build: both the missing library and the card that is too new are true
    # causes
    if env.symptom == EMPTY and "gpu-arch-too-new" in found and right:
        right["gpu-arch-too-new"] = found["gpu-arch-too-new"]
    if not right and found:
        raise LookupError("what is stated does not explain what is observed")
    if env.symptom == ASK and set(right) == {"gpu-arch-too-new"} and not _blackwell(env):
        right.update(
            dict.fromkeys(
                ("healthy", "benign-messages", "undetermined"),
                "it works after a compilation at the first start",
            )
        )
    return Expected(frozenset(right), tuple(right.values()))


def _blackwell(env: Environment) -> bool:
    """Whether this is a card (Blackwell) for which the PTX in older builds is not enough for every
    operation."""
    card = capability(env.gpu or "")
    return card is not None and card >= (10, 0)


def misfits(env: Environment) -> dict[str, str]:
    """Return each code that follows from the tables for an environment, with the reason."""
    found: dict[str, str] = {}
    found.update(_installation(env))
    row = build(env)
    if row is None or not row["gpu"]:
        return found
    found.update(_card(env, row))
    found.update(_driver(env, row))
    if env.route not in ("extra", "conda", "image"):
        found.update(_libraries(env, row))
    elif env.route == "extra" and env.cudnn is not None:
        found.update(_cudnn(env, row))
    return found


def _installation(env: Environment) -> dict[str, str]:
    found: dict[str, str] = {}
    version = number(env.tensorflow)
    row = build(env)
    if env.gpu == "none":
        found["gpu-absent"] = "no NVIDIA GPU is there"
    if env.package == "tensorflow-gpu" and version >= (2, 12):
        return {**found, "tf-gpu-package-removed": "tensorflow-gpu ended with 2.11"}
    if env.bits == 32:
        found["tf-no-wheel"] = "no wheel for a 32-bit Python"
    by_pip = row is not None and env.route in ("pip", "extra", "bare")
    if by_pip and env.python is not None and ".".join(env.python.split(".")[:2]) not in row["pythons"]:
        found["tf-no-wheel"] = f"wheels for {row['pythons']}, not {env.python}"
    if env.route == "image-cpu":
        found["container-no-gpu"] = found["tf-cpu-only"] = "the image without -gpu has no CUDA"
    elif env.package == "tensorflow-cpu" or env.route == "conda-cpu" or env.platform.startswith("macos"):
        found["tf-cpu-only"] = "a build without CUDA"
    elif env.platform == "windows-amd64" and version >= (2, 11) and env.package != "tensorflow-gpu":
        found["tf-windows-native"] = "2.10 is the last with CUDA on native Windows"
        found["tf-cpu-only"] = "its wheel is tensorflow-intel's"
    elif row is not None and not row["gpu"]:
        found["tf-cpu-only"] = "this wheel has no CUDA"
    if env.platform.startswith("macos") and env.gpu is None:
        found["gpu-absent"] = "a Mac has no NVIDIA GPU"
    found.update(_packages(env))
    return found


def _packages(env: Environment) -> dict[str, str]:
    others = dict(env.others)
    found: dict[str, str] = {}
    for name in ("tensorflow", "tensorflow-gpu", "tensorflow-cpu"):
        if name in others and name != env.package:
            found["tf-conflicting-packages"] = f"{env.package} and {name}"
    if number(others.get("numpy", "1"))[0] >= 2 and number(env.tensorflow) < (2, 18):
        found["python-dependency-conflict"] = "compiled against NumPy 1"
    if number(others.get("protobuf", "3"))[0] >= 4 and number(env.tensorflow) < (2, 12):
        found["python-dependency-conflict"] = "its generated code does not load with protobuf 4"
    return found


def _card(env: Environment, row: dict[str, Any]) -> dict[str, str]:
    card = capability(env.gpu) if env.gpu not in (None, "none") else None
    if card is None:
        return {}
    kernels = row["compute_capabilities"]
    machine = {pair(c) for c in kernels["compiled"] if c[-1].isdigit()}
    ptx = {pair(c) for c in kernels["ptx"] if c[-1].isdigit()}
    version = number(row["version"])
    if any(c[0] == card[0] and c <= card for c in machine):
        if card == (7, 5) and version < (1, 13):
            return {"gpu-arch-too-new": "no cuDNN for CUDA 9 serves Turing"}
        return {}
    if card < min(machine | ptx):
        return {"gpu-arch-too-old": f"the lowest is {min(machine | ptx)}"}
    if any(c <= card for c in ptx):
        return {"gpu-arch-too-new": "only PTX that the driver compiles"}
    return {"gpu-arch-too-new" if card > max(machine | ptx) else "gpu-arch-too-old": "no code for it"}


def _driver(env: Environment, row: dict[str, Any]) -> dict[str, str]:
    if env.driver is None:
        return {}
    windows = env.platform in ("windows-amd64", "wsl")
    here = number(env.driver)
    card = capability(env.gpu) if env.gpu not in (None, "none") else None
    floor = lowest_driver(row["cuda"], windows)
    if card is not None:
        arch = architecture(card)
        first = lowest_of_toolkit(arch["first_cuda"], windows)
        if first is not None and here < first:
            return {"driver-too-old": f"the GPU needs {first}"}
        last = arch["last_driver"]
        if last is not None and branch(env.driver, windows) > number(last)[0]:
            return {"driver-too-new": f"R{last} is the last for the GPU"}
    if here < floor:
        return {"driver-too-old": f"CUDA {row['cuda']} needs {floor}"}
    return {}


def branch(driver: str, windows: bool) -> int:
    """Return the branch of a driver."""
    side = "windows" if windows else "linux"
    known = [row for row in rows("drivers") if row[side] and number(row[side])[0] <= number(driver)[0]]
    return max(number(row["branch"])[0] for row in known)


def lowest_of_toolkit(cuda: str, windows: bool) -> tuple[int, ...] | None:
    """Return the driver version that was released with the first release of a toolkit."""
    side = "windows" if windows else "linux"
    known = [row for row in rows("cuda") if row["cuda"] == cuda and row[side]]
    return min((number(row[side]) for row in known), default=None)


def lowest_driver(cuda: str, windows: bool) -> tuple[int, ...]:
    """Return the lowest driver version for a CUDA runtime. From CUDA 11 on, it depends on the major version
    only; before that, on the release."""
    side = "windows" if windows else "linux"
    floors = [
        r for r in rows("driver_floors") if r["cuda_major"] == cuda.split(".")[0] and r["platform"] == side
    ]
    own = lowest_of_toolkit(cuda, windows)
    known = [number(floors[0]["driver"])] if floors else []
    return min([*known, *([own] if own else [])])


def _libraries(env: Environment, row: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    if env.cuda == "none" or (env.route == "bare" and env.cuda is None):
        return {"cuda-missing": "no CUDA is installed"}
    if env.cuda is not None:
        here = number(env.cuda)[:2]
        named = {r["soname"]: r for r in rows("libraries")}
        lacking = [
            name
            for name in row["libraries_required"] or row["libraries"]
            if name in named and named[name]["product"] == "CUDA" and not _within(here, named[name])
        ]
        if lacking:
            found["cuda-version-mismatch"] = f"{env.cuda} has no {', '.join(lacking)}"
    found.update(_cudnn(env, row))
    return found


def _within(here: tuple[int, ...], library: dict[str, Any]) -> bool:
    first, last = library["first"], library["last"]
    return (first is None or number(first)[:2] <= here) and (last is None or here <= number(last)[:2])


def _cudnn(env: Environment, row: dict[str, Any]) -> dict[str, str]:
    if env.cudnn == "none":
        return {"cudnn-missing": "no cuDNN is installed"}
    if env.cudnn is None or row["cudnn"] is None:
        return {}
    here = number(env.cudnn)
    if here[0] != number(row["cudnn"])[0]:
        return {"cudnn-version-mismatch": f"it opens cuDNN {row['cudnn']}"}
    compiled = compiled_with(row["version"])
    if compiled is not None and len(here) > 1 and here[:2] < compiled:
        return {"cudnn-version-mismatch": f"compiled with {compiled}"}
    card = capability(env.gpu) if env.gpu not in (None, "none") else None
    if card is not None and here[:2] >= (9, 11) and card < (7, 5):
        return {"cudnn-version-mismatch": "no kernels below 7.5 from 9.11 on"}
    if card is not None and (8, 8) <= here[:2] < (9, 0) and card < (5, 0):
        return {"cudnn-version-mismatch": "no kernels below 5.0 from 8.8 on"}
    return {}


def compiled_with(version: str) -> tuple[int, ...] | None:
    """Return the cuDNN minor version with which a release was compiled, or None if it is unknown."""
    for row in rows("cudnn_compiled"):
        first, last = (number(bound) for bound in row["versions"].split(","))
        if first <= number(version) < last:
            return number(row["cudnn"])[:2]
    return None
