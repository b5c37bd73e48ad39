"""Draws random environments from the tables: first an environment in which everything works together, then
one change to it. This module does not decide what the change causes. The oracle decides that from the whole
environment.
"""

from __future__ import annotations

import dataclasses
import random
from functools import lru_cache
from typing import Any, Callable, Optional

from tests.judge.stated import oracle
from tests.judge.stated.oracle import (
    ASK,
    CRASH,
    EMPTY,
    IMPORT,
    PIP,
    SLOW,
    WORKS,
    Environment,
    Expected,
    number,
)

CARDS = (
    "GTX 580",
    "GTX 680",
    "GTX 770",
    "Tesla K20",
    "GTX 780 Ti",
    "K80",
    "GTX 960",
    "GTX 970",
    "GTX 980 Ti",
    "M60",
    "M40",
    "K620",
    "GTX 1050 Ti",
    "GTX 1070",
    "GTX 1080 Ti",
    "Titan Xp",
    "P100",
    "P4000",
    "MX150",
    "V100",
    "Titan V",
    "RTX 2060",
    "RTX 2070",
    "RTX 2080 Ti",
    "GTX 1650",
    "GTX 1660 Super",
    "T4",
    "A100",
    "RTX 3060",
    "RTX 3060 Laptop GPU",
    "RTX 3070",
    "RTX 3080",
    "RTX 3090",
    "RTX A6000",
    "A10G",
    "A40",
    "RTX 4060",
    "RTX 4070",
    "RTX 4080",
    "RTX 4090",
    "L4",
    "L40S",
    "RTX 4090 Laptop GPU",
    "RTX 6000 Ada Generation",
    "H100",
    "H200",
    "RTX 5060 Ti",
    "RTX 5070",
    "RTX 5070 Ti",
    "RTX 5080",
    "RTX 5090",
    "B200",
)
OTHERS_CARDS = ("AMD Radeon RX 6800", "Intel UHD Graphics 620", "Intel Iris Xe", "AMD Radeon RX 580")
DRIVERS = {
    False: (
        "367.57",
        "375.66",
        "384.130",
        "390.87",
        "396.54",
        "410.104",
        "418.87.00",
        "430.50",
        "440.64.00",
        "450.80.02",
        "455.45.01",
        "460.91.03",
        "465.19.01",
        "470.57.02",
        "470.223.02",
        "495.46",
        "510.47.03",
        "515.65.01",
        "520.61.05",
        "525.60.13",
        "525.147.05",
        "530.30.02",
        "535.54.03",
        "535.183.01",
        "545.23.08",
        "550.54.15",
        "550.144.03",
        "555.42.06",
        "560.35.03",
        "565.57.01",
        "570.133.20",
        "575.57.08",
        "580.65.06",
        "590.44.01",
    ),
    True: (
        "376.53",
        "385.54",
        "391.35",
        "397.44",
        "411.31",
        "418.96",
        "431.60",
        "441.22",
        "451.82",
        "456.71",
        "461.92",
        "466.77",
        "471.96",
        "497.29",
        "512.95",
        "516.94",
        "522.25",
        "528.49",
        "531.79",
        "537.58",
        "546.33",
        "551.86",
        "555.99",
        "560.94",
        "566.36",
        "572.83",
        "576.52",
        "581.29",
        "591.44",
    ),
}
CUDAS = (
    "8.0",
    "9.0",
    "9.1",
    "9.2",
    "10.0",
    "10.1",
    "10.2",
    "11.0",
    "11.1",
    "11.2",
    "11.3",
    "11.4",
    "11.5",
    "11.6",
    "11.7",
    "11.8",
    "12.0",
    "12.1",
    "12.2",
    "12.3",
    "12.4",
    "12.5",
    "12.6",
    "12.8",
    "12.9",
    "13.0",
)
CUDNNS = (
    "5.1.10",
    "6.0.21",
    "7.0.5",
    "7.1.4",
    "7.3.1",
    "7.4.2",
    "7.5.0",
    "7.6.0",
    "7.6.5",
    "8.0.5",
    "8.1.0",
    "8.1.1",
    "8.2.1",
    "8.2.4",
    "8.3.2",
    "8.4.1",
    "8.6.0",
    "8.7.0",
    "8.8.0",
    "8.9.2",
    "8.9.7",
    "9.0.0",
    "9.1.0",
    "9.3.0",
    "9.5.1",
    "9.7.1",
    "9.10.2",
    "9.12.0",
)
SYSTEMS = {
    "linux-x86_64": (
        "Ubuntu 16.04",
        "Ubuntu 18.04",
        "Ubuntu 18.04.5 LTS",
        "Ubuntu 20.04",
        "Ubuntu 20.04.6 LTS",
        "Ubuntu 22.04",
        "Linux Ubuntu 22.04",
        "Debian 11",
        "Fedora 38",
        "Arch Linux",
        "Linux Mint 21",
        "Manjaro",
        "Pop!_OS 22.04",
        "CentOS 8",
        "Rocky Linux 9.2",
        "Linux",
    ),
    "windows-amd64": (
        "Windows 10",
        "Windows 11",
        "Windows 10 Pro 64 bit",
        "Microsoft Windows 11 Home",
        "Win10",
        "Windows 10 x64",
    ),
    "wsl": (
        "WSL2 Ubuntu 22.04",
        "Windows 11 WSL2",
        "Ubuntu 20.04 on WSL2",
        "WSL 2 (Ubuntu 22.04) on Windows 11",
    ),
    "macos-arm64": ("macOS 13.4 (M1 Pro)", "macOS Sonoma 14.2, Apple M2", "MacBook Air M1, macOS 12"),
    "linux-aarch64": ("Ubuntu 22.04 aarch64", "Ubuntu 22.04 (arm64)", "Linux aarch64"),
}


