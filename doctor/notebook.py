"""tfgpu-doctor in a notebook: `%load_ext doctor.notebook`.

    %tfgpu       examine this kernel: its interpreter, environment variables, and TensorFlow's output
    %%tfgpu      explain a cell: its exception, and what TensorFlow's C++ code printed
    %tfgpu auto  from now on, explain each TensorFlow error once, below the cell in which it occurred
    %tfgpu off   stop these explanations

TensorFlow's C++ code writes to file descriptor 2. A kernel may show this output, drop it, or send it to the
server's terminal. While a cell is watched, the descriptor is a pipe. All output is passed on at once to its
original destination, and the descriptor is restored when the cell ends.
"""

from __future__ import annotations

import contextlib
import html
import os
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from doctor.captured import KEPT, Captured

if TYPE_CHECKING:
    from doctor.api import Report

COMPARED = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "XLA_FLAGS",
    "CONDA_PREFIX", "VIRTUAL_ENV", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "TF_USE_LEGACY_KERAS",
    "TF_XLA_FLAGS",
)  # fmt: skip
"""Environment variables that may be the reason why TensorFlow works in a shell but not in a kernel."""
OURS = (
    "tensorflow", "keras", "tf_keras", "tensorflow_probability", "tensorflow_hub", "tensorflow_text",
    "tensorflow_addons",
)  # fmt: skip
"""The packages whose errors are explained."""
SILENT = ("undetermined", "healthy", "benign-messages")
"""Codes of verdicts that `%tfgpu auto` does not show."""


class Watch:
    """The state of one kernel: whether its cells are watched, what TensorFlow has printed, and which errors
    have been explained."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.automatic = False
        self.printed = ""
        self._shown: set[tuple[str, str]] = set()
        self._capture: Captured | None = None
        self._inside = False
        self._asked: tuple[str, BaseException | None] | None = None

    def magic(self, line: str, cell: str | None = None) -> None:
        """Run the magic %tfgpu or %%tfgpu."""
        word = line.strip()
        if cell is not None:
            self._run(cell)
        elif word == "":
            from doctor import api

            _show(api.check(sys.executable, printed=self.printed), differences())
        elif word == "auto":
            self.automatic = True
            self._shown.clear()
        elif word == "off":
            self.automatic = False
        else:
            print(
                f"%tfgpu accepts `auto`, `off` or no argument, but not {word!r}. To explain one cell, put"
                " %%tfgpu into its first line."
            )

    def before_cell(self, *_: Any) -> None:
        """Start a capture if cells are watched. The kernel calls this function before each cell."""
        if self.automatic and not self._inside and self._capture is None:
            self._capture = _begun()

    def after_cell(self, result: Any = None) -> None:
        """Explain the cell if that was requested. The kernel calls this function after each cell. An error of
        this tool becomes one line, because the cell itself is all right."""
        if self._inside:
            return
        capture, self._capture = self._capture, None
        asked, self._asked = self._asked, None
        try:
            text = capture.stop() if capture is not None else ""
            text = asked[0] or text if asked is not None else text
            self._remember(text)
            if asked is not None:
                _show(*explained(text, asked[1]))
            elif self.automatic:
                self._automatic(
                    text, getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
                )
        except Exception as problem:
            if os.environ.get("TFGPU_DOCTOR_TRACEBACK"):
                raise
            from doctor.printable import say

            say(f"tfgpu-doctor could not explain this cell: {type(problem).__name__}")

    def _remember(self, text: str) -> None:
        if _of_tensorflow(text):
            self.printed = (self.printed + text)[-KEPT:]

    def _automatic(self, text: str, error: BaseException | None) -> None:
        error = error if error is not None and is_ours(error) else None
        text = text if _of_tensorflow(text) else ""
        if error is None and not text:
            return
        report, notes = explained(text, error)
        if report is None:
            return
        verdict = report.verdict
        key = (verdict.code, type(error).__name__)
        wanted = ("error",) if error is None else ("error", "warning")
        if (
            verdict.code in SILENT
            or verdict.severity not in wanted
            or verdict.confidence == "possible"
            or key in self._shown
        ):
            return
        self._shown.add(key)
        _show(report, notes)

    def _run(self, cell: str) -> None:
        """Run a cell. When it has ended, `after_cell` prints the explanation. Raises the exception of the
        cell."""
        own = None if self._capture is not None else _begun()
        names = ("showtraceback", "showsyntaxerror")
        before = {name: vars(self.shell)[name] for name in names if name in vars(self.shell)}
        for name in names:
            setattr(self.shell, name, lambda *_, **__: None)  # only the outer cell shows the traceback
        self._inside, text = True, ""
        try:
            result = self.shell.run_cell(cell)
        finally:
            self._inside = False
            for name in names:
                delattr(self.shell, name)
            vars(self.shell).update(before)
            text = own.stop() if own is not None else ""
        error = result.error_before_exec or result.error_in_exec
        self._asked = (text, error)
        if error is not None:
            raise error


def _begun() -> Captured | None:
    """Start a capture and return it. Return None if descriptor 2 is closed or no descriptor is free."""
    with contextlib.suppress(OSError):
        capture = Captured()
        capture.start()
        return capture
    return None


def is_ours(error: BaseException) -> bool:
    """Whether an exception, or one of the exceptions that caused it, comes from TensorFlow or Keras: one of
    their packages (OURS) defines its class, is in its traceback, or could not be imported."""
    from doctor.backports import removeprefix

    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if type(current).__module__.partition(".")[0] in OURS:
            return True
        missing = (getattr(current, "name", None) or "") if isinstance(current, ImportError) else ""
        if removeprefix(missing, "_").partition(".")[0] in OURS:
            return True
        frames = traceback.walk_tb(current.__traceback__)
        if any(str(frame.f_globals.get("__name__", "")).partition(".")[0] in OURS for frame, _ in frames):
            return True
        current = current.__cause__ or current.__context__
    return False


def _of_tensorflow(text: str) -> bool:
    """Whether the text contains records from TensorFlow's C++ log: the name of a C++ source file before a
    line number, or words that TensorFlow uses in messages about CUDA."""
    return any(
        sign in text for sign in (".cc:", "StreamExecutor", "libcud", "TF-TRT", "cuda_dnn", "tensorflow/")
    )


def explained(text: str, error: BaseException | None) -> tuple[Report | None, list[str]]:
    """Return the report on what a cell printed and raised, and notes to show below it. The report is None if
    the cell neither printed nor raised anything."""
    from doctor import api

    parts = [text] if text.strip() else []
    if error is not None:
        parts.append("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    if not parts:
        return None, [
            "TensorFlow printed nothing in this cell, and raised no exception. `%tfgpu` examines the kernel."
        ]
    return api.explain("\n".join(parts), "this cell"), ["`%tfgpu` examines this kernel and its environment."]


def differences() -> list[str]:
    """Return notes about environment variables that differ between this kernel and a login shell, and about
    variables that were set too late. The shell's start files are read, not run."""
    notes = list(_set_too_late())
    shell = _login_shell()
    if shell is None:
        return [
            *notes,
            "The variables that a login shell would set could not be read, so they were not compared with"
            " this kernel's.",
        ]
    for name in COMPARED:
        here, there = os.environ.get(name, ""), shell.env.get(name, "")
        if here == there or (name == "VIRTUAL_ENV" and not there):
            continue
        source = shell.origin(name)
        origin = f" (set in {source})" if source is not None else ""
        if here and there:
            note = f"{name} is {here!r} in this kernel and {there!r} in a login shell{origin}."
        elif here:
            note = f"{name} is {here!r} in this kernel; a login shell does not set it."
        else:
            note = (
                f"{name} is not set in this kernel; a login shell sets it to {there!r}{origin}. A kernel has"
                " the variables of the process that started Jupyter, and those of `env` in its kernel.json."
            )
        notes.append(note)
    return notes


