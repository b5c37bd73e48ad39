"""The steps for CUDA_VISIBLE_DEVICES: they make GPUs visible, or make the numbers mean the right card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doctor import lazy
from doctor.facts import EnvVar
from doctor.findings import Step, manual, shell
from doctor.shell import Export, Literal, run

if TYPE_CHECKING:
    from doctor.case import Case

_FILE = lazy.compile(r"(?<![\w.-])[A-Za-z_][\w-]{0,60}\.(?:py|sh|ipynb|ya?ml|json|cfg|ini|toml|conf)\b")
"""Matches the name of a program's file, in letters that need no quoting."""
_IN_CODE = lazy.compile(r"\bos\.environ|\bputenv")
_IN_SHELL = lazy.compile(
    r"\b(?:set|export|setenv)\s+\w{0,12}VISIBLE_DEVICES"
    r"|VISIBLE_DEVICES=\S{0,40}\s+(?:&|\S{0,40}python|\./|bash|sh )"
)
"""Matches a shell's command that sets the variable, for itself or for one program."""


def visible(case: Case, variable: EnvVar | None = None) -> Sequence[Step]:
    """Steps that make all GPUs visible, or those that Slurm gives the job. variable: the one that hides the
    GPUs, if the report shows it."""
    if "slurm" in case.environments:
        return in_slurm()
    windows = case.platform == "windows"
    unset = Literal("set CUDA_VISIBLE_DEVICES=") if windows else Literal("unset CUDA_VISIBLE_DEVICES")
    name = variable.name if variable is not None else "CUDA_VISIBLE_DEVICES"
    numbers = "nvidia-smi -L lists the numbers; the first GPU has the number 0"
    text = variable.source.text if variable is not None and case.facts.kind == "report" else ""
    file = _FILE.search(text)
    if _IN_CODE.search(text) or (file and not _IN_SHELL.search(text)):
        where = file[0] if file else "the code"
        return [
            manual(
                f"In {where}, remove the line that sets {name}, or change its value to the number of a GPU;"
                " then start the program again",
                f"{numbers}; it does not help to change the variable in the shell, because the program sets"
                " it again",
            )
        ]
    if variable is None:
        return [
            shell(run("nvidia-smi", "-L"), "lists the GPUs with their numbers"),
            manual(
                "Search the program's code, configuration and command line for the number of a GPU"
                " (CUDA_VISIBLE_DEVICES, gpu_id, gpus, --gpu), and change it to a number in that list: 0 for"
                " the only GPU",
                "CUDA ignores a number that no GPU has, and then shows no GPU",
            ),
            shell(unset, "if the shell sets the variable: makes all GPUs visible again"),
        ]
    return [
        shell(unset, "makes all GPUs visible again"),
        manual(
            f"Remove the line that sets {name} in the code, a notebook, a job script or a start file such as"
            " ~/.bashrc, and start the program"
            " again: CUDA reads the variable only once"
        ),
    ]


def in_slurm() -> list[Step]:
    """Steps for a job in which Slurm leaves CUDA_VISIBLE_DEVICES empty. Slurm decides which GPUs the job may
    use, so no step unsets the variable: without it the job could use the GPUs of other jobs."""
    return [
        shell(
            Literal("scontrol show job -d $SLURM_JOB_ID"),
            "in the job: shows whether Slurm gave the job a GPU (a line with GRES=gpu)",
            platform="linux",
        ),
        shell(
            run("srun", "--gres=gpu:1", "nvidia-smi", "-L"),
            "in the job: must list a GPU; start the program in the same way, in a job step that requests a"
            " GPU",
            platform="linux",
        ),
        manual("If the program or the job's script sets CUDA_VISIBLE_DEVICES, remove that line"),
    ]


def numbering(case: Case) -> list[Step]:
    """Steps after which the numbers in CUDA_VISIBLE_DEVICES are nvidia-smi's. Without CUDA_DEVICE_ORDER, CUDA
    counts the cards from the fastest on, and nvidia-smi in the order of the PCI bus (CUDA Programming Guide,
    "CUDA Environment Variables"), so a number can mean another card."""
    return [
        shell(
            Export("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
            "set this before the program starts: CUDA_VISIBLE_DEVICES then uses nvidia-smi's numbers (without"
            " it, CUDA counts the cards from the fastest on, and a number can mean another card)",
        ),
        manual(
            "Or write the names from `nvidia-smi -L` into CUDA_VISIBLE_DEVICES (GPU-...), which do not depend"
            " on any order. In the program, use /gpu:0 for the first visible card: TensorFlow numbers only"
            " the visible cards, from 0"
        ),
    ]
