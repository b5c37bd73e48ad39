"""Compares the effect of a value of CUDA_VISIBLE_DEVICES with NVIDIA's documentation and with the simulated
driver."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

from doctor.devices.visibility import Device, enumeration, interpret, is_certain, unseparated
from doctor.simulate import environment, prepare
from tests.sampling import each, sampled

FOUR = tuple(Device(i, "A100", f"GPU-{c}0000000-aaaa", f"0000:0{i + 1}:00.0") for i, c in enumerate("1234"))
FIRST, SECOND = (
    Device(0, f"MIG {n}g.5gb", f"MIG-{n}1111111-bbbb", "0000:01:00.0", numbers=(int(n), 0)) for n in "12"
)
DIVIDED = (Device(0, "A100", "GPU-10000000-aaaa", "0000:01:00.0", (FIRST, SECOND), divided=True), *FOUR[1:])
EMPTY = (Device(0, "A100", "GPU-10000000-aaaa", "0000:01:00.0", (), divided=True), *FOUR[1:])


def shown(value, devices=FOUR):
    return [device.index for device in interpret(value, devices).shown]


@each(
    "value, gpus",
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("0", [0]),
        ("2,0", [2, 0]),
        ("0,1,2,3,4", [0, 1, 2, 3]),
        # CUDA C++ Programming Guide: "only the devices whose index is present before the invalid index are
        # visible"
        ("0,2,-1,1", [0, 2]),
        ("-1,0", []),
        ("-1", []),
        ("0,-1", [0]),
        ("4", []),
        ("0,0", []),
        ("0,1,0", []),
        ("1gpu2,2ampere", [1, 2]),
        ("0,,1", [0]),
        (",0", []),
        (" 1 , 2 ", [1, 2]),
        ("'0'", []),
        ("all", []),
        ("none", []),
        ("NoDevFiles", []),
        ("GPU-20000000-aaaa", [1]),
        ("GPU-2,GPU-1", [1, 0]),
        ("GPU-", []),
        ("GPU-9", []),
        ("GPU-1,1", [0]),
        ("1,GPU-1", [1]),
        ("99999999999999999999", []),
    ],
)
def test_a_value_shows_what_the_documentation_says(value, gpus):
    assert shown(value) == gpus


def test_an_invalid_entry_is_explained_with_the_entries_that_it_hides():
    one, two, three = interpret("1,-1,0", FOUR).entries
    assert (one.shown, two.shown, three.shown) == (True, False, False)
    assert two.why == "is negative"
    assert three.why == "comes after `-1`, which is not valid and ends the list"
    assert three.device == FOUR[0]


def test_words_after_a_space_are_reported_as_ignored():
    found = interpret("0 1", FOUR)
    assert [device.index for device in found.shown] == [0]
    assert "commas" in found.entries[0].why
    assert unseparated(" 0, 1") == []


def test_a_repeated_entry_is_reported_to_hide_the_entries_before_it():
    entries = interpret("1,1,0", FOUR).entries
    assert not any(entry.shown for entry in entries)
    assert "repeated" in entries[0].why


@each(
    "value, uuids",
    [
        ("MIG-21111111-bbbb", ["MIG-21111111-bbbb"]),
        ("MIG-2", ["MIG-21111111-bbbb"]),
        ("MIG-", []),
        ("MIG-11111111-bbbb,MIG-21111111-bbbb", ["MIG-11111111-bbbb"]),
        ("0", ["MIG-11111111-bbbb"]),
        ("1", ["GPU-20000000-aaaa"]),
        ("0,1", ["MIG-11111111-bbbb"]),
        ("MIG-99", []),
        # CUDA C++ Programming Guide: MIG-<GPU-UUID>/<GPU instance ID>/<compute instance ID>
        ("MIG-GPU-10000000-aaaa/2/0", ["MIG-21111111-bbbb"]),
        ("MIG-GPU-10000000-aaaa/2/1", []),
        ("MIG-GPU-10000000-aaaa/3/0", []),
        ("MIG-GPU-20000000-aaaa/2/0", []),
        (None, ["MIG-11111111-bbbb"]),
    ],
)
def test_a_process_gets_one_mig_instance(value, uuids):
    assert [device.uuid for device in interpret(value, DIVIDED, "550.54.14").shown] == uuids


@pytest.mark.parametrize(
    ("value", "uuids"),
    [
        (
            None,
            [
                "MIG-11111111-bbbb",
                "MIG-21111111-bbbb",
                "GPU-20000000-aaaa",
                "GPU-30000000-aaaa",
                "GPU-40000000-aaaa",
            ],
        ),
        ("MIG-21111111-bbbb,MIG-11111111-bbbb", ["MIG-21111111-bbbb", "MIG-11111111-bbbb"]),
        ("1,0", ["GPU-20000000-aaaa", "MIG-11111111-bbbb", "MIG-21111111-bbbb"]),
    ],
)
def test_from_driver_570_on_a_process_gets_every_mig_instance(value, uuids):
    assert [device.uuid for device in interpret(value, DIVIDED, "570.86.10").shown] == uuids


def test_before_driver_470_an_instance_has_no_own_uuid():
    (entry,) = interpret("MIG-21111111-bbbb", DIVIDED, "460.32.03").entries
    assert not entry.shown
    assert interpret("MIG-GPU-10000000-aaaa/2/0", DIVIDED, "460.32.03").shown == (SECOND,)


def test_a_divided_gpu_without_instances_is_not_a_device():
    assert [device.index for device in interpret(None, EMPTY).shown] == [1, 2, 3]
    (entry,) = interpret("0", EMPTY).entries
    assert (entry.shown, entry.why) == (False, "is divided (MIG) but has no instance")


def test_a_mig_name_on_a_machine_without_mig_says_so():
    (entry,) = interpret("MIG-1", FOUR).entries
    assert entry.why == "names a MIG instance, but no GPU here is divided"


def test_cuda_counts_the_fastest_first_unless_the_bus_decides():
    mixed = (Device(0, "T4", "GPU-1", "a"), Device(1, "H100", "GPU-2", "b"))
    assert [d.index for d in enumeration(mixed, None, ("b", "a"))] == [1, 0]
    assert [d.index for d in enumeration(mixed, "PCI_BUS_ID", ("b", "a"))] == [0, 1]
    assert is_certain(mixed, None, ("b", "a"))
    assert not is_certain(mixed, None)
    assert is_certain(FOUR, None)


ASK_ALL = """
import ctypes, json, os, sys
answers = []
for value in json.load(sys.stdin):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = value
        driver, count, seen = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), []
        if driver.cuInit(0) == 0:
            driver.cuDeviceGetCount(ctypes.byref(count))
            for device in range(count.value):
                bus, name = ctypes.create_string_buffer(32), ctypes.create_string_buffer(96)
                driver.cuDeviceGetPCIBusId(bus, 32, device)
                driver.cuDeviceGetName(name, 96, device)
                seen.append([int(bus.value.split(b":")[1], 16) - 1, name.value.decode()])
        os.write(writing, json.dumps(seen).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        answers.append(json.load(answer))
print(json.dumps(answers))
"""


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize(
    ("driver", "mig"),
    sampled(
        [
            ("550.54.14", ()),
            ("460.32.03", ("1g.5gb,1g.5gb", "off", "3g.20gb,2g.10gb")),
            ("550.54.14", ("1g.5gb,1g.5gb", "off", "3g.20gb,2g.10gb")),
            ("550.54.14", ("off", "empty", "off")),
            ("570.86.10", ("1g.5gb,1g.5gb", "off", "3g.20gb,2g.10gb")),
        ],
        2,
    ),
    ids=["whole", "divided R460", "divided R550", "empty", "divided R570"],
)
def test_the_simulated_driver_and_the_interpretation_agree_on_values(driver, mig, every):
    scenario = prepare(gpus=("A100",) * 3, driver=driver, mig=mig)
    devices = []
    for index, gpu in enumerate(scenario.machine.gpus):
        instances = tuple(
            Device(
                index,
                f"{gpu.name} MIG {part.profile}",
                gpu.instance_uuid(index, part, driver),
                numbers=(part.number, 0),
            )
            for part in gpu.instances or ()
        )
        devices.append(
            Device(index, gpu.name, gpu.uuid(index), None, instances, divided=gpu.instances is not None)
        )
    parts = [
        "0",
        "1",
        "2",
        "3",
        "-1",
        "",
        " 1",
        "+2",
        "1x",
        "x1",
        "0x1",
        "GPU-5100",
        "GPU-5101",
        "gpu-5102",
        "GPU-51",
        "GPU-",
        "MIG-1",
        devices[2].uuid or "",
        "2 1",
        "\t0",
    ]
    if mig:
        parts += [
            *(part.uuid or "" for device in devices for part in device.mig),
            "MIG-",
            "MIG-5200",
            "mig-5202",
            "MIG-GPU-",
            "MIG-GPU-5102/1/0",
            "MIG-GPU-5102/1/1",
            "mig-gpu-5102/+1/0",
            "MIG-GPU-51/1/0",
            "MIG-GPU-5102/1",
            "MIG-GPU-5102/1/0/0",
            "MIG-GPU-5102//0",
            "MIG-GPU-5102/1/",
            "MIG-GPU-5102/-1/0",
        ]
    pairs = [f"{a},{b}" for a, b in itertools.product(parts, parts)]
    values = ["", *parts, *pairs[::every]]
    values += [
        ",".join(three)
        for three in itertools.product(["0", "1", "-1", "GPU-5101", "GPU-5100", "0"], repeat=3)
    ]
    assert len(values) > (600 if every == 1 else 250)
    with environment(scenario) as simulation:
        done = subprocess.run(
            [sys.executable, "-c", ASK_ALL],
            input=json.dumps(values),
            env={**simulation.environment, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    said = json.loads(done.stdout)
    predicted = [[[d.index, d.name] for d in interpret(value, devices, driver).shown] for value in values]
    assert [(v, c, p) for v, c, p in zip(values, said, predicted) if c != p] == []