@lru_cache(maxsize=None)
def builds() -> tuple[dict[str, Any], ...]:
    """The CUDA builds from TensorFlow 1.4 on."""
    return tuple(
        row
        for row in oracle.rows("tensorflow")
        if row["gpu"]
        and number(row["version"]) >= (1, 4)
        and row["platform"] in ("linux-x86_64", "windows-amd64")
        and not row["yanked"]
    )


def fitting(rng: random.Random) -> Environment:
    """Return an environment in which all parts work together."""
    minors = sorted({tuple(number(row["version"])[:2]) for row in builds()})
    while True:
        minor = rng.choice(minors)
        row = rng.choice([r for r in builds() if number(r["version"])[:2] == minor])
        windows = row["platform"].startswith("windows")
        wsl = not windows and minor >= (2, 5) and rng.random() < 0.2
        platform = "wsl" if wsl else row["platform"]
        version = row["version"]
        short = version.rsplit(".", 1)[0]
        env = Environment(
            tensorflow=version if rng.random() < 0.7 else short,
            package=row["package"],
            platform=platform,
            system=rng.choice(SYSTEMS[platform]),
            symptom=WORKS,
            python=_python(rng, row),
            cuda=rng.choice([c for c in CUDAS if number(c) >= number(row["cuda"])]),
            cudnn=rng.choice(CUDNNS),
            gpu=rng.choice(CARDS),
            driver=rng.choice(DRIVERS[platform != "linux-x86_64"]),
        )
        if rng.random() < 0.6:
            env = dataclasses.replace(env, cuda=row["cuda"])
        for _ in range(60):
            found = oracle.misfits(env)
            if not found:
                break
            env = _mended(rng, env, found)
        if not oracle.misfits(env):
            return env


def _python(rng: random.Random, row: dict[str, Any]) -> str:
    minor = rng.choice([p for p in row["pythons"] if p not in ("2.7", "3.3")])
    return minor if rng.random() < 0.6 else f"{minor}.{rng.randint(1, 13)}"


def _mended(rng: random.Random, env: Environment, found: dict[str, str]) -> Environment:
    changed = {}
    if any(code.startswith("gpu-arch") for code in found):
        changed["gpu"] = rng.choice(CARDS)
    if any(code.startswith("driver") for code in found):
        changed["driver"] = rng.choice(DRIVERS[env.platform != "linux-x86_64"])
    if any(code.startswith("cudnn") for code in found):
        changed["cudnn"] = rng.choice(CUDNNS)
    if any(code.startswith("cuda") for code in found):
        row = oracle.build(env)
        assert row is not None
        changed["cuda"] = rng.choice([c for c in CUDAS if number(c) >= number(row["cuda"])])
    return dataclasses.replace(env, **changed)


Change = Callable[[random.Random, Environment], Optional[Environment]]


def _card(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, gpu=rng.choice(CARDS), driver=env.driver if rng.random() < 0.2 else None)


def _driver(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, driver=rng.choice(DRIVERS[env.platform != "linux-x86_64"]))


def _cuda(rng: random.Random, env: Environment) -> Environment | None:
    row = oracle.build(env)
    assert row is not None
    near = [c for c in CUDAS if abs(CUDAS.index(c) - CUDAS.index(row["cuda"])) <= 4]
    cuda = rng.choice(near if rng.random() < 0.7 else CUDAS)
    older = number(cuda) < number(row["cuda"]) and not oracle.misfits(dataclasses.replace(env, cuda=cuda))
    return (
        None if older else dataclasses.replace(env, cuda=cuda)
    )  # an older minor version that supports all of them: the cause cannot be known


