"""The Python interface of tfgpu-doctor, for web pages, notebooks, assistants, and tools that watch many
machines. The commands use it too.

    >>> from doctor import api
    >>> report = api.explain("Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0:"
    ...                      " cannot open shared object file: No such file or directory")
    >>> report.verdict.code, report.verdict.severity
    ('cuda-missing', 'error')
    >>> report.to_dict()["facts"]["missing_libraries"]["value"]
    ['libcudart.so.11.0']
    >>> print(report.render("markdown").splitlines()[0])
    **Likely cause: The CUDA libraries that this TensorFlow loads are not on this machine** (`cuda-missing`)

A call prints nothing, never exits the calling process, installs no signal handlers, leaves no thread behind
and writes no file. Calls may be repeated, and several threads may make calls at the same time. A failure
raises an error of `doctor.errors`: UsageError (the call is wrong), InputError (an input cannot be read),
UnableError (the call is not possible on this machine), DefectError (the tool itself failed, so there is no
verdict).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from doctor import lazy
from doctor.values import dataclass

if TYPE_CHECKING:
    from doctor.api.plans import PlanReport as PlanReport
    from doctor.facts import Facts
    from doctor.findings import Diagnosis, Finding

__all__ = ["PlanReport", "Report", "check", "diagnosed", "explain", "plan"]

FORMATS = ("text", "markdown", "html")
PLATFORMS = ("linux", "windows", "wsl", "macos")


@dataclass(frozen=True, slots=True)
class Report:
    """The diagnosis of one machine, or of one pasted report.

    `findings` and the rest of `diagnosis` contain the original paths, user names and host names. `to_dict`
    and `render` redact names, paths and secrets. times: pairs of a probe's name and the seconds that it took;
    empty for a pasted report.
    """

    diagnosis: Diagnosis
    times: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"<Report: {', '.join(finding.code for finding in self.findings)}>"

    @property
    def verdict(self) -> Finding:
        """The finding that a person should act on first; it is `healthy`, `benign-messages` or `undetermined`
        if there is nothing to act on."""
        return self.diagnosis.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order in which a person should act; never empty."""
        return self.diagnosis.findings

    def to_dict(self) -> dict[str, Any]:
        """Return the plain data that `--format json` prints (schema 1, doctor/render/schema.json)."""
        from doctor.render.document import document
        from doctor.render.sharing import shared
        from doctor.tables import Tables

        return document(shared(self.diagnosis), Tables.bundled())

    def render(self, form: str = "text", *, width: int = 80, colour: bool = False, verbose: int = 0) -> str:
        """Return the report for a person, as "text", "markdown" or "html" (a whole page).

        For text, `width` is the number of columns, `colour` adds terminal escapes, and `verbose=1` shows
        where each fact came from. Raises UsageError for any other form.
        """
        from doctor.render import Options, around, rendered

        known_format(form)
        options = Options(form, colour, width, verbose, shared=True)
        before, _, after = around(options)
        return before + rendered(self.diagnosis, options) + after

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the report in the formats that a notebook can show."""
        from doctor.render import Options, rendered

        # only the article, because the styles in HEAD are for a whole page
        article = rendered(self.diagnosis, Options("html"))
        return {"text/plain": self.render(), "text/markdown": self.render("markdown"), "text/html": article}


def known_format(form: str) -> None:
    """Raise UsageError if there is no such format for people."""
    if form not in FORMATS:
        from doctor.errors import UsageError

        raise UsageError(f"there is no format {form!r}", f"choose one of {', '.join(FORMATS)}")


def diagnosed(facts: Facts) -> Report:
    """Diagnose facts that were read earlier. Raises DefectError if a rule fails."""
    from doctor.diagnose import diagnose
    from doctor.tables import Tables

    return Report(diagnose(facts, Tables.bundled()))


def explain(
    report: str | bytes | IO[bytes],
    name: str = "-",
    *,
    platform: str | None = None,
    progress: Callable[[int], None] | None = None,
    processes: bool = False,
) -> Report:
    """Diagnose one pasted report: a log, a traceback, pip or nvidia-smi output, the text of an issue, or any
    mix of these.

    report: its text, its bytes in any encoding, or a stream of bytes, which is read in constant memory. name:
    the name of the report in the evidence. platform: linux, windows, wsl or macos, used if the report does
    not show its platform. progress: called while a large report is read, with the number of bytes read since
    the last call. processes: allow several processes to read a large file. Raises UsageError for an unknown
    platform, InputError if the report is empty or is not text, DefectError if a rule fails.
    """
    from io import BytesIO

    from doctor.errors import InputError, UsageError
    from doctor.facts import Platform, Source
    from doctor.logs import NotText, read_stream

    if platform not in (None, *PLATFORMS):
        raise UsageError(f"there is no platform {platform!r}", f"choose one of {', '.join(PLATFORMS)}")
    if isinstance(report, str):
        report = report.encode("utf-8", "surrogatepass")
    try:
        facts = read_stream(
            BytesIO(report) if isinstance(report, bytes) else report, name, progress, processes=processes
        )
    except NotText as error:
        raise InputError(f"cannot read `{name}`: {error}") from error
    if platform is not None and not facts.of(Platform):
        facts = facts.plus([Platform(Source("platform given by the caller", None, platform), platform)])
    return diagnosed(facts)


def check(
    python: str | None = None,
    root: str | None = None,
    deep: bool = False,
    *,
    record: str | None = None,
    limit: float = 300.0,
    tell: Callable[[str], None] | None = None,
    printed: str = "",
) -> Report:
    """Diagnose this machine and a Python environment on it, or the files of another machine.

    python: an interpreter or an environment's folder; by default the first of VIRTUAL_ENV, CONDA_PREFIX,
    `python3` and `python` on PATH, and the running interpreter. root: a folder to read instead of `/`;
    nothing in it is run or loaded. deep: also start TensorFlow in a separate process, for `limit` seconds at
    most, and use each GPU. record: read this file, written by `check --save`, instead of examining this
    machine. tell: called with a message before each slow step. printed: what TensorFlow printed when it ran
    on the machine. Raises UsageError if options exclude each other, InputError if a path or a record cannot
    be read, UnableError if no Python was found to start TensorFlow with, DefectError if a rule fails.
    """
    from doctor.api.checks import checked

    return checked(python, root, deep, record=record, limit=limit, tell=tell, printed=printed)


def plan(
    *,
    tensorflow: str = "",
    python: str | None = None,
    cuda: str | None = None,
    cudnn: str | None = None,
    cpu: bool = False,
    os: str | None = None,
    gpu: str | Sequence[str] = (),
    driver: str | None = None,
    machine: str | None = None,
    requirements: str | Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
) -> PlanReport:
    """Find which versions of TensorFlow, Python, CUDA, cuDNN and the driver work together, using only the
    tables.

    The parameters are the options of `tfgpu-doctor plan`. The request: tensorflow ("2.15", ">=2.16,<2.19",
    "latest"), python ("3.12"), cuda and cudnn (installed versions that must be used), cpu (no CUDA),
    requirements (files; each of their lines is judged), texts (a mapping from file name to content; files
    that they include are not read). The machine: os ("Ubuntu 24.04"), gpu (names, PCI ids or compute
    capabilities; "none"), driver ("535.183.01"), or machine (a file with the JSON that `check` printed on
    that machine); by default this machine. Raises UsageError if parameters exclude each other or refer to
    something that does not exist, InputError if a file cannot be read.

    >>> found = plan(tensorflow="2.15", os="Ubuntu 22.04", gpu="Tesla T4", driver="535.183.01")
    >>> found.plans[0].tensorflow, found.plans[0].cuda
    ('2.15.1', '12.2')
    """
    from doctor.api.plans import PlanReport
    from doctor.plan.request import Request, answered

    request = Request(
        tensorflow, python, cuda, cudnn, cpu, os,
        (gpu,) if isinstance(gpu, str) else tuple(gpu), driver, machine,
        (requirements,) if isinstance(requirements, str) else tuple(requirements),
    )  # fmt: skip
    return PlanReport(answered(request, texts))


__getattr__ = lazy.names(__name__, {"PlanReport": "plans"})
