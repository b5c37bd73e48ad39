"""Tests environment variables that a file sets for only one way of launching programs (a shell, a service, a
notebook kernel ...): programs launched that way work, and programs launched any other way lack something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.facts import Absent, EnvVar
from tests.probe.machines import Folder
from tests.probe.test_verdicts import codes, libraries_from_conda
from tests.sampling import sampled

HOME = "/home/ann"
VENV = f"{HOME}/venv"
TOOLKIT = "/apps/cuda-11.2/lib64:/apps/cudnn/lib"
EXPORT = f"export LD_LIBRARY_PATH={TOOLKIT}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n"


def from_files(machine: Folder) -> Folder:
    """The machine as only its files show it, without the variables of any process."""
    machine.record["env"] = {}
    return machine


def venv(machine: Folder, *, cuda: bool = True) -> Folder:
    """TensorFlow 2.10 in a user's environment, and CUDA 11.2 and cuDNN 8.1 in folders that the loader does
    not search by default."""
    machine.gpu().driver().python("3.10", VENV).tensorflow("2.10.0").write(
        f"{VENV}/bin/activate", "VIRTUAL_ENV=/x\n"
    )
    if cuda:
        machine.toolkit("11.2", "/apps/cuda-11.2").cudnn("8.1.1", "/apps/cudnn/lib")
    return from_files(machine)


def conda(machine: Folder) -> Folder:
    """TensorFlow from pip with CUDA from conda. The loader does not find CUDA, because TensorFlow has a
    RUNPATH."""
    return from_files(libraries_from_conda(machine.gpu().driver().conda("3.11").tensorflow("2.15.1")))


def unit(machine: Folder, text: str) -> Folder:
    return machine.write(
        "/etc/systemd/system/train.service", f"[Service]\nExecStart={VENV}/bin/python /srv/train.py\n{text}\n"
    )


def kernel(machine: Folder, env: dict[str, str], name: str = "gpu") -> Folder:
    spec = {"argv": [f"{VENV}/bin/python", "-m", "ipykernel_launcher"], "display_name": name, "env": env}
    return machine.write(f"{HOME}/.local/share/jupyter/kernels/{name}/kernel.json", json.dumps(spec))


def lua(machine: Folder) -> Folder:
    """Lmod modules that EasyBuild made."""
    root = "/apps/easybuild/modules/all"
    machine.write(
        f"{root}/CUDA/11.2.lua",
        'help([==[CUDA]==])\nlocal root = "/apps/cuda-11.2"\nconflict("CUDA")\nprepend_path("PATH",'
        ' pathJoin(root, "bin"))\nprepend_path("LD_LIBRARY_PATH", pathJoin(root,'
        ' "lib64"))\nsetenv("EBROOTCUDA", root)\n',
    )
    return machine.write(
        f"{root}/cuDNN/8.1.1-CUDA-11.2.lua",
        'local root = "/apps/cudnn"\ndepends_on("CUDA/11.2")\nprepend_path("LD_LIBRARY_PATH", root ..'
        ' "/lib")\n',
    )


def tcl(machine: Folder) -> Folder:
    """Modulefiles in the form of Environment Modules."""
    root = "/usr/share/modules/modulefiles"
    machine.write(
        f"{root}/cuda/11.2",
        "#%Module1.0\nset root /apps/cuda-11.2\nsetenv CUDA_HOME $root\nprepend-path PATH $root/bin\n"
        "prepend-path LD_LIBRARY_PATH $root/lib64\n",
    )
    return machine.write(
        f"{root}/cudnn/8.1", "#%Module1.0\nset base /apps\nprepend-path LD_LIBRARY_PATH ${base}/cudnn/lib\n"
    )


def spack(machine: Folder) -> Folder:
    """Modules that Spack made, below a folder with the name of a platform, in a folder that one of Lmod's
    files lists."""
    root = "/data/spack/share/spack/modules/linux-ubuntu22.04-zen3"
    machine.write("/etc/lmod/modulespath", f"# folders\n{root}\n")
    machine.write(
        f"{root}/cuda/11.2.0-gcc-11.4.0-abc",
        "#%Module1.0\nprepend-path LD_LIBRARY_PATH {/apps/cuda-11.2/lib64}\n",
    )
    return machine.write(
        f"{root}/cudnn/8.1.1-gcc-11.4.0-def",
        '#%Module1.0\nprepend-path --delim ":" LD_LIBRARY_PATH "/apps/cudnn/lib"\n',
    )


GUIDE = (
    'CUDNN_PATH=$(dirname $(python -c "import nvidia.cudnn;print(nvidia.cudnn.__file__)"))\n'
    "for d in $(dirname $CUDNN_PATH)/*; do :; done\n"
    "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib/:$CUDNN_PATH/lib:$LD_LIBRARY_PATH\n"
)
LOOP = (
    'NVIDIA=$(python -c "import nvidia; print(nvidia.__path__[0])")\nfor dir in $NVIDIA/*; do\n  if [ -d'
    ' "$dir/lib" ]; then\n    export LD_LIBRARY_PATH="$dir/lib:$LD_LIBRARY_PATH"\n  fi\ndone\n'
)


NESTED = LOOP.replace(
    '$(python -c "import nvidia; print(nvidia.__path__[0])")',
    '$(dirname $(dirname $(python -c "import nvidia.cudnn; print(nvidia.cudnn.__file__)")))',
)


def wheels_not_searched(machine: Folder, script: str = LOOP) -> Folder:
    """TensorFlow 2.16.1, which does not search pip's library folders, in an environment whose activate script
    puts these on the search path."""
    machine.gpu().driver().python("3.11", VENV).tensorflow("2.16.1").cuda_wheels("12.2").cudnn_wheel(
        "8.9.7.29"
    )
    return from_files(machine.write(f"{VENV}/bin/activate", script))


HEALTHY: dict[str, tuple[str, Callable[[Folder], Folder]]] = {
    "conda's activate.d": (
        "warning",
        lambda m: conda(m).write(
            "/opt/conda/etc/conda/activate.d/env.sh", "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib\n"
        ),
    ),
    "conda's activate.d as TensorFlow's guide had it": (
        "warning",
        lambda m: conda(m).write("/opt/conda/etc/conda/activate.d/env.sh", GUIDE),
    ),
    "conda's own variables": (
        "warning",
        lambda m: conda(m).write(
            "/opt/conda/conda-meta/state", json.dumps({"env_vars": {"LD_LIBRARY_PATH": "/opt/conda/lib"}})
        ),
    ),
    "the activate of a venv": ("warning", wheels_not_searched),
    "the activate of a venv with commands in commands": ("warning", lambda m: wheels_not_searched(m, NESTED)),
    "/etc/environment": (
        "info",
        lambda m: venv(m).write("/etc/environment", f'PATH="/usr/bin"\nLD_LIBRARY_PATH="{TOOLKIT}"\n'),
    ),
    "profile.d": ("info", lambda m: venv(m).write("/etc/profile.d/cuda.sh", EXPORT)),
    "a person's .bashrc": (
        "info",
        lambda m: venv(m).write(f"{HOME}/.bashrc", f'[ -z "$PS1" ] && return\n{EXPORT}'),
    ),
    "a file that .bashrc reads": (
        "info",
        lambda m: (
            venv(m)
            .write(f"{HOME}/.bashrc", "if [ -f ~/.cuda ]; then . ~/.cuda; fi\n")
            .write(f"{HOME}/.cuda", EXPORT)
        ),
    ),
    "a person's .zshrc": (
        "info",
        lambda m: (
            venv(m)
            .write(f"{HOME}/.zshrc", EXPORT)
            .write("/etc/passwd", f"ann:x:1000:1000::{HOME}:/usr/bin/zsh\n")
        ),
    ),
    "a person's config.fish": (
        "info",
        lambda m: venv(m).write(
            f"{HOME}/.config/fish/config.fish",
            f"set -gx LD_LIBRARY_PATH {TOOLKIT.replace(':', ' ')} $LD_LIBRARY_PATH\n",
        ),
    ),
    "a person's .cshrc": (
        "info",
        lambda m: venv(m).write(f"{HOME}/.cshrc", f"setenv LD_LIBRARY_PATH {TOOLKIT}\n"),
    ),
    "a service's unit": (
        "warning",
        lambda m: unit(venv(m), f'Environment="LD_LIBRARY_PATH={TOOLKIT}" TF_CPP_MIN_LOG_LEVEL=1'),
    ),
    "a service's file of variables": (
        "warning",
        lambda m: unit(venv(m), "EnvironmentFile=-/etc/default/train").write(
            "/etc/default/train", f"LD_LIBRARY_PATH={TOOLKIT}\n"
        ),
    ),
    "a service's drop-in": (
        "warning",
        lambda m: unit(venv(m), "").write(
            "/etc/systemd/system/train.service.d/override.conf",
            f"[Service]\nEnvironment=LD_LIBRARY_PATH={TOOLKIT}\n",
        ),
    ),
    "a notebook's kernel": ("warning", lambda m: kernel(venv(m), {"LD_LIBRARY_PATH": TOOLKIT})),
    "a kernel for the CPU beside one for the GPU": (
        "warning",
        lambda m: kernel(
            kernel(venv(m), {"LD_LIBRARY_PATH": TOOLKIT}), {"CUDA_VISIBLE_DEVICES": "-1"}, "cpu"
        ),
    ),
    "a container's first process": (
        "info",
        lambda m: (
            venv(m)
            .write("/.dockerenv", "")
            .write("/proc/1/environ", f"PATH={VENV}/bin:/usr/bin\0LD_LIBRARY_PATH={TOOLKIT}\0")
        ),
    ),
    "Apptainer's start files": (
        "info",
        lambda m: venv(m).write(
            "/.singularity.d/env/10-docker2singularity.sh",
            f'export LD_LIBRARY_PATH="${{LD_LIBRARY_PATH:-"{TOOLKIT}"}}"\n',
        ),
    ),
    "a run configuration of VS Code": (
        "warning",
        lambda m: venv(m).write(
            f"{HOME}/work/.vscode/launch.json",
            json.dumps(
                {
                    "configurations": [
                        {
                            "python": f"{VENV}/bin/python",
                            "env": {"LD_LIBRARY_PATH": f"{TOOLKIT}:${{env:LD_LIBRARY_PATH}}"},
                        }
                    ]
                }
            ),
        ),
    ),
    "a run configuration of PyCharm": (
        "warning",
        lambda m: venv(m).write(
            f"{HOME}/work/.idea/workspace.xml",
            f'<option name="SDK_HOME" value="{VENV}/bin/python" /><envs><env name="LD_LIBRARY_PATH"'
            f' value="{TOOLKIT}" /></envs>',
        ),
    ),
    "modules in a job": (
        "warning",
        lambda m: lua(venv(m)).write(
            f"{HOME}/train.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\nmodule load cuDNN\npython train.py\n"
        ),
    ),
    "modules in .bashrc": (
        "info",
        lambda m: tcl(venv(m)).write(f"{HOME}/.bashrc", "module load cuda/11.2 cudnn\n"),
    ),
}


@pytest.mark.parametrize("name", sampled(HEALTHY, 8))
def test_a_machine_is_healthy_if_a_start_file_sets_the_needed_variables(name: str, tmp_path: Path) -> None:
    worst, make = HEALTHY[name]
    diagnosis = make(Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "healthy", (codes(diagnosis), diagnosis.verdict.explanation)
    assert diagnosis.worst == worst
    if worst == "warning":
        assert "started in another way" in diagnosis.verdict.explanation
        assert diagnosis.verdict.prescription


FAULTS: dict[str, tuple[str, str, Callable[[Folder], Folder]]] = {
    "modules of EasyBuild that nobody loads": (
        "library-path",
        "module load CUDA/11.2 cuDNN/8.1.1-CUDA-11.2",
        lambda m: lua(venv(m)),
    ),
    "modules of Tcl that nobody loads": (
        "library-path",
        "module load cuda/11.2 cudnn/8.1",
        lambda m: tcl(venv(m)),
    ),
    "modules of Spack that nobody loads": (
        "library-path",
        "module load cuda/11.2.0",
        lambda m: spack(venv(m)),
    ),
    "a job that loads nothing": (
        "library-path",
        "above the one that starts the program: module load",
        lambda m: lua(venv(m)).write(
            f"{HOME}/train.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\npython train.py\n"
        ),
    ),
    "software of EasyBuild without modules": (
        "library-path",
        'export LD_LIBRARY_PATH="/apps/software/CUDA/11.2.2/lib64:/apps/software/cuDNN/8.1.1/lib64$',
        lambda m: (
            venv(m, cuda=False)
            .toolkit("11.2", "/apps/software/CUDA/11.2.2")
            .cudnn("8.1.1", "/apps/software/cuDNN/8.1.1/lib64")
        ),
    ),
    "a service without the path that activation sets": (
        "library-path",
        "below [Service], add Environment=",
        lambda m: unit(venv(m), "User=ann").write(f"{VENV}/bin/activate", EXPORT),
    ),
    "a shell in which conda's environment is not activated": (
        "library-path",
        "conda activate /opt/conda",
        lambda m: (
            conda(m)
            .write("/opt/conda/etc/conda/activate.d/env.sh", "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib\n")
            .env(PATH="/opt/conda/bin")
        ),
    ),
    "a login that has not the container's variables": (
        "library-path",
        "first process",
        lambda m: venv(m).write("/proc/1/environ", f"LD_LIBRARY_PATH={TOOLKIT}\0").env(VIRTUAL_ENV=VENV),
    ),
    "modules of another CUDA": (
        "cuda-version-mismatch",
        "",
        lambda m: (
            venv(m, cuda=False)
            .toolkit("10.1", "/apps/cuda-10.1")
            .write(
                "/usr/share/modules/modulefiles/cuda/10.1",
                "#%Module1.0\nprepend-path LD_LIBRARY_PATH /apps/cuda-10.1/lib64\n",
            )
        ),
    ),
    "no CUDA anywhere": ("cuda-missing", "", lambda m: venv(m, cuda=False)),
    "hidden in /etc/environment": (
        "gpu-hidden",
        "/etc/environment",
        lambda m: venv(m).write("/etc/environment", f"LD_LIBRARY_PATH={TOOLKIT}\nCUDA_VISIBLE_DEVICES=-1\n"),
    ),
    "hidden in a kernel": (
        "gpu-hidden",
        "kernel.json",
        lambda m: kernel(venv(m), {"LD_LIBRARY_PATH": TOOLKIT, "CUDA_VISIBLE_DEVICES": "-1"}),
    ),
    "hidden in a run configuration": (
        "gpu-hidden",
        "launch.json",
        lambda m: (
            venv(m)
            .write("/etc/environment", f"LD_LIBRARY_PATH={TOOLKIT}")
            .write(
                f"{HOME}/work/.vscode/launch.json",
                json.dumps(
                    {
                        "configurations": [
                            {"python": f"{VENV}/bin/python", "env": {"CUDA_VISIBLE_DEVICES": ""}}
                        ]
                    }
                ),
            )
        ),
    ),
    "hidden in a service": (
        "gpu-hidden",
        "train.service",
        lambda m: unit(venv(m), f"Environment=LD_LIBRARY_PATH={TOOLKIT} CUDA_VISIBLE_DEVICES="),
    ),
    "hidden by conda's variables": (
        "gpu-hidden",
        "conda-meta/state",
        lambda m: conda(m).write(
            "/opt/conda/conda-meta/state",
            json.dumps({"env_vars": {"LD_LIBRARY_PATH": "/opt/conda/lib", "CUDA_VISIBLE_DEVICES": ""}}),
        ),
    ),
}


@pytest.mark.parametrize("name", sampled(FAULTS, 6))
def test_what_a_way_of_starting_lacks_is_reported_with_its_file(name: str, tmp_path: Path) -> None:
    code, word, make = FAULTS[name]
    diagnosis = make(Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == code, (codes(diagnosis), diagnosis.verdict.explanation)
    texts = [step.text for step in diagnosis.verdict.prescription]
    assert any(word in text for text in texts), texts


def test_libraries_in_the_folders_of_modules_are_not_reported_as_absent(tmp_path: Path) -> None:
    facts = tcl(venv(Folder(tmp_path / "machine"))).facts()
    assert {"cuda", "cudnn"}.isdisjoint(fact.what for fact in facts.of(Absent))


def test_a_variable_names_the_file_and_line_that_set_it(tmp_path: Path) -> None:
    machine = venv(Folder(tmp_path / "machine")).write(
        "/etc/environment", f"A=b\nLD_LIBRARY_PATH={TOOLKIT}\n"
    )
    known = {fact.name: fact.source for fact in machine.facts().of(EnvVar)}
    assert str(known["LD_LIBRARY_PATH"]) == "/etc/environment:2"
