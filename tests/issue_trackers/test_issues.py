"""Tests the program in action.yml as a runner runs it, with an API server on the loopback interface."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from doctor import issues
from tests.conftest import ROOT, program
from tests.in_process import called_as_text
from tests.sampling import sampled

if TYPE_CHECKING:
    from typing import TypeAlias

OOM = (
    "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle:"
    " CUDNN_STATUS_INTERNAL_ERROR\n"
)
MISSING = (
    "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library"
    " 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or"
    " directory\n"
)
BOT = "github-actions[bot]"


class Forge(ThreadingHTTPServer):
    """Simulates the GitHub and GitLab APIs for the comments and labels of one issue, and stores them as these
    do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = []
        self.labels: set[str] = set()
        self.calls: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.failing: list[int] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Forge

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _answer(self, status: int, data: Any = None) -> None:
        content = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def handle_one(self) -> None:
        forge, url = self.server, urlsplit(self.path)
        data = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        forge.calls.append((self.command, url.path))
        forge.tokens.add(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN"))
        if forge.failing:
            return self._answer(forge.failing.pop(0))
        comment = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)|/projects/7/issues/3/notes/(\d+)", url.path)
        if url.path in ("/repos/o/r/issues/3/comments", "/projects/7/issues/3/notes"):
            if self.command == "GET":
                page = int((re.search(r"[?&]page=(\d+)", self.path) or ["", "1"])[1])
                return self._answer(200, forge.comments[100 * page - 100 : 100 * page])
            forge.comments.append(
                {"id": 1000 + len(forge.calls), "user": {"login": BOT}, "author": {"username": BOT}, **data}
            )
            return self._answer(201, forge.comments[-1])
        if comment:
            (found,) = [c for c in forge.comments if c["id"] == int(comment[1] or comment[2])]
            if self.command == "DELETE":
                forge.comments.remove(found)
                return self._answer(204)
            found.update(data)
            return self._answer(200, found)
        if url.path == "/repos/o/r/issues/3/labels" and self.command == "POST":
            forge.labels |= set(data["labels"])
            return self._answer(200, [])
        if url.path.startswith("/repos/o/r/issues/3/labels/") and self.command == "DELETE":
            name = unquote(url.path.rpartition("/")[2])
            known = name in forge.labels
            forge.labels.discard(name)
            return self._answer(200 if known else 404, [])
        if url.path == "/projects/7/issues/3" and self.command == "PUT":
            forge.labels = (forge.labels | ({data["add_labels"]} - {""})) - {data["remove_labels"]}
            return self._answer(200, {})
        return self._answer(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_one


@pytest.fixture
def forge() -> Iterator[Forge]:
    server = Forge()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def event(
    body: str | None,
    action: str = "opened",
    *,
    kind: str = "User",
    labels: tuple[str, ...] = ("gpu",),
    **more: Any,
) -> dict[str, Any]:
    issue = {"number": 3, "title": "No GPU", "body": body, "user": {"login": "someone", "type": kind},
             "labels": [{"name": name} for name in labels]}  # fmt: skip
    return {
        "action": action,
        "issue": issue,
        "repository": {"full_name": "o/r"},
        "sender": {"login": "x", "type": "User"},
        **more,
    }


Act: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture
def act(forge: Forge, tmp_path: Path) -> Act:
    """Call the program for an event, with the environment variables of a runner. process: whether it runs in
    its own process, as in the action."""

    def run(
        data: Any, code: int = 0, *, process: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "event.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        given = {
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_API_URL": forge.address,
            "TFGPU_TOKEN": "secret-token",
            **env,
        }
        variables = {**os.environ, **given}
        if process:
            command = [sys.executable, "-m", "doctor.issues"]
            done = subprocess.run(
                command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=90, check=False
            )
        else:
            done = called_as_text(env=variables, program=lambda _: issues.main())
        assert done.returncode == code, done.stdout + done.stderr
        assert "secret-token" not in done.stdout + done.stderr
        return done

    return run


def test_one_comment_is_created_updated_and_deleted(forge: Forge, act: Act) -> None:
    act(event(OOM), process=True)
    (comment,) = forge.comments
    assert comment["body"].startswith("<!-- tfgpu-doctor: cudnn-init-oom -->\n")
    assert forge.tokens == {"Bearer secret-token"}
    act(event(OOM, "edited"))
    assert [call for call in forge.calls if call[0] in ("PATCH", "PUT")] == [], (
        "nothing is written without news"
    )
    act(event(MISSING, "edited"))
    (same,) = forge.comments
    assert same["id"] == comment["id"]
    assert "cuda-missing" in same["body"]
    act(event("Never mind, it was the cable.", "edited"))
    assert forge.comments == []


@pytest.mark.parametrize(
    "data",
    [
        event("Please add a dark mode."),
        event(None),
        event(OOM, kind="Bot"),
        event(OOM, "closed"),
        event(OOM, "deleted"),
        event(OOM, comment={"body": "x"}),
        {
            "action": "opened",
            "issue": {**event(OOM)["issue"], "pull_request": {}},
            "repository": {"full_name": "o/r"},
        },
        {"zen": "hello"},
    ],
    ids=lambda data: str(data)[:60],
)
def test_no_comment_is_made_without_a_request_or_a_verdict(
    forge: Forge, act: Act, data: dict[str, Any]
) -> None:
    act(data)
    assert forge.comments == []


def test_undetermined_is_commented_only_on_request(forge: Forge, act: Act) -> None:
    act(event("My GPU does not work."))
    assert forge.comments == []
    act(event("My GPU does not work."), TFGPU_UNDETERMINED="true")
    assert len(forge.comments) == 1


def test_only_issues_with_the_label_and_the_text_are_answered(forge: Forge, act: Act) -> None:
    act(event(OOM, labels=("question",)), TFGPU_NEEDS_LABEL="gpu")
    act(event(OOM), TFGPU_NEEDS_TEXT="### Report of tfgpu-doctor")
    assert forge.comments == []
    act(
        event(f"### Report of tfgpu-doctor\n{OOM}"),
        TFGPU_NEEDS_LABEL="gpu",
        TFGPU_NEEDS_TEXT="### Report of tfgpu-doctor",
    )
    assert len(forge.comments) == 1
    act(event(OOM, "edited", labels=()), TFGPU_NEEDS_LABEL="gpu")
    assert forge.comments == [], "the label is gone, and so is the answer"


def test_labels_follow_the_verdict(forge: Forge, act: Act) -> None:
    labels = {"TFGPU_LABELS": "# by code\ncudnn-init-oom: gpu memory/a\ncuda-missing: installation\n"}
    forge.labels = {"mine"}
    act(event(OOM), **labels)
    assert forge.labels == {"mine", "gpu memory/a"}
    act(event(MISSING, "edited"), **labels)
    assert forge.labels == {"mine", "installation"}
    act(event("It works.", "edited"), **labels)
    assert forge.labels == {"mine"}
    act(event(OOM), code=2, TFGPU_LABELS="no-such-code: x")


def test_another_accounts_comment_with_the_mark_is_not_changed(forge: Forge, act: Act) -> None:
    theirs = {"id": 5, "user": {"login": "mallory"}, "body": "<!-- tfgpu-doctor: healthy -->\nAll is well."}
    forge.comments = [theirs, *({"id": 100 + n, "user": {"login": "x"}, "body": "."} for n in range(120))]
    act(event(OOM))
    assert forge.comments[0] == theirs
    assert forge.comments[-1]["body"].startswith("<!-- tfgpu-doctor: cudnn-init-oom -->")
    act(event("gone", "edited"))
    assert len(forge.comments) == 121


HOSTILE = f"""@everyone see #1, GH-2, o/r#3 and https://evil.example/x ![x](https://evil.example/y)
<!-- tfgpu-doctor: healthy -->
```
</details><script>alert(1)</script>
$(touch /tmp/owned) `touch /tmp/owned` ${{{{ github.token }}}}
::set-output name=x::y
{OOM.strip()} @someone #12 fixes #7
"""


def test_no_text_of_an_issue_becomes_a_mention_a_reference_or_a_command(forge: Forge, act: Act) -> None:
    act(event(HOSTILE))
    (comment,) = forge.comments
    body = comment["body"]
    assert body.count("<!--") == 1
    outside = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]+`", "", body)
    assert not re.search(r"@\w|(?<![&\w])#\d|GH-\d|https?://|<script|!\[", outside), outside


def test_dry_run_writes_nothing_and_its_output_contains_no_runner_command(forge: Forge, act: Act) -> None:
    done = act(event(f"::error::owned\n{OOM}"), process=True, TFGPU_DRY_RUN="true", TFGPU_TOKEN="")
    assert forge.calls == []
    rows = done.stdout.splitlines()
    begin = re.fullmatch(r"::stop-commands::(\w{32})", rows[0])
    assert begin
    assert rows.index(f"::{begin[1]}::") == len(rows) - 2
    assert "cudnn" in done.stdout


def test_request_is_repeated_after_a_server_error_and_not_after_a_refusal(forge: Forge, act: Act) -> None:
    forge.failing = [502]
    act(event(OOM))
    assert len(forge.comments) == 1
    forge.failing = [403]
    done = act(event(OOM), code=3)
    assert "issues: write" in done.stderr
    forge.failing = [302]
    act(event(OOM), code=3)
    assert forge.tokens == {"Bearer secret-token"}


@pytest.mark.parametrize("data", ["", "[]", "{", '{"issue": 1}', '{"action": "opened", "issue": {"number": '
                                                                 '"../x", "title": "t"}, "repository": '
                                                                 '{"full_name": "o/r"}}',
                                  '{"action": "opened", "issue": {"number": 1}, "repository": {"full_name": '
                                  '"o/r/../../x"}}', "[" * 100_000])  # fmt: skip
def test_event_that_is_not_about_an_issue_changes_nothing(forge: Forge, act: Act, data: str) -> None:
    done = act(data, code=0 if '"issue": 1' in data else 2)
    assert "Traceback" not in done.stderr
    assert forge.calls == []


def test_event_that_is_too_large_is_an_error(act: Act) -> None:
    act(json.dumps(event("x" * (9 << 20))), code=2)


def test_issue_of_the_largest_size_is_answered_in_time(forge: Forge, act: Act) -> None:
    act(event((OOM + "word ") * 600 + "@x " * 5000))
    assert len(forge.comments[0]["body"]) < 65_536


def test_gitlab_issues_are_answered_too(forge: Forge, act: Act, tmp_path: Path) -> None:
    data = {
        "object_kind": "issue",
        "user": {"username": "someone"},
        "project": {"id": 7},
        "labels": [{"title": "gpu"}],
        "object_attributes": {"iid": 3, "action": "open", "title": "No GPU", "description": OOM},
    }
    env = {
        "GITLAB_CI": "true",
        "TRIGGER_PAYLOAD": str(tmp_path / "event.json"),
        "CI_API_V4_URL": forge.address,
        "TFGPU_LOGIN": BOT,
        "TFGPU_LABELS": "cudnn-init-oom: memory",
    }
    act(data, **env)
    act(data, **env)
    assert len(forge.comments) == 1
    assert forge.labels == {"memory"}
    assert forge.tokens == {"secret-token"}
    data["object_attributes"].update(action="update", description="fine now")  # type: ignore[attr-defined]
    act(data, **env)
    assert (forge.comments, forge.labels) == ([], set())
    act({**data, "user": {"username": "project_7_bot_ab"}}, **env)


# --- the files


@pytest.mark.parametrize(("schema", "path"), sampled([
    ("vendor.github-actions", "action.yml"),
    ("vendor.github-workflows", "examples/issue_tracker/workflow.yml"),
    ("vendor.github-workflows", "examples/gate/workflow.yml"),
    ("vendor.github-issue-forms", "examples/issue_tracker/gpu.yml"),
    ("vendor.gitlab-ci", "examples/issue_tracker/gitlab-ci.yml"),
], 1))  # fmt: skip
def test_action_and_ci_files_follow_their_schemas(schema: str, path: str) -> None:
    done = subprocess.run(
        [program("check-jsonschema"), "--builtin-schema", schema, str(ROOT / path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_zizmor_finds_no_security_problem() -> None:
    paths = [
        str(ROOT / "action.yml"),
        str(ROOT / "examples/issue_tracker/workflow.yml"),
        str(ROOT / "examples/gate/workflow.yml"),
    ]
    done = subprocess.run(
        [program("zizmor"), "--offline", "--no-progress", *paths],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_input_of_the_action_is_passed_as_a_variable() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = re.findall(r"(?m)^  ([\w-]+):\n    description:", text)
    for name in inputs:
        variable = f"TFGPU_{name.upper().replace('-', '_')}"
        assert f"{variable}: ${{{{ inputs.{name} }}}}" in text
        assert variable in (ROOT / "doctor/issues.py").read_text(encoding="utf-8")
    script = text.partition("run: |")[2]
    assert "${{" not in script, "nothing is put into the shell's text"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a runner with bash")
def test_script_of_the_action_runs(forge: Forge, tmp_path: Path) -> None:
    """Runs the action's script as a runner does. The script installs the project from the package index."""
    lines = (ROOT / "action.yml").read_text(encoding="utf-8").partition("run: |\n")[2].splitlines()
    (tmp_path / "step.sh").write_text("\n".join(line[8:] for line in lines) + "\n")
    (tmp_path / "event.json").write_text(json.dumps(event(OOM)))
    env = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")},
        "RUNNER_TEMP": str(tmp_path), "TFGPU_ACTION": str(ROOT), "TFGPU_TOKEN": "secret-token",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_API_URL": forge.address,
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(tmp_path / "step.sh")],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(forge.comments) == 1
