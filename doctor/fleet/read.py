"""Reads reports that the user collected: files and folders, with one or many reports in each.

A file may contain one report as JSON, one report per line, or a log with such lines, as `kubectl logs
--prefix` prints it. A node's name is the report's `node`, otherwise the name of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import IO, Any

from doctor import lazy
from doctor.errors import InputError
from doctor.fleet.answers import LARGEST, Answer, NotReportError, answered, parsed, unanswered
from doctor.inputs import STDIN, Input, expand, opened
from doctor.values import replace

_ENDING = lazy.compile(r"(?:\.(?:json|jsonl|ndjson|txt|log|out|gz)){1,3}$", re.IGNORECASE)
_PREFIX = lazy.compile(rb"\[pod/(?P<pod>[A-Za-z0-9.-]{1,253})/[A-Za-z0-9.-]{1,63}\] ")
"""Matches the prefix that `kubectl logs --prefix` puts before each line."""
_KEY = ("tensorflow", "driver", "gpus", "cuda", "cudnn", "python", "missing_libraries")


def read(words: Sequence[str], *, keep: bool, tell: Callable[[int], None] | None = None) -> list[Answer]:
    """Return the answer of every node in these files and folders, in the given order.

    keep: keep every report; otherwise only the first of each kind. tell: called with 1 for each file. A file
    without a report counts as a failed node. Raises InputError if one of `words` cannot be read, and if there
    is nothing to read.
    """
    items = list(expand(words))
    if any(item.name.lower().startswith(("http://", "https://")) for item in items):
        raise InputError("`fleet read` accepts files and folders, not URLs", "download the reports first")
    names = _names([item.name for item in items])
    found: list[Answer] = []
    kinds: set[object] = set()
    taken: dict[str, int] = {}
    for item, name in zip(items, names):
        for answer in _of_file(item, name, keep=keep, kinds=kinds):
            taken[answer.name] = taken.get(answer.name, 0) + 1
            found.append(answer if taken[answer.name] == 1 else _renamed(answer, taken))
        if tell is not None:
            tell(1)
    if not found:
        raise InputError(
            "there is no report to read", "pass files that contain the output of `check --format json`"
        )
    return found


def _renamed(answer: Answer, taken: dict[str, int]) -> Answer:
    """Return the answer, renamed if an earlier one has the same name, so that all names differ."""
    number = taken[answer.name]
    while f"{answer.name}#{number}" in taken:
        number += 1
    name = f"{answer.name}#{number}"
    taken[name] = 1
    return replace(answer, name=name)


def _names(paths: Sequence[str]) -> list[str]:
    """Return a node name for each file: the file name without its extension. If several of these are equal,
    the part of the path that differs."""
    own = [_ENDING.sub("", PurePath(path).name) or path for path in paths]
    if len(set(own)) == len(own):
        return own
    parts = [[*PurePath(path).parts[:-1], name] for path, name in zip(paths, own)]
    start, end = _shared(parts), _shared([part[::-1] for part in parts])
    return ["/".join(part[start : len(part) - end]) or "/".join(part) for part in parts]


def _shared(paths: Sequence[list[str]]) -> int:
    """Return the number of leading parts that all paths have in common."""
    first, last = min(paths), max(paths)  # all paths share the beginning that these two share
    return next((at for at, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))


def _of_file(item: Input, name: str, *, keep: bool, kinds: set[object]) -> Iterator[Answer]:
    try:
        stream = opened(item)
    except InputError as error:
        if not item.listed:
            raise
        yield unanswered(name, "failed", str(error))
        return
    try:
        yield from _of_stream(stream, "standard input" if name == STDIN else name, keep=keep, kinds=kinds)
    except (OSError, EOFError) as error:  # gzip raises both
        yield unanswered(name, "failed", f"its file cannot be read: {error}")
    finally:
        if item.name != STDIN:
            stream.close()


def _of_stream(stream: IO[bytes], name: str, *, keep: bool, kinds: set[object]) -> Iterator[Answer]:
    """Yield the answer in every report of a file. A line that begins with { may be the first line of a longer
    report."""
    count, first, why = 0, "", ""
    pods: dict[str, str] = {}
    for number, line in enumerate(_lines(stream), 1):
        prefix = _PREFIX.match(line)
        body = line[prefix.end() :] if prefix else line
        pod = prefix["pod"].decode() if prefix else ""
        if pod:
            pods.setdefault(pod, body[:200].decode("utf-8", "replace"))
        if not body.lstrip().startswith(b"{"):
            first = first or body[:200].decode("utf-8", "replace").strip()
            continue
        if not count and not prefix and not _closed(body):
            body += stream.read(LARGEST + 1 - min(len(body), LARGEST))
        try:
            document = parsed(body)
            answer = _answer(_name(document) or pod or name, document, keep=keep, kinds=kinds)
            count += 1
            pods.pop(pod, None)
            yield answer
        except NotReportError as error:
            why = why or str(error)
            if count and not pod and b'"tfgpu-doctor"' in body:  # report it although other lines are valid
                yield unanswered(f"{name}:{number}", "failed", f"this line is not a report: {error}")
    for pod, words in pods.items():
        yield unanswered(pod, "failed", f"its pod printed no report; the output begins with: {words}")
    if not count and not pods:
        reason = (
            f"its file contains no report; the file begins with: {first}" if first else "its file is empty"
        )
        yield unanswered(name, "failed", f"its file contains no report: {why}" if why else reason)


def _closed(line: bytes) -> bool:
    """Whether a line that begins with { may be a whole report."""
    return line.rstrip().endswith(b"}") and line.strip() != b"{}"


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream. A line longer than LARGEST is cut; the caller then refuses it."""
    while True:
        line = stream.readline(LARGEST + 1)
        if not line:
            return
        yield line
        while len(line) > LARGEST and not line.endswith(b"\n"):  # skip the rest of the line
            line = stream.readline(LARGEST + 1)
            if not line:
                return


def _name(document: dict[str, Any]) -> str:
    name = document.get("node")
    return " ".join(name.split()) if isinstance(name, str) else ""


def _answer(name: str, document: dict[str, Any], *, keep: bool, kinds: set[object]) -> Answer:
    """Return the answer that a report contains. It keeps the whole report if `keep` is set, or if the report
    is the first of its kind, because the steps are derived from that one."""
    answer = answered(name, document, keep=keep)
    if keep:
        return answer
    facts = answer.values.facts
    kind = (answer.verdict, answer.codes, *(facts.get(key) for key in _KEY))
    if kind in kinds:
        return answer
    kinds.add(kind)
    return answered(name, document, keep=True)


def earlier(path: str) -> list[Answer]:
    """Return the nodes of an earlier run, from its JSON. Raises InputError if the file is something else.

    The file is read line by line, because `fleet` writes one node per line. If a program has reformatted the
    file, it is read as a whole.
    """
    with opened(Input(path)) as stream:
        head = stream.readline(LARGEST)
        if not head.startswith(b'{"schema": 1, ') or b'"nodes": [' not in head:
            return _nodes(_whole(path, head + stream.read((1 << 30) - len(head))), path)
        found: list[Answer] = []
        for line in _lines(stream):
            text = line.strip().rstrip(b",")
            if not text.startswith(b'{"name"'):
                return found
            found += _nodes([_json(text, path)], path)
    raise InputError(
        f"cannot read `{path}`: the file is cut off", "the run that wrote it may have been interrupted"
    )


def _json(text: bytes, path: str) -> Any:
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"cannot read `{path}`: it is not JSON", "--since needs the JSON of an earlier `fleet` run"
        ) from error


def _whole(path: str, text: bytes) -> Iterable[Any]:
    document = _json(text, path)
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list):
        raise InputError(
            f"cannot read `{path}`: it is not the JSON output of `fleet`",
            "--since needs the JSON of an earlier `fleet` run",
        )
    return nodes


def _nodes(entries: Iterable[Any], path: str) -> list[Answer]:
    found = []
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise InputError(f"cannot read `{path}`: it contains a node without a name")
        if entry.get("status") == "answered" and isinstance(entry.get("report"), dict):
            try:
                found.append(answered(name, entry["report"], keep=False))
                continue
            except NotReportError as error:
                raise InputError(f"cannot read `{path}`: the report of {name}: {error}") from error
        found.append(unanswered(name, str(entry.get("status")), str(entry.get("reason"))))
    return found
