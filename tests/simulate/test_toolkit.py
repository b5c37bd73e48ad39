"""The stand-in for a CUDA toolkit, as XLA calls it."""

from __future__ import annotations

import subprocess

import pytest

from doctor.simulate import environment, prepare


@pytest.mark.parametrize("option", ["-o {}", "--output-file={}"])
def test_ptxas_tells_its_version_and_writes_its_output(tmp_path, option):
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
    with environment(prepare(), base={"XLA_FLAGS": "--xla_dump_to=/tmp/x", "PATH": "/usr/bin:/bin"}) as simulation:
        assert simulation.environment["XLA_FLAGS"].split() == [
            f"--xla_gpu_cuda_data_dir={simulation.folder}/toolkit",
            "--xla_dump_to=/tmp/x",
        ]


def test_without_ptxas_there_is_none_to_be_found():
    with environment(prepare(faults=["no-ptxas"])) as simulation:
        done = subprocess.run(
            ["sh", "-c", "command -v ptxas; ls /usr/local/cuda"],
            env=simulation.environment,
            capture_output=True,
            check=False,
        )
    assert done.stdout == b""
