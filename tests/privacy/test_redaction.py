"""Tests that no output contains private data: every secret is put in every place and every format. The facts
that decide the verdict are kept."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from doctor.facts import EnvVar, Facts, LibraryFile, Package, Source, Symptom, TensorFlowVersion, Unreadable
from doctor.findings import Diagnosis, Finding, manual, shell
from doctor.probe import record
from doctor.redact import Redactor, without_doors
from doctor.redact.secret import without_secrets
from doctor.redact.variables import decides
from doctor.render import Options, rendered
from doctor.render.sharing import shared_facts
from doctor.shell import run
from tests.privacy.secrets import KEPT, PRIVATE, SECRETS
from tests.sampling import each, sampled

NOBODY = {"HOME": "/root", "USER": "root"}
PLACES = {
    "variable that decides": lambda s: [
        EnvVar(Source("environment", None, f"XLA_FLAGS=--x={s}"), "XLA_FLAGS", f"--x={s}")
    ],
    "unknown variable": lambda s: [EnvVar(Source("environment", None, f"TF_X={s}"), "TF_X", s)],
    "path": lambda s: [LibraryFile(Source(f"/opt/a {s}/x.so"), "libx.so.1", f"/opt/a {s}/x.so")],
    "log line": lambda s: [
        Symptom(Source("train.log", 7, f"2026-01-02 03:04:05.678901: I x.cc:7] {s}"), "gpu-not-found")
    ],
    "pip configuration": lambda s: [
        Symptom(Source("/etc/pip.conf", 2, f"extra = {s}"), "x", (("line", f"extra = {s}"),))
    ],
    "kernel command line": lambda s: [
        Symptom(Source("/proc/cmdline", 1, f"BOOT_IMAGE=/vmlinuz quiet {s} ro"), "x")
    ],
    "JSON fact": lambda s: [Package(Source(f"pip: {s}"), "keras", f"2.15 {s}", "pip", f"/opt/{s}")],
    "could not look": lambda s: [Unreadable(Source("x"), "gpus", f"it printed {s}")],
    "file name": lambda s: [TensorFlowVersion(Source(f"logs/{s}.log", 3, "x"), "2.15.1")],
}


def diagnosis(text: str) -> Diagnosis:
    """Return a diagnosis that contains a text in every field of the facts, in the evidence, and in every
    sentence of a finding."""
    facts = [fact for make in PLACES.values() for fact in make(text)]
    finding = Finding(
        "gpu-not-found",
        "error",
        f"t {text}",
        f"It says: {text} and more.",
        tuple(f.source for f in facts),
        (f"row {text}",),
        (shell(run("cp", text, "x"), f"since {text}"), manual(f"Ask for {text}")),
        shell(run("cat", text)),
        consequences=(f"c {text}",),
    )
    return Diagnosis(Facts(tuple(facts), "machine", f"logs/{text}.log"), (finding,))


def formats(case: Diagnosis) -> dict[str, str]:
    pages = {form: rendered(case, Options(form)) for form in ("json", "markdown", "html")}
    pages["text in a file"] = rendered(case, Options("text", verbose=1, shared=True))
    pages["--save"] = record.as_text(record.to_record(shared_facts(case.facts), "1", "2026-01-01"))
    return pages


def bare(page: str) -> str:
    """Return a page without line breaks and without escapes, so that its words can be compared."""
    return " ".join(page.replace("\\\\", "\\").replace("&#x27;", "'").split())


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)


@each("name", [*SECRETS, *PRIVATE])
def test_shared_text_contains_nothing_private(name: str) -> None:
    text, private = {**SECRETS, **PRIVATE}[name]
    for form, page in formats(diagnosis(text)).items():
        assert private not in bare(page), form
    for make in PLACES.values():  # one at a time: a name that one place reveals is known in all
        for fact in shared_facts(Facts(tuple(make(text)))):
            assert private not in str(fact)


@each("name", SECRETS)
def test_a_terminal_shows_no_secret(name: str) -> None:
    text, private = SECRETS[name]
    assert private not in rendered(diagnosis(text), Options("text", verbose=1))
    assert private not in without_doors(text)


@each("text", KEPT)
def test_the_parts_that_a_diagnosis_needs_stay_unchanged(text: str) -> None:
    redact = Redactor("quentin", "rendernode7", "/home/quentin")
    assert redact(text) == text
    assert redact(f"{text} x") == f"{text} x"


@each("name", [*SECRETS, *PRIVATE])
def test_redacting_twice_changes_nothing(name: str) -> None:
    once = Redactor()({**SECRETS, **PRIVATE}[name][0])
    assert Redactor()(once) == once


@each("name", [*SECRETS, *PRIVATE])
def test_redacted_json_is_valid_json(name: str) -> None:
    page = json.loads(rendered(diagnosis({**SECRETS, **PRIVATE}[name][0]), Options("json")))
    assert page["findings"][0]["code"] == "gpu-not-found"


def test_a_surname_in_a_home_folder_is_removed_everywhere() -> None:
    redact = Redactor().learn(["C:\\Users\\Quentin Tarant\\x", "hostname: rendernode7"])
    assert redact("Quentin Tarant said that rendernode7 is slow") == "USER said that HOST is slow"


def test_only_paths_below_this_machines_home_are_shortened() -> None:
    redact = Redactor("conda", "gpu", "/home/conda")
    assert redact("/home/conda/venv/lib/python3.11") == "~/venv/lib/python3.11"
    assert redact("conda install cudnn on this gpu") == "conda install cudnn on this gpu"


def test_a_command_with_a_path_below_home_can_still_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/quentin")
    case = diagnosis("/home/quentin/my venv/bin/python")
    assert 'cp ~/"my venv/bin/python" x' in rendered(case, Options("markdown"))


def test_the_structure_of_tf_config_stays() -> None:
    value = '{"cluster": {"worker": ["a7:2222", "b8:2223"]}, "task": {"type": "worker", "index": 1}}'
    facts = Facts((EnvVar(Source("environment", None, f"TF_CONFIG={value}"), "TF_CONFIG", value),), "machine")
    (kept,) = shared_facts(facts).of(EnvVar)
    assert json.loads(kept.value) == {
        "cluster": {"worker": ["HOST:2222", "HOST:2223"]}, "task": {"type": "worker", "index": 1}
    }  # fmt: skip


@each(
    "name",
    [
        "TF_AUTH",
        "TF_SESSION_COOKIE",
        "TF_VAR_x",
        "TF_TOKEN_app",
        "NVIDIA_PASS",
        "NVIDIA_NGC_PAT",
        "NVIDIA_API_KEY",
        "HOME",
        "CUDA_SECRET",
        "TF_GPU_TOKEN",
        "NCCL_COMM_ID",
        "WANDB_API_KEY",
        "KERAS_PASSWORD",
        "XLA_AUTH",
        "TF_ENABLE_KEY",
    ],
)
def test_other_variables_are_not_read(name: str) -> None:
    assert not decides(name)


@each(
    "name",
    [
        "TF_CPP_MIN_LOG_LEVEL",
        "TF_FORCE_GPU_ALLOW_GROWTH",
        "TF_GPU_ALLOCATOR",
        "TF_XLA_FLAGS",
        "XLA_FLAGS",
        "TF_CONFIG",
        "CUDA_VISIBLE_DEVICES",
        "CUDA_HOME",
        "LD_LIBRARY_PATH",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NCCL_DEBUG",
        "TF_CPP_VMODULE",
        "TF_USE_LEGACY_KERAS",
        "TF_ENABLE_ONEDNN_OPTS",
        "CUDA_PATH_V11_2",
        "KERAS_BACKEND",
        "NVIDIA_REQUIRE_CUDA",
    ],
)
def test_listed_variables_are_read(name: str) -> None:
    assert decides(name)


PUMPS = (
    "a",
    "a.",
    "a-",
    "password=",
    "password='",
    'password="',
    "password ",
    "token",
    "TF_CONFIG={",
    "/home/",
    "/home/a ",
    "a@",
    "a@b.",
    "http://",
    "http://a:",
    "http://a:@",
    "?sig=",
    "1.",
    "1.1.1.1:",
    "fe80:",
    "a:",
    "00:",
    "-",
    "Basic ",
    "GPU-",
    "GPU-00000000-",
    "eyJ",
    "eyJa.",
    "-----BEGIN PRIVATE KEY-----",
    "login -p ",
    "login x password ",
    "curl -u ",
    "host ",
    "hostname: ",
    "A",
    "C:\\Users\\a ",
    "\\\\",
    "KEY=",
    "--token ",
    "ENV A_KEY ",
    '{"a":',
    " ",
    "[",
    "->",
    "/t/",
)


@pytest.mark.parametrize("pump", sampled(PUMPS, 3))
def test_time_is_proportional_to_the_length_of_the_text(pump: str) -> None:
    def seconds(size: int) -> float:
        best = 9.0
        for end in ("", "!", "@", "=", "/x"):
            text = pump * (size // len(pump)) + end
            start = time.process_time()
            Redactor("someone", "somewhere").learn([text])(text)
            best = (
                min(best, time.process_time() - start)
                if end == ""
                else max(best, time.process_time() - start)
            )
        return best

    small, large = seconds(20_000), seconds(80_000)
    assert large < 0.5 or large < small * 10, (small, large)


def test_a_saved_machine_contains_nothing_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.cli import run

    folder = tmp_path / "quentin tarant"
    folder.mkdir()
    for name, value in {
        "TF_AUTH": "hunterzwei",
        "NVIDIA_PASS": "hunterzwei",
        "LD_LIBRARY_PATH": "/home/quentin t/lib",
        "TF_CONFIG": '{"cluster": {"ps": ["rendernode7:1"]}}',
        "USER": "quentin",
    }.items():
        monkeypatch.setenv(name, value)
    pages = []
    for form in ("text", "json", "markdown", "html"):
        run(["check", "--format", form, "--output", str(tmp_path / form), "--save", str(tmp_path / "save")])
        pages += [
            (tmp_path / form).read_text(encoding="utf-8"),
            (tmp_path / "save").read_text(encoding="utf-8"),
        ]
    for page in pages:
        for private in ("hunterzwei", "quentin", "rendernode7"):
            assert private not in page


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_a_plan_shows_no_secret_from_a_requirements_file(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from doctor.cli import run

    file = tmp_path / "requirements.txt"
    file.write_text(
        "--extra-index-url https://zz:hunterzwei@repo.corp.example/simple\ntensorflow==2.15.0\nnumpy==2.0.0\n"
    )
    run(["plan", "--gpu", "RTX 3080", "--os", "Ubuntu 22.04", "-r", str(file), "--format", form])
    printed = capsys.readouterr()
    assert "hunterzwei" not in printed.out + printed.err
    assert "tensorflow" in printed.out


def test_a_pass_through_a_network_is_no_password() -> None:
    said = "the run ends in the backward pass: gradient_kernel: failed"
    assert without_secrets(said) == said
    assert "hunter2xyz" not in without_secrets("user bob pass: hunter2xyz")


@pytest.mark.parametrize("secret", ["correct-horse-battery-9", "no.way.77x", "the_cat_on_my_desk"])
def test_a_password_may_start_with_an_ordinary_word(secret: str) -> None:
    assert secret not in without_secrets(f"my password is {secret}")
    assert "wrong" in without_secrets("the password is wrong, I think")
