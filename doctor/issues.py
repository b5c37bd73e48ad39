"""Writes one answer to an issue and keeps it up to date. `action.yml` runs this program; a GitLab job can run
it too.

    python -m doctor.issues        reads everything from environment variables (`Settings.of`)

The issue comes from the event file, never from a command line. The answer is the Markdown of `explain`, in
which no text from the report can become a mention, a link or a reference. The answer is one comment that
contains a hidden mark. The program updates the comment when the issue is edited, and deletes it if there is
no longer anything to say. Sources: GitHub, "REST API endpoints for issue comments" and "Webhook events and
payloads", issues; GitLab, "Notes API" and "Webhook events", issue events.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from doctor import lazy
from doctor.errors import CommandError, InputError, UnableError, UsageError
from doctor.values import dataclass, field

if TYPE_CHECKING:
    from doctor.api import Report

MARK = "<!-- tfgpu-doctor: "
_MARKED = lazy.compile(r"<!-- tfgpu-doctor: (?P<code>[a-z0-9-]{1,60}) -->")
EVENT_LIMIT = 8 << 20
"""The maximum size of an event file, in bytes."""
ANSWER_LIMIT = 16 << 20
"""The maximum size of a server's response, in bytes."""
BODY_LIMIT = 256 << 10
"""At most this many characters of an issue are read."""
COMMENT_LIMIT = 60_000
"""A comment has at most this many characters; GitHub accepts 65,536."""
PAGES = 10
"""At most this many pages, of a hundred comments each, are searched for this program's own comment."""
TIMEOUT = 20.0
"""Time limit, in seconds, for connecting to a server and for each piece of its response."""
TRIES = 3
"""A request is sent at most this many times."""
LONGEST_WAIT = 30.0
"""The longest wait, in seconds, before a request is sent again."""
ACTIONS = ("opened", "edited", "reopened", "labeled", "open", "update", "reopen")
"""The actions on an issue to which this program responds, as GitHub and GitLab name them."""
SILENT = ("healthy",)
"""Codes of verdicts that get no comment."""


@dataclass(frozen=True)
class Settings:
    """The settings of the workflow.

    forge: github or gitlab. api: the URL of its API. token: the token for the API. event: the path of the
    event file. login: the account that writes the comments. needs_label: answer only issues with this label.
    needs_text: answer only issues that contain this text, such as a heading of a form. labels: the label for
    each finding code. undetermined: also comment if no cause was found. dry_run: only print the comment.
    """

    forge: str
    api: str
    token: str
    event: str
    login: str
    needs_label: str = ""
    needs_text: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    undetermined: bool = False
    dry_run: bool = False

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Settings:
        """Return the settings from the runner's environment variables and from the action's TFGPU_*
        variables. Raises UsageError if a variable is missing or wrong."""
        gitlab = bool(env.get("GITLAB_CI"))
        if gitlab:
            event, api = env.get("TRIGGER_PAYLOAD", ""), env.get("CI_API_V4_URL", "")
        else:
            event = env.get("GITHUB_EVENT_PATH", "")
            api = env.get("GITHUB_API_URL", "https://api.github.com")
        dry_run = _yes(env, "TFGPU_DRY_RUN")
        token = env.get("TFGPU_TOKEN", "")
        needed = {"event file": event, "URL of the API": api, "token": token or dry_run}
        for name, value in needed.items():
            if not value:
                raise UsageError(
                    f"the {name} is not known",
                    "run this program in an action or a CI job, as docs/issue-trackers.md describes",
                )
        return cls(
            "gitlab" if gitlab else "github",
            api.rstrip("/"),
            token,
            event,
            env.get("TFGPU_LOGIN") or "github-actions[bot]",
            env.get("TFGPU_NEEDS_LABEL", "").strip(),
            env.get("TFGPU_NEEDS_TEXT", "").strip(),
            dict(_labels(env.get("TFGPU_LABELS", ""))),
            _yes(env, "TFGPU_UNDETERMINED"),
            dry_run,
        )


def _yes(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "").strip().lower() in ("true", "1", "yes")