def _no_cuda(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, cuda="none", cudnn="none" if rng.random() < 0.6 else None, route="pip")


def _bare(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) < (2, 14) or env.package != "tensorflow":
        return None
    return dataclasses.replace(env, cuda=None, cudnn=None, route="bare")


def _cudnn(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, cudnn=rng.choice(CUDNNS))


def _no_cudnn(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, cudnn="none")


def _python_too(rng: random.Random, env: Environment) -> Environment | None:
    python = rng.choice(["3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
    return dataclasses.replace(env, python=python, cuda=None, cudnn=None)


def _bits(rng: random.Random, env: Environment) -> Environment | None:
    return (
        dataclasses.replace(env, bits=32, cuda=None, cudnn=None)
        if env.platform.startswith("windows")
        else None
    )


def _cpu_package(rng: random.Random, env: Environment) -> Environment | None:
    return (
        dataclasses.replace(env, package="tensorflow-cpu", route="pip")
        if number(env.tensorflow) >= (1, 15)
        else None
    )


def _old_name(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, package="tensorflow") if env.package == "tensorflow-gpu" else None


def _stub(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) < (2, 12) or env.platform == "windows-amd64":
        return None
    return dataclasses.replace(
        env, package="tensorflow-gpu", tensorflow=rng.choice(["2.12.0", "2.12.0", env.tensorflow])
    )


def _windows(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) < (2, 11) or env.package == "tensorflow-gpu":
        return None
    drivers = [d for d in DRIVERS[True] if number(d)[0] >= 528]
    return dataclasses.replace(
        env,
        platform="windows-amd64",
        system=rng.choice(SYSTEMS["windows-amd64"]),
        driver=rng.choice([*drivers, None]),
    )


def _mac(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) < (2, 5) or env.package == "tensorflow-gpu":
        return None
    system = rng.choice(SYSTEMS["macos-arm64"])
    return dataclasses.replace(
        env, platform="macos-arm64", system=system, driver=None, cuda=None, cudnn=None, gpu=None
    )


def _arm(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) < (2, 12) or env.package == "tensorflow-gpu":
        return None
    gpu = rng.choice(["GH200 480GB", "A100", "L4"])
    return dataclasses.replace(
        env, platform="linux-aarch64", system=rng.choice(SYSTEMS["linux-aarch64"]), gpu=gpu, driver=None
    )


def _no_gpu(rng: random.Random, env: Environment) -> Environment | None:
    return dataclasses.replace(env, gpu="none", driver=None, cuda=None, cudnn=None)


def _conda_cpu(rng: random.Random, env: Environment) -> Environment | None:
    if env.platform == "wsl" or not (2, 0) <= number(env.tensorflow) <= (2, 12):
        return None
    return dataclasses.replace(env, package="tensorflow", route="conda-cpu", cuda=None, cudnn=None)


def _image_cpu(rng: random.Random, env: Environment) -> Environment | None:
    if env.platform == "windows-amd64" or number(env.tensorflow) < (2, 0) or env.tensorflow.count(".") < 2:
        return None
    return dataclasses.replace(
        env, route="image-cpu", package="tensorflow", cuda=None, cudnn=None, python=None
    )


def _image(rng: random.Random, env: Environment) -> Environment | None:
    image = any(row["version"] == env.tensorflow for row in oracle.rows("images"))
    if env.platform == "windows-amd64" or not image:
        return None
    return dataclasses.replace(env, route="image", package="tensorflow", cuda=None, cudnn=None, python=None)


def _extra(rng: random.Random, env: Environment) -> Environment | None:
    bad = env.tensorflow in ("2.16.1", "2.21.0", "2.15.0", "2.16", "2.21", "2.15") or number(
        env.tensorflow
    ) < (2, 15)
    card = oracle.capability(env.gpu or "")
    if bad or card is None or (number(env.tensorflow) >= (2, 20) and card < (7, 5)):
        return None  # the packages that pip then installs have faults that are not stated
    return dataclasses.replace(env, route="extra", cuda=None, cudnn=None)


def _two(rng: random.Random, env: Environment) -> Environment | None:
    if number(env.tensorflow) >= (2, 12) or env.package != "tensorflow" or env.platform == "wsl":
        return None
    other = rng.choice(["tensorflow-gpu", "tensorflow-cpu"])
    minor = rng.choice(
        [m for m in ("2.1.0", "2.2.0", "2.3.0", "2.4.1", "2.6.0", "2.8.0", "2.10.0") if m != env.tensorflow]
    )
    return dataclasses.replace(env, others=((other, minor),))


def _numpy(rng: random.Random, env: Environment) -> Environment | None:
    if not (2, 10) <= number(env.tensorflow) < (2, 18):
        return None
    return dataclasses.replace(env, others=(("numpy", rng.choice(["2.0.0", "2.0.2", "2.1.3", "2.2.1"])),))


def _protobuf(rng: random.Random, env: Environment) -> Environment | None:
    if not (2, 0) <= number(env.tensorflow) < (2, 9):
        return None
    return dataclasses.replace(env, others=(("protobuf", rng.choice(["4.21.1", "4.25.3", "5.26.1"])),))


CHANGES: tuple[tuple[int, Change, tuple[str, ...]], ...] = (
    (20, _card, (CRASH, SLOW, EMPTY, ASK)),
    (10, _driver, (EMPTY, CRASH, ASK)),
    (16, _cuda, (EMPTY, IMPORT, ASK)),
    (5, _no_cuda, (EMPTY, IMPORT)),
    (6, _bare, (EMPTY, EMPTY, ASK)),
    (12, _cudnn, (EMPTY, CRASH, IMPORT, ASK)),
    (4, _no_cudnn, (EMPTY, IMPORT, CRASH)),
    (10, _python_too, (PIP,)),
    (2, _bits, (PIP,)),
    (3, _cpu_package, (EMPTY,)),
    (4, _old_name, (EMPTY,)),
    (3, _stub, (PIP,)),
    (8, _windows, (EMPTY, EMPTY, ASK)),
    (3, _mac, (EMPTY,)),
    (3, _arm, (EMPTY,)),
    (3, _no_gpu, (EMPTY,)),
    (3, _conda_cpu, (EMPTY,)),
    (3, _image_cpu, (EMPTY,)),
    (3, _two, (EMPTY,)),
    (3, _numpy, (IMPORT,)),
    (3, _protobuf, (IMPORT,)),
)
"""For each change: how often it is made, the function that makes it, and what may then be observed."""
FIT = 0.25
"""The share of environments in which everything works together."""


def drawn(rng: random.Random) -> tuple[Environment, Expected]:
    """Return an environment, and the oracle's answer to it."""
    calm = rng.random() < FIT
    while True:
        env: Environment | None = fitting(rng)
        assert env is not None
        if calm:
            change: Change | None = rng.choice([None, None, _cuda, _cuda, _cudnn, _extra, _image, _driver])
            env = change(rng, env) if change is not None else env
            if env is None or oracle.misfits(env):
                continue
            env = dataclasses.replace(env, symptom=rng.choice([WORKS, WORKS, ASK, ASK, EMPTY]))
            # a GPU that is not listed, and CUDA is not mentioned: it may be missing
            whole = env.symptom == EMPTY and env.route == "pip"
            env = env if whole else _sparse(rng, env)
            return env, oracle.judge(env)
        weights = [weight for weight, _, _ in CHANGES]
        _, change, symptoms = rng.choices(CHANGES, weights)[0]
        env = change(rng, env)
        if env is None:
            continue
        if env.gpu is not None and rng.random() < 0.04:
            env = dataclasses.replace(env, package=None) if env.package == "tensorflow-gpu" else env
        env = _sparse(rng, dataclasses.replace(env, symptom=rng.choice(symptoms)))
        try:
            expected = oracle.judge(env)
        except LookupError:
            continue
        if expected.codes:
            return env, expected


def _sparse(rng: random.Random, env: Environment) -> Environment:
    """Return the same environment without some of the details that do not matter, because people do not state
    everything."""
    kept = env
    for name in ("driver", "gpu", "cudnn", "python", "cuda"):
        if (
            name == "cuda"
            and env.route == "pip"
            and number(env.tensorflow) >= (2, 14)
            and env.symptom in (EMPTY, ASK)
        ):
            continue  # if CUDA is not mentioned beside a plain `pip install tensorflow`, it would be missing
        if rng.random() < 0.3 and getattr(env, name) != "none":
            less = dataclasses.replace(kept, **{name: None})
            if set(oracle.misfits(less)) == set(oracle.misfits(env)):
                kept = less
    return kept


def several(seed: int, count: int) -> list[tuple[Environment, Expected, random.Random]]:
    """Draw `count` environments from a seed. Yield each with the random generator for the wording of its
    report."""
    return [(*drawn(rng), rng) for rng in (random.Random(f"{seed}/{i}") for i in range(count))]
