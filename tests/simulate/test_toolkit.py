"""Tests the simulation's stand-in for a CUDA toolkit, which is called as XLA calls a toolkit."""

from __future__ import annotations

import subprocess

import pytest

from doctor.simulate import environment, prepare
from doctor.simulate.compilation import CallError
from doctor.simulate.toolkit import write_toolkit


@pytest.mark.parametrize("option", ["-o {}", "--output-file={}"])
def test_ptxas_prints_its_version_and_writes_its_output(tmp_path, option):
    output = tmp_path / "a.cubin"
    with environment(prepare()) as simulation:

        def ptxas(*arguments):
            return subprocess.run(
                ["ptxas", *arguments], env=simulation.environment, capture_output=True, text=True, check=True
            )

        assert "release 12.5, V12.5.0" in ptxas("--version").stdout
        ptxas("a.ptx", *option.format(output).split(), "-arch=sm_86", "-v")
    assert output.read_text() == "simulated by tfgpu-doctor"


def test_the_users_own_flags_come_after_ours():
    with environment(
        prepare(), base={"XLA_FLAGS": "--xla_dump_to=/tmp/x", "PATH": "/usr/bin:/bin"}
    ) as simulation:
        assert simulation.environment["XLA_FLAGS"].split() == [
            f"--xla_gpu_cuda_data_dir={simulation.folder}/toolkit",
            "--xla_dump_to=/tmp/x",
        ]


def test_the_fault_hides_every_ptxas():
    with environment(prepare(faults=["no-ptxas"])) as simulation:
        done = subprocess.run(
            ["sh", "-c", "command -v ptxas; ls /usr/local/cuda"],
            env=simulation.environment,
            capture_output=True,
            check=False,
        )
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("release", "target", "compiles"),
    [
        ("12.5", "sm_120a", False),
        ("12.9", "sm_120a", True),
        ("12.5", "sm_90a", True),
        ("12.7", "sm_100a", False),
    ],
)
def test_ptxas_refuses_the_gpus_that_came_after_its_cuda(tmp_path, release, target, compiles):
    """The messages are those of ptxas 12.5.82. ptxas 12.9.86 compiles the code that XLA in TensorFlow 2.21.0
    makes for compute capability 12.0."""
    write_toolkit(tmp_path / "cuda", release)
    command = [tmp_path / "cuda/bin/ptxas", "a.ptx", f"-arch={target}", "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is compiles
    assert (
        compiles or done.stderr == f"ptxas fatal   : Value '{target}' is not defined for option 'gpu-name'\n"
    )


def test_a_new_gpu_gets_a_driver_that_knows_it():
    assert prepare(gpus=["RTX 5090"]).machine.driver == "570.26"
    assert prepare(gpus=["RTX 3070"]).machine.driver == "550.54.14"
    with pytest.raises(CallError, match=r"570\.26 is the first"):
        prepare(gpus=["RTX 5090", "RTX 3070"], driver="550.54.14")
