"""Tests that GPUs that exist only in machines with an Arm CPU never get a plan for x86-64. The tables list
these GPUs."""

from __future__ import annotations

import re

import pytest

from doctor.diagnose import diagnose
from doctor.errors import UsageError
from doctor.plan.described import described
from doctor.tables import Tables
from doctor.tables.arm import only_with_arm
from tests.plan.contexts import outcome
from tests.rules.situation import diagnosed
from tests.sampling import each

TABLES = Tables.bundled()
BY_NAME = [
    "GB10",
    "DGX Spark",
    "GH200",
    "GH200 480GB",
    "GB200",
    "GB300",
    "Grace Hopper",
    "Jetson AGX Orin",
    "Orin",
    "Jetson Orin Nano",
    "Thor",
    "Jetson AGX Thor",
    "Xavier",
    "Jetson Xavier NX",
    "Jetson Nano",
    "Jetson TX2",
    "Jetson TX1",
    "8.7",
    "11.0",
    "12.1",
    "7.2",
]
BY_ID = [
    row["pci_id"]
    for row in TABLES.store.all("gpus")
    if re.search(r"\b(?:GH200|GB200|GB300|GB10|Jetson)\b", row["name"])
]


@each("gpu", [*BY_NAME, *BY_ID])
def test_plans_for_arm_gpus_contain_no_command_for_x86(tables: Tables, gpu: str) -> None:
    found = outcome(tables, gpu=gpu)
    assert found.context.platform == "linux-aarch64"
    commands = [step.text for plan in found.plans for step in plan.commands]
    commands += [step.text for finding in found.findings for step in finding.prescription]
    assert not [text for text in commands if "[and-cuda]" in text or "nvidia-cu" in text]
    assert found.plans[-1].route == "cpu"


@pytest.mark.parametrize("gpu", ["GB10", "GH200", "GB200", "GB300"])
def test_an_arm_server_gets_nvidias_container_with_its_command(tables: Tables, gpu: str) -> None:
    first = outcome(tables, gpu=gpu).plans[0]
    assert first.route == "nvidia-container"
    assert (
        first.driver_minimum
        == {"GB10": "575.51.03", "GH200": "525.60.13", "GB200": "570.26", "GB300": "575.51.03"}[gpu]
    )
    assert any(
        re.match(r"docker run --rm --gpus all nvcr\.io/nvidia/tensorflow:\S+ python3 -c ", step.text)
        for step in first.commands
    )


@pytest.mark.parametrize(
    ("gpu", "jetpack"),
    [("Orin", "6.1"), ("Xavier", "5.1.2"), ("Jetson Nano", "4.6.1"), ("Jetson TX2", "4.6.1")],
)
def test_a_jetson_gets_nvidias_wheel_for_its_jetpack(tables: Tables, gpu: str, jetpack: str) -> None:
    plan = next(plan for plan in outcome(tables, gpu=gpu).plans if plan.route == "jetson-wheel")
    steps = [f"{step.text} {step.why}" for step in plan.commands]
    assert any(f"JetPack {jetpack}" in step for step in steps)
    assert any(
        "--extra-index-url https://developer.download.nvidia.com/compute/redist/jp/" in step and "+nv" in step
        for step in steps
    )
    assert any("docs.nvidia.com/deeplearning/frameworks/install-tf-jetson-platform" in step for step in steps)


def test_a_jetson_without_a_build_of_nvidias_is_reported(tables: Tables) -> None:
    found = outcome(tables, gpu="Thor")
    assert not found.works
    assert "no NVIDIA build" in found.findings[0].explanation
    assert [plan.route for plan in found.plans] == ["cpu"]


def test_a_wrong_processor_beside_an_arm_gpu_is_refused(tables: Tables) -> None:
    with pytest.raises(UsageError, match="only in machines with an Arm CPU"):
        described(tables, os="linux x86_64", gpu=["GB10"])


@each(
    "gpu", ["B200", "HGX B200", "H100 PCIe", "H200", "RTX 5090", "A100", "B300", "RTX PRO 6000", "RTX 3090"]
)
def test_gpus_for_x86_get_plans_for_x86(gpu: str) -> None:
    assert only_with_arm(TABLES.store, gpu, TABLES.capability(gpu)) is None


@pytest.mark.parametrize("gpu", ["NVIDIA GB10", "NVIDIA GH200 480GB", "Jetson AGX Orin"])
def test_a_report_from_an_arm_gpu_gets_no_command_to_install_for_x86(gpu: str) -> None:
    report = (
        f"TensorFlow version: 2.20.0\nGPU: {gpu}\nThe GPU is not used: tf.config.list_physical_devices('GPU')"
        " gives []\nCannot dlopen some GPU libraries. Skipping registering GPU devices...\n"
    )
    steps = [
        step.text
        for finding in diagnose(diagnosed(report).facts, TABLES).findings
        for step in finding.prescription
    ]
    assert not [text for text in steps if "[and-cuda]" in text], steps


def test_a_driver_branch_that_dropped_the_card_has_to_change_on_arm_too(tables: Tables) -> None:
    found = outcome(tables, os="Ubuntu 22.04 aarch64", gpu="6.1", driver="595.45.04")
    assert [f.code for f in found.findings if f.severity == "error"] == ["driver-too-new"]
    assert found.plans[0].candidate.given_up == {"driver"}
    assert any("R580" in change for change in found.plans[0].changes)


def test_a_driver_too_old_for_the_containers_cuda_has_to_change_on_arm_too(tables: Tables) -> None:
    found = outcome(tables, os="Ubuntu 22.04 aarch64", gpu="8.0", driver="470.82.01")
    assert [f.code for f in found.findings if f.severity == "error"] == ["driver-too-old"]


def test_plan_in_a_container_does_not_need_the_hosts_c_library(tables: Tables) -> None:
    plan = outcome(tables, os="Jetson").plans[0]
    assert plan.candidate.image is not None
    assert not any("glibc" in reason for reason in plan.why)
