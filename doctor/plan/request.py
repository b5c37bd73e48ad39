"""Makes the plans for a request, which consists of options and file names. Every caller uses this module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doctor.errors import InputError, UsageError
from doctor.facts import Facts
from doctor.plan import Outcome, PlanContext, VersionRequest, make_plans
from doctor.tables import Tables

if TYPE_CHECKING:
    from doctor.plan.requested import IncludedFile

NO_GPU = "none"
"""The value for --gpu that means that the machine has no GPU."""


class Request(NamedTuple):
    """The options of `plan`; "" and None mean "not given".

    gpu: names, PCI ids or compute capabilities; each entry may contain several, separated by commas. machine:
    a file with the JSON output of `check`. requirements: files.
    """

    tensorflow: str = ""
    python: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    cpu: bool = False
    os: str | None = None
    gpu: tuple[str, ...] = ()
    driver: str | None = None
    machine: str | None = None
    requirements: tuple[str, ...] = ()

    @property
    def gpus(self) -> list[str]:
        """The requested GPUs as separate items."""
        names = [name.strip() for given in self.gpu for name in given.split(",") if name.strip()]
        return [NO_GPU if name.lower() == NO_GPU else name for name in names]

    @property
    def is_here(self) -> bool:
        """Whether the request is for this machine, which then has to be examined."""
        return not (self.machine or self.os or self.driver or any(name != NO_GPU for name in self.gpus))


def answered(request: Request, texts: Mapping[str, str] | None = None) -> Outcome:
    """Make the plans for a request. texts: further files, as text by name; files that these include are not
    read.

    Raises UsageError and InputError.
    """
    context = requested_context(request)
    read = {name: read_text(name) for name in request.requirements}
    if not read and not texts:
        return make_plans(context)
    from doctor.plan.files import judged_files

    return judged_files(
        context, {**read, **(texts or {})}, {name: included(name, text) for name, text in read.items()}
    )


def requested_context(request: Request) -> PlanContext:
    """Make the context for a request: the machine and the requested versions. Raises UsageError and
    InputError."""
    tables = Tables.bundled()
    version_request = checked_versions(request, tables)
    return PlanContext(machine_facts(request, tables), tables, version_request)


def checked_versions(request: Request, tables: Tables) -> VersionRequest:
    """Check the requested versions and return them. Raises UsageError."""
    from doctor.plan.described import described
    from doctor.plan.version_request import check

    python, cuda, cudnn = request.python, request.cuda, request.cudnn
    for_cpu = request.cpu or request.gpus == [NO_GPU]
    if for_cpu and (cuda or cudnn):
        raise UsageError("--cuda and --cudnn are for plans with a GPU; this plan is for the CPU")
    version_request = VersionRequest(request.tensorflow, python, cuda, cudnn, cpu=for_cpu)
    described(tables, python=python, cuda=cuda, cudnn=cudnn)  # raises UsageError if one is not a version
    if python and "." not in python:
        raise UsageError(f"--python {python}: the minor version is missing", "for example: --python 3.12")
    check(version_request, tables)
    _check_cuda(cuda, cudnn, tables)
    return version_request


def _check_cuda(cuda: str | None, cudnn: str | None, tables: Tables) -> None:
    """Raise UsageError, with the known versions, for a CUDA release or a cuDNN major version that the tables
    lack."""
    from doctor.tables.ordering import nearest

    toolkits = [toolkit.cuda for toolkit in tables.toolkits()]
    if cuda and tables.toolkit(cuda) is None:
        raise UsageError(
            f"the tables from {tables.date} do not contain CUDA {cuda}; the newest release is {toolkits[-1]}",
            f"the nearest releases are {', '.join(nearest(cuda, toolkits))}",
        )
    majors = sorted(
        {
            number.split(".")[0]
            for number in (
                *(row.version for row in tables.cudnns()),
                *(raw["cudnn"] for raw in tables.store.all("tensorflow") if raw["cudnn"]),
            )
        },
        key=int,
    )
    if cudnn and cudnn.lstrip("v").split(".")[0] not in majors:
        raise UsageError(
            f"the tables from {tables.date} do not contain cuDNN {cudnn}",
            f"they contain cuDNN {', '.join(majors)}",
        )


def machine_facts(request: Request, tables: Tables) -> Facts:
    """Return the facts about the machine: the one that the options describe, the one that a file describes,
    or this machine. Raises UsageError and InputError."""
    from doctor.plan.described import described, machine_file
    from doctor.probe import Machine, examine

    gpus = request.gpus
    if NO_GPU in gpus and len(gpus) > 1:
        raise UsageError("--gpu none cannot be combined with another GPU")
    named = [name for name in gpus if name != NO_GPU]
    if request.is_here:
        return examine(Machine.here(), None, tables)
    if request.machine is None:
        return described(tables, os=request.os, gpu=named, driver=request.driver)
    if request.os or request.driver or named:
        raise UsageError("--machine cannot be combined with --os, --gpu or --driver: the file states them")
    return machine_file(request.machine, tables)


INCLUDED_LIMIT = 50
"""The maximum number of files that a requirement file may include, directly or indirectly."""
SIZE_LIMIT = 4 << 20
"""The maximum size, in bytes, of a requirement file together with all files that it includes."""


def included(name: str, text: str, changed: Mapping[str, str] | None = None) -> list[IncludedFile]:
    """Return the files that a file includes with -r and -c, directly or indirectly. As in pip, paths are
    relative to the file that contains them.

    URLs are not followed. A path in a Dockerfile is a path inside the image; the file with the same name in
    the Dockerfile's folder is read in its place, and the text is None if that file does not exist. changed:
    the new texts of files that differ from those on disk. Raises InputError.
    """
    from doctor.plan.requirements import read

    found: list[IncludedFile] = []
    known = {(os.path.realpath(name), False)}
    left = [(name, text, False)]
    size = len(text)
    while left:
        here, words, constrains = left.pop(0)
        wanted = read(words, here)
        built = [(service.dockerfile, False) for service in wanted.services if service.dockerfile]
        for more, only in (
            *((r, constrains) for r in wanted.includes),
            *((c, True) for c in wanted.constraints),
            *built,
        ):
            path = Path(here).parent / (Path(more).name if wanted.image is not None else more)
            if "://" in more or (os.path.realpath(path), only) in known:
                continue
            if len(known) > INCLUDED_LIMIT:
                raise InputError(f"`{name}` includes more than {INCLUDED_LIMIT} files")
            known.add((os.path.realpath(path), only))
            if (wanted.image is not None or wanted.services) and not path.exists():
                found.append((str(path), None, only))
                continue
            try:
                if not path.is_file():
                    raise InputError(
                        f"cannot read `{path}`:"
                        f" {'not a regular file' if path.exists() else 'No such file or directory'}"
                    )
                inner = (changed or {}).get(str(path)) or read_text(str(path), SIZE_LIMIT - size)
            except InputError as error:
                raise InputError(f"{error} (`{here}` includes it)") from error
            size += len(inner)
            found.append((str(path), inner, only))
            left.append((str(path), inner, only))
    return found


def read_text(name: str, limit: int = SIZE_LIMIT) -> str:
    """Read a requirement file. limit: its maximum size in bytes. Raises InputError."""
    try:
        with open(name, "rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise InputError(f"cannot read `{name}`: {error.strerror}") from error
    if len(data) > limit:
        raise InputError(
            f"`{name}` is not a requirement file: it is larger than {SIZE_LIMIT >> 20} MiB together with the"
            " files that it includes"
        )
    if b"\0" in data:
        raise InputError(f"`{name}` is not a requirement file: it contains binary data")
    return data.decode("utf-8", errors="replace")
