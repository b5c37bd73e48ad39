"""Judges requirement files for a machine one by one, for CI and code review: the outcome for each file, and
the changed lines that fix it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from doctor import lazy
from doctor.backports import removeprefix
from doctor.errors import UnableError
from doctor.findings import SEVERITIES, Edit, Finding
from doctor.plan.context import PlanContext
from doctor.plan.files import judged_files
from doctor.plan.plans import Outcome, make_plans
from doctor.plan.request import Request, included, read_text, requested_context
from doctor.values import dataclass, replace

ROUNDS = 6
"""The files are fixed and judged again at most this many times, because a fix may reveal the next fault."""


_FROM = lazy.compile(r"^[ \t]{0,8}(?:FROM|image:)[ \t]", re.MULTILINE | re.IGNORECASE)
"""Matches the line of a Dockerfile or a compose file that names an image."""


@dataclass(frozen=True)
class Judged:
    """One file and its outcome. name: "" if there is no file and only the options were judged. files: the
    file itself and the files that it includes. image: whether it builds on an image, which may bring CUDA
    and Python."""

    name: str
    outcome: Outcome
    files: tuple[str, ...] = ()
    image: bool = False

    @property
    def asks(self) -> bool:
        """Whether a line of the file requests TensorFlow."""
        return not any(f.code == "tf-not-installed" for f in self.outcome.findings)

    @property
    def result(self) -> str:
        """The result in one word: "error", "unexamined" (a line could not be judged), "no-tensorflow" (no
        line requests TensorFlow) or "ok"."""
        if not self.outcome.works:
            return "error"
        if not self.asks:
            return "no-tensorflow"
        return "unexamined" if self.outcome.unexamined else "ok"


@dataclass(frozen=True)
class Gate:
    """The results for all files. passes_over: whether files that do not request TensorFlow count as "ok"."""

    context: PlanContext
    files: tuple[Judged, ...]
    passes_over: bool = False

    @property
    def exit_code(self) -> int:
        """The exit status: 1 if a file cannot work, 3 if a line could not be examined or no file requests
        TensorFlow, otherwise 0."""
        results = {judged.result for judged in self.files}
        if "error" in results:
            return 1
        nothing = results == {"no-tensorflow"} and not self.passes_over
        return UnableError.exit_code if "unexamined" in results or nothing else 0

    @property
    def whole(self) -> Outcome:
        """One outcome for all files. The plans are those of the first file that fails, or otherwise of the
        first file that requests TensorFlow."""
        order = sorted(
            self.files, key=lambda j: ("error", "unexamined", "ok", "no-tensorflow").index(j.result)
        )
        asks = any(judged.asks for judged in self.files)
        findings = [
            f for j in self.files for f in j.outcome.findings if f.code != "tf-not-installed" or not asks
        ]
        found = sorted(dict.fromkeys(findings), key=lambda f: SEVERITIES.index(f.severity))
        return replace(order[0].outcome, findings=tuple(found))


def gate(request: Request, *, passes_over: bool = False) -> Gate:
    """Judge the files in a request one by one. Raises UsageError and InputError."""
    context = requested_context(request)
    if not request.requirements:
        return Gate(context, (Judged("", make_plans(context)),))
    return Gate(context, tuple(_judged(context, request.requirements, {})), passes_over)


def _judged(context: PlanContext, names: Sequence[str], changed: Mapping[str, str]) -> Iterator[Judged]:
    """Yield the outcome for each file. changed: the new texts of files that differ from those on disk."""
    for name in dict.fromkeys(names):
        text = changed[name] if name in changed else read_text(name)
        more = included(name, text, changed)
        outcome = judged_files(context, {name: text}, {name: more})
        # a machine without a GPU is not a fault of a file; the summary line of the result reports it
        of_file = tuple(finding for finding in outcome.findings if finding.code != "gpu-absent")
        outcome = replace(outcome, findings=of_file)
        files = (name, *(file for file, inner, _ in more if inner is not None))
        yield Judged(name, outcome, files, _FROM.search(text) is not None)


@dataclass(frozen=True)
class Change:
    """A file before and after its fixes. reasons: for each fix, the changed line and why it changes."""

    name: str
    before: str
    after: str
    reasons: tuple[str, ...] = ()

    def diff(self) -> str:
        """Return the unified diff, for `patch -p1` or `git apply`."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        rows = difflib.unified_diff(old, new, f"a/{self.name}", f"b/{self.name}")
        return "".join(
            row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows
        )


