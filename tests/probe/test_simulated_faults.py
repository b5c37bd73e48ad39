"""Tests the real command with every fault of the simulated machine that can be seen without starting
TensorFlow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tensorflow_envs import OLDER, tensorflow_env

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tensorflow,
    pytest.mark.skipif(sys.platform != "linux", reason="the simulation is for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler"),
]

DOCTOR = [sys.executable, "-m", "doctor"]
HERE = Path(__file__).resolve().parents[2]
VERDICTS = {  # fault of `simulate --list-faults`: the verdict
    "no-gpu": "gpu-absent",
    "driver-not-loaded": "driver-not-loaded",
    "libcuda-missing": "driver-libcuda-missing",
    "driver-mismatch": "driver-library-mismatch",
    "driver-too-old": "driver-too-old",
    "no-device-nodes": "device-permission",
    "no-device": "gpu-hidden",
    "fabric-manager": "gpu-bad-state",
    "unknown-error": "gpu-bad-state",
    "driver-crashes": "gpu-bad-state",
    "nvml-no-permission": "device-permission",
    "gpu-lost": "gpu-bad-state",
    "gpu-needs-reset": "gpu-bad-state",
    "nvml-blocked": "gpu-bad-state",
    "ecc-error": "gpu-bad-state",
    "mig-empty": "gpu-reserved",
    "gpu-too-old": "gpu-arch-too-old",
    "gpu-too-new": "gpu-arch-too-new",
    "hidden": "gpu-hidden",
    "hidden-empty": "gpu-hidden",
    "hidden-index": "gpu-hidden",
    "hidden-uuid": "gpu-hidden",
    "prohibited-mode": "gpu-bad-state",
    "exclusive-mode": "gpu-bad-state",
    "cufft-missing": "cuda-missing",
    "cudnn-missing": "cudnn-missing",
    "cudnn-wrong-major": "cudnn-version-mismatch",
    "cuda-wrong-major": "cuda-version-mismatch",
    "cudnn-empty": "library-broken",
    "cudnn-truncated": "library-broken",
    "cudnn-text": "library-broken",
    "cudnn-other-machine": "library-broken",
    "cudnn-32-bit": "library-broken",
    "cudnn-needs-missing": "library-broken",
    "cudnn-undefined-symbol": "library-broken",
    "cudnn-dangling": "library-broken",
    "memory-held": "gpu-memory-held",
    None: "healthy",
}
# because the deep check sets memory growth, TensorFlow reports free memory when the cuDNN handle fails
DEEP_VERDICTS = {
    "cudnn-not-initialized": "cudnn-version-mismatch",
    "launch-failed": "ptx-jit-or-kernel-crash",
    None: "healthy",
}


def check(fault: str | None, *options: str, simulation: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the output of `check` in a simulation."""
    python = str(tensorflow_env(OLDER))
    wrong = [*simulation, *(["--fault", fault] if fault else [])]
    command = [*DOCTOR, "simulate", "--python", python, *wrong, "--", *DOCTOR, "check", "--python", python]
    done = subprocess.run(
        [*command, "--format", "json", *options], cwd=HERE, capture_output=True, text=True, timeout=300
    )
    assert done.stdout, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert isinstance(result, dict)
    return result


def verdict(result: dict[str, object]) -> str:
    findings = result["findings"]
    assert isinstance(findings, list)
    return str(findings[0]["code"])


@pytest.mark.parametrize("fault", VERDICTS, ids=str)
def test_the_fault_is_named_without_starting_tensorflow(fault: str | None) -> None:
    assert verdict(check(fault)) == VERDICTS[fault]


@pytest.mark.parametrize("fault", DEEP_VERDICTS, ids=str)
def test_the_deep_check_names_faults_that_appear_only_at_run_time(fault: str | None) -> None:
    result = check(fault, "--deep")
    assert verdict(result) == DEEP_VERDICTS[fault]
    facts = result["facts"]
    assert isinstance(facts, dict)
    assert facts["registered_gpus"]["value"] == 1
    assert "simulated-gpu" in facts["environment"]["value"]


AFTER = {  # fault: a printed step, and the options of the simulation after that step
    "mig-empty": ("sudo nvidia-smi mig -i 0 -cgi 0 -C", ("--gpu", "A100", "--mig", "7g.40gb")),
    "exclusive-mode": ("sudo nvidia-smi -c DEFAULT", ("--held", "1000")),
    "prohibited-mode": ("sudo nvidia-smi -c DEFAULT", ()),
    "memory-held": ("End your own processes that hold it", ()),
    "ecc-error": ("sudo nvidia-smi -i 0 --gpu-reset", ("--gpu", "A100")),
    "gpu-needs-reset": ("sudo nvidia-smi --gpu-reset", ()),
    "gpu-lost": ("Restart the machine", ()),
    "unknown-error": ("sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", ()),
    "fabric-manager": ("sudo systemctl enable --now nvidia-fabricmanager", ()),
    "driver-mismatch": ("sudo reboot", ()),
    "hidden": ("unset CUDA_VISIBLE_DEVICES", ()),
}


@pytest.mark.parametrize("fault", AFTER)
def test_after_the_printed_step_the_next_check_is_healthy(fault: str) -> None:
    step, options = AFTER[fault]
    findings = check(fault)["findings"]
    assert isinstance(findings, list)
    texts = [one["text"] for one in findings[0]["prescription"]]
    assert any(text.startswith(step) for text in texts), texts
    assert not any(text.startswith("export CUDA_VISIBLE_DEVICES") for text in texts)  # there is one GPU
    assert verdict(check(None, simulation=options)) == "healthy"