def _set_too_late() -> Iterator[str]:
    """Yield a note if LD_LIBRARY_PATH was set after this process started: the loader reads it only at the
    start (ld.so(8))."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [part.partition("=") for part in file.read().decode("utf-8", "replace").split("\0")]
    except OSError:
        return
    began = {name: value for name, _, value in pairs}
    now = os.environ.get("LD_LIBRARY_PATH", "")
    if now != began.get("LD_LIBRARY_PATH", ""):
        yield (
            f"LD_LIBRARY_PATH was set to {now!r} after this kernel had started, but the loader reads it"
            " only when a process starts. Set it under `env` in kernel.json, or before you start Jupyter."
        )


def _login_shell() -> Any:
    """Return the variables that a login shell would set for the kernel's user, or None if they are not
    known."""
    if not sys.platform.startswith("linux"):
        return None
    from doctor.probe import starts
    from doctor.probe.machine import Machine

    start = starts.base(Machine.here(), sys.prefix)
    return start if start.kind == "login" else None  # a container has no login shell


class Shown:
    """A report with notes, in the formats that a notebook can show: an HTML page in a frame that runs no
    scripts, Markdown and text."""

    def __init__(self, report: Report | None, notes: list[str]) -> None:
        from doctor.redact import Redactor

        hide = Redactor.of(os.environ)
        self.report, self.notes = report, [hide(note) for note in notes]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        text = [self.report.render(width=100)] if self.report else []
        marked = [self.report.render("markdown")] if self.report else []
        bundle = {
            "text/plain": "\n".join([*text, *self.notes]),
            "text/markdown": "\n\n".join([*marked, *self.notes]),
        }
        if self.report:
            page = self.report.render("html")
            notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
            page = page.replace('<footer class="dim">', f'{notes}<footer class="dim">', 1)
            height = min(900, 220 + 20 * bundle["text/plain"].count("\n"))
            bundle["text/html"] = (
                f'<iframe sandbox srcdoc="{html.escape(page)}" style="width:100%;height:{height}px;border:0"'
                ' title="tfgpu-doctor"></iframe>'
            )
        return bundle


def _show(report: Report | None, notes: list[str]) -> None:
    from IPython.display import display

    display(Shown(report, notes))


def load_ipython_extension(shell: Any) -> None:
    """Register the magics. `%load_ext doctor.notebook` calls this function."""
    watch = Watch(shell)
    shell.register_magic_function(watch.magic, "line_cell", "tfgpu")
    shell.events.register("pre_run_cell", watch.before_cell)
    shell.events.register("post_run_cell", watch.after_cell)
    shell.tfgpu_doctor = watch


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics. `%unload_ext doctor.notebook` calls this function."""
    watch = shell.tfgpu_doctor
    shell.events.unregister("pre_run_cell", watch.before_cell)
    shell.events.unregister("post_run_cell", watch.after_cell)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("tfgpu", None)
    del shell.tfgpu_doctor