def _labels(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a finding code and its label, from lines of `code: label`. Raises UsageError for an
    unknown code."""
    from doctor.rules import PLACES

    for row in text.splitlines():
        code, colon, label = (part.strip() for part in row.partition(":"))
        if code and not code.startswith("#"):
            if code not in PLACES or not colon or not label:
                raise UsageError(
                    f"labels: {row.strip()!r} is not a line of the form `finding-code: label`",
                    "`tfgpu-doctor code` lists the codes",
                )
            yield code, label


@dataclass(frozen=True)
class Issue:
    """The issue that an event is about. project: OWNER/NAME on GitHub, the project's number on GitLab. text:
    its title and description. by_program: whether a bot wrote it."""

    project: str
    number: int
    text: str
    labels: tuple[str, ...]
    by_program: bool

    @classmethod
    def of(cls, event: Any) -> Issue | None:
        """Return the issue from a GitHub or GitLab event, or None if the event is about something else.
        Raises InputError if the event is not valid."""
        if not isinstance(event, dict):
            raise InputError("the event is not a JSON object")
        own = event.get("object_attributes")
        if event.get("object_kind") == "issue" and isinstance(own, dict):
            user, action = event.get("user"), own.get("action")
            login = str(user.get("username", "")) if isinstance(user, dict) else ""
            project = str((event.get("project") or {}).get("id", ""))
            issue: dict[str, Any] = own
            number, body = own.get("iid"), own.get("description")
            by_program = bool(re.search(r"(?:^|_)bot(?:_|$)", login))
            labels = [label.get("title") for label in event.get("labels") or () if isinstance(label, dict)]
        else:
            issue, action = event.get("issue") or {}, event.get("action")
            if not isinstance(issue, dict) or not issue or "pull_request" in issue or "comment" in event:
                return None
            project = str((event.get("repository") or {}).get("full_name", ""))
            number, body = issue.get("number"), issue.get("body")
            author = issue.get("user")
            by_program = isinstance(author, dict) and author.get("type") == "Bot"
            labels = [label.get("name") for label in issue.get("labels") or () if isinstance(label, dict)]
        if action not in ACTIONS:
            return None
        if not isinstance(number, int) or not re.fullmatch(r"[\w.-]+/[\w.-]+|\d+", project):
            raise InputError("the event does not contain a valid project and issue number")
        text = f"{issue.get('title') or ''}\n\n{body or ''}"[:BODY_LIMIT]
        return cls(project, number, text, tuple(str(label) for label in labels if label), by_program)


class Tracker:
    """The comments and labels of one issue, through the API of GitHub or GitLab."""

    def __init__(self, settings: Settings, issue: Issue) -> None:
        self.settings, self.issue = settings, issue
        if settings.forge == "gitlab":
            base = f"/projects/{quote(issue.project, safe='')}/issues/{issue.number}"
            self._comments = f"{base}/notes"
            self._one, self._update = base + "/notes/{id}", "PUT"
            self._headers = {"PRIVATE-TOKEN": settings.token}
        else:
            base = f"/repos/{issue.project}/issues/{issue.number}"
            self._comments = f"{base}/comments"
            self._one, self._update = f"/repos/{issue.project}/issues/comments/" + "{id}", "PATCH"
            self._headers = {
                "Authorization": f"Bearer {settings.token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
            }
        self._base = base

    def own(self) -> tuple[int, str] | None:
        """Return the number and text of this program's comment, or None if there is none. A comment from
        another account does not count, even with the mark."""
        for page in range(1, PAGES + 1):
            comments = self._ask("GET", f"{self._comments}?per_page=100&page={page}")
            for comment in comments if isinstance(comments, list) else ():
                who = comment.get("user") or comment.get("author") or {}
                login = who.get("login") or who.get("username")
                body = comment.get("body")
                if (
                    login == self.settings.login
                    and isinstance(body, str)
                    and body.startswith(MARK)
                    and isinstance(comment.get("id"), int)
                ):
                    return comment["id"], body
            if not isinstance(comments, list) or len(comments) < 100:
                break
        return None

    def create(self, body: str) -> None:
        """Add a comment."""
        self._ask("POST", self._comments, {"body": body})

    def update(self, number: int, body: str) -> None:
        """Replace the text of this program's comment."""
        self._ask(self._update, self._one.format(id=number), {"body": body})

    def delete(self, number: int) -> None:
        """Delete this program's comment."""
        self._ask("DELETE", self._one.format(id=number))

    def label(self, add: str, remove: str) -> None:
        """Add the label `add` and remove the label `remove`; "" stands for no label."""
        if self.settings.forge == "gitlab":
            self._ask("PUT", self._base, {"add_labels": add, "remove_labels": remove})
            return
        if add:
            self._ask("POST", f"{self._base}/labels", {"labels": [add]})
        if remove:
            self._ask("DELETE", f"{self._base}/labels/{quote(remove, safe='')}", missing_is_fine=True)

    def _ask(self, method: str, path: str, data: Any = None, *, missing_is_fine: bool = False) -> Any:
        """Send a request, and return the JSON of the response; None if the response is empty, or if
        `missing_is_fine` and there is no such resource. Raises UnableError if the request fails."""
        import requests

        problem, name = "", f"{method} {path.partition('?')[0]}"
        for attempt in range(TRIES):
            try:
                with requests.request(
                    method,
                    self.settings.api + path,
                    json=data,
                    headers=self._headers,
                    timeout=TIMEOUT,
                    allow_redirects=False,
                    stream=True,
                ) as answer:
                    status = answer.status_code
                    problem = f"status {status}"
                    content = _content(answer)
                    wait = answer.headers.get("Retry-After", "")
            except requests.RequestException as error:
                problem, wait, status, content = type(error).__name__, "", 0, b""
            if 200 <= status < 300:
                try:
                    return json.loads(content) if content.strip() else None
                except (ValueError, RecursionError) as error:
                    raise UnableError(f"{name}: the response is not JSON, or is too large") from error
            if status in (404, 410) and missing_is_fine:
                return None
            if status and status < 500 and status != 429 and not (status == 403 and wait):
                break
            if attempt + 1 < TRIES:
                time.sleep(min(LONGEST_WAIT, float(wait) if wait.isdigit() else 2.0**attempt))
        hint = (
            "give the job's token the permission `issues: write`"
            if problem in ("status 401", "status 403", "status 404")
            else ""
        )
        raise UnableError(f"{name}: {problem}", hint)


def _content(answer: Any) -> bytes:
    """Return the content of a response, or invalid JSON if it is too large or takes too long."""
    content, end = bytearray(), time.monotonic() + 3 * TIMEOUT
    for piece in answer.iter_content(65536):
        content += piece
        if len(content) > ANSWER_LIMIT or time.monotonic() > end:
            return b"{"
    return bytes(content)


def answer_to(issue: Issue, settings: Settings) -> tuple[str, str]:
    """Return the code of the verdict ("" if the settings exclude this issue) and the comment ("" for no
    comment)."""
    from doctor import api

    wanted_by_label = not settings.needs_label or settings.needs_label in issue.labels
    if not wanted_by_label or settings.needs_text not in issue.text or not issue.text.strip():
        return "", ""
    report = api.explain(issue.text, "the issue")
    code, confidence = report.verdict.code, report.verdict.confidence
    unsure = code == "undetermined" or confidence == "possible"
    if code in SILENT or (unsure and not settings.undetermined):
        return code, ""
    return code, f"{MARK}{code} -->\n{_shortened(report)}"


def _shortened(report: Report) -> str:
    """Return the report as a comment, or only its first part if it is too long."""
    text = report.render("markdown")
    if len(text) <= COMMENT_LIMIT:
        return text
    from doctor.render.markdown import escaped

    verdict = report.verdict
    return f"**{escaped(verdict.title)}** (`{verdict.code}`)\n\n{escaped(verdict.explanation[:5000])}\n"


def act(settings: Settings) -> str:
    """Answer the issue that the event is about. Returns a line that says what was done. Raises
    CommandError."""
    try:
        with open(settings.event, "rb") as file:
            data = file.read(EVENT_LIMIT + 1)
        event = json.loads(data[:EVENT_LIMIT]) if len(data) <= EVENT_LIMIT else None
    except OSError as error:
        raise InputError(f"cannot read the event: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError("the event is not JSON") from error
    if event is None:
        raise InputError(f"the event is larger than {EVENT_LIMIT >> 20} MiB")
    issue = Issue.of(event)
    if issue is None:
        return "nothing to do: the event is not about an issue's text"
    if issue.by_program:
        return "nothing to do: a program wrote the issue"
    code, comment = answer_to(issue, settings)
    verdict = f"the verdict is {code}" if code else "no verdict was requested"
    if settings.dry_run:
        _show(comment)
        return f"dry run: {verdict}; " + ("this comment would be written" if comment else "no comment")
    tracker = Tracker(settings, issue)
    before = tracker.own()
    done = _commented(tracker, before, comment)
    match = _MARKED.match(before[1]) if before else None
    old = settings.labels.get(match["code"], "") if match else ""
    new = settings.labels.get(code, "") if comment else ""
    if old != new or (new and new not in issue.labels):
        tracker.label(new, old if old != new else "")
    return f"{verdict}; {done}"


def _commented(tracker: Tracker, before: tuple[int, str] | None, comment: str) -> str:
    if before is None:
        if comment:
            tracker.create(comment)
        return "commented" if comment else "no comment"
    number, text = before
    if not comment:
        tracker.delete(number)
        return "the comment was withdrawn"
    if text.strip().replace("\r\n", "\n") == comment.strip():
        return "the comment is unchanged"
    tracker.update(number, comment)
    return "the comment was updated"


def _show(comment: str) -> None:
    """Print the comment to the log. No line of the comment can become a command for the runner."""
    if comment:
        key = os.urandom(16).hex()
        print(f"::stop-commands::{key}\n{comment}\n::{key}::")


def main() -> int:
    """Run the program. Returns exit code 0, 2 or 3, with the same meanings as in the commands."""
    from doctor.printable import line, say

    try:
        print(f"tfgpu-doctor: {line(act(Settings.of(os.environ)))}")
    except CommandError as error:
        say(f"tfgpu-doctor: {line(str(error))}" + (f" ({line(error.hint)})" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