def cured(request: Request, before: Gate) -> list[Change]:
    """Fix the files and return the changes. Changes that do not reduce the number of faults, and changes to
    files that are not UTF-8, are dropped. Raises InputError."""
    kept: dict[str, str] = {}
    changed: dict[str, str] = {}
    done: list[tuple[Edit, str]] = []
    reasons: tuple[tuple[Edit, str], ...] = ()
    best = current = list(before.files)
    for _ in range(ROUNDS):
        tried = dict(changed)
        for edit, why in _edits(current):
            text = tried[edit.file] if edit.file in tried else read_text(edit.file)
            tried[edit.file] = _with(text, edit)
            done = _with_edit(done, edit, why) if tried[edit.file] != text else done
        if tried == changed:
            break
        current, changed = list(_judged(before.context, request.requirements, tried)), tried
        if _faults(current) < _faults(best):  # for one round, a fix may reveal as many faults as it removes
            best, kept, reasons = current, changed, tuple(sorted(done, key=lambda one: one[0].line))
    found = [
        Change(name, read_text(name), text, tuple(_reason(*one) for one in reasons if one[0].file == name))
        for name, text in kept.items()
    ]
    return [change for change in found if change.after != change.before and "\ufffd" not in change.before]


def _with_edit(done: list[tuple[Edit, str]], edit: Edit, why: str) -> list[tuple[Edit, str]]:
    """Return the edits with another one. If it changes the result of an earlier one, both become one edit."""
    for at, (earlier, reason) in enumerate(done):
        if earlier.file == edit.file and earlier.new.split("\n")[0] == edit.old:
            both = replace(edit, line=earlier.line, old=earlier.old)
            # the line that this one replaces is not in the user's file
            more = removeprefix(removeprefix(why, f"in place of: {edit.old}"), "; ")
            return [*done[:at], (both, "; ".join(filter(None, (reason, more)))), *done[at + 1 :]]
    return [*done, (edit, why)]


def _reason(edit: Edit, why: str) -> str:
    """Return a fix as a line of text: the place, the new text and the reason."""
    first, *more = edit.new.split("\n")
    added = f" and {len(more)} more line{'s' if more[1:] else ''}" if more else ""
    return f"{edit.file}, line {edit.line}: {first or 'removed'}{added}{f' ({why})' if why else ''}"


def left_over(request: Request, before: Gate, changes: Sequence[Change]) -> Gate:
    """Judge the files again after the changes. Raises InputError."""
    texts = {change.name: change.after for change in changes}
    return replace(before, files=tuple(_judged(before.context, request.requirements, texts)))


def _faults(files: Sequence[Judged]) -> tuple[int, int]:
    """Return the number of errors and the number of warnings."""
    found = [finding.severity for judged in files for finding in judged.outcome.findings]
    return found.count("error"), found.count("warning")


def _edits(files: Sequence[Judged]) -> list[tuple[Edit, str]]:
    """Return the first fix for each line, with its reason. The last line of a file comes first, because a
    removed line moves the lines after it. Only files that were read count."""
    chosen: dict[tuple[str, int], tuple[Edit, str]] = {}
    for judged in files:
        for finding in judged.outcome.findings:
            for step in finding.prescription if finding.severity != "info" else ():
                if step.edit is not None and step.edit.file in judged.files:
                    why = f"{step.why}, because {finding.title}" if step.why else finding.title
                    chosen.setdefault((step.edit.file, step.edit.line), (step.edit, why))
    return sorted(chosen.values(), key=lambda one: (one[0].file, -one[0].line))


def edits_of(finding: Finding) -> list[Edit]:
    """Return the edits that fix the fault in a finding."""
    if finding.severity == "info":
        return []
    return [step.edit for step in finding.prescription if step.edit is not None]


def _with(text: str, edit: Edit) -> str:
    """Return the text with one line replaced by the line or lines of a fix. It stays unchanged if the line is
    not the one for which the fix was made, for example because it continues on the next line."""
    lines = text.splitlines(keepends=True)
    if edit.line > len(lines):
        return text
    line = lines[edit.line - 1]
    body = line.strip()
    indent, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    comment = body[len(edit.old) :] if body.startswith(edit.old) else None
    if comment is None or (comment and not re.match(r"\s+#", comment)):
        return text
    first, *more = edit.new.split("\n")
    between = end or ("\r\n" if "\r\n" in text else "\n")
    continues = edit.line > 1 and lines[edit.line - 2].rstrip().endswith("\\")  # no indent then
    rows = (f"{indent}{first}{comment}", *(row if continues else f"{indent}{row}" for row in more))
    lines[edit.line - 1] = between.join(rows) + end if edit.new else ""
    return "".join(lines)
