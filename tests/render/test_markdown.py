"""Tests the Markdown reply: it can be pasted into an issue, whatever the report contains."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from doctor.facts import Facts, Source
from doctor.findings import Diagnosis, Finding, manual, shell
from doctor.redact import Redactor
from doctor.render import Options, rendered
from doctor.render.markdown import escaped, fence
from doctor.shell import Literal
from tests.render.conftest import MISMATCH
from tests.sampling import each, examples

markdown_it = pytest.importorskip("markdown_it")
MARKDOWN = Options("markdown")


def tokens(text: str) -> list[object]:
    """Parse a text as CommonMark with GitHub's links and tables. Return its tokens in one flat list."""
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    flat = []
    for token in parser.parse(text):
        flat.append(token)
        flat += token.children or []
    return flat


def with_texts(text: str) -> Diagnosis:
    finding = Finding(
        "cuda-missing",
        "error",
        text,
        text,
        (Source(text, 3, text),),
        (text,),
        (manual(text if text.strip() else "x", text), shell(Literal("true " + text), text)),
        shell(Literal("true")),
        "likely",
        (text,),
    )
    return Diagnosis(Facts((), "report", text, 9), (finding, finding))


ALLOWED_HTML = re.compile(
    r"^(?:</?details>|<summary>[^<>]*</summary>|<sub>|</sub>|<details>\n<summary>[^<>]*</summary>)\s*$"
)

NASTY = [
    "@torvalds look",
    "fixes #1 GH-12 org/repo#3",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "``` \n````\n# heading",
    "~~~\n</details>",
    "| a | b |\n|---|---|",
    "https://evil.example www.evil.example mailto:a@b.example",
    "1. list", "- list", "# heading", "=====", "> quote", "&lt;b&gt; &#64;you",
    "</summary></details><b>", "`code` ``more``", "\\", "*a* _b_ ~~c~~", "$x$", "a\u202eb\x1b[31m",
]  # fmt: skip


@each("text", NASTY)
def test_no_text_of_a_report_becomes_markup_a_link_or_a_mention(text: str) -> None:
    page = rendered(with_texts(text), MARKDOWN)
    assert all(c.isprintable() or c == "\n" for c in page)
    _holds_only_our_markup(page)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("`~<>@#&[]()!*_|\\-=+.:/ \nawGH1\u202e\x1b\r"), max_size=40))
def test_escaped_text_becomes_no_markup_link_or_mention(text: str) -> None:
    _holds_only_our_markup(rendered(with_texts(text), MARKDOWN))


def _holds_only_our_markup(page: str) -> None:
    for token in tokens(page):
        kind = token.type  # type: ignore[attr-defined]
        content = token.content  # type: ignore[attr-defined]
        assert kind not in (
            "link_open",
            "image",
            "heading_open",
            "table_open",
            "blockquote_open",
            "hr",
            "em_open",
            "s_open",
        ), kind
        if kind in ("html_block", "html_inline"):
            assert ALLOWED_HTML.match(content), content
        if kind == "text":
            assert not re.search(r"@\w|://|www\.|#\d", content), content


@given(st.lists(st.text(alphabet="`~ ab", max_size=12), max_size=4))
def test_content_of_a_fence_cannot_close_it(rows: list[str]) -> None:
    parsed = markdown_it.MarkdownIt("commonmark").parse("\n".join(fence(rows)) + "\n\nafter\n")
    assert parsed[0].type == "fence"
    assert parsed[0].content == "".join(row + "\n" for row in rows)
    assert parsed[2].content == "after"


@given(st.text(alphabet="`*_[]<>&|~\\ ab-#1.", max_size=30))
def test_escaped_prose_is_rendered_unchanged(text: str) -> None:
    html = markdown_it.MarkdownIt("commonmark").render("x " + escaped(text))
    shown = re.sub(r"<[^>]+>", "", html)
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, letter)
    expected = " ".join(("x " + text).split())
    assert " ".join(shown.split()).replace("'", "`") == expected.replace("'", "`")


def test_reply_contains_verdict_evidence_steps_and_what_else_to_send(
    diagnosed: Callable[..., Diagnosis],
) -> None:
    page = rendered(diagnosed(MISMATCH), MARKDOWN)
    assert "(`cudnn-missing`)" in page.splitlines()[0]
    assert "Could not load dynamic library 'libcudnn.so.7'" in page
    assert "What to do:" in page
    assert page.count("<details>") == page.count("</details>") > 0
    sure = diagnosed("nothing to see\n")
    assert "please send" in rendered(sure, MARKDOWN)


def test_commands_are_whole_in_their_fences() -> None:
    command = "python3 -m pip install " + " ".join(f"package-{i}" for i in range(60))
    finding = Finding(
        "cuda-missing",
        "error",
        "t",
        "e",
        (Source("a", 1, "x"),),
        prescription=(shell(Literal(command), "w"),),
    )
    page = rendered(Diagnosis(Facts(()), (finding,)), MARKDOWN)
    fences = [token for token in tokens(page) if token.type == "fence"]  # type: ignore[attr-defined]
    assert command in [fence.content.strip() for fence in fences]  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_shared_formats_contain_no_names(diagnosed: Callable[..., Diagnosis], form: str) -> None:
    report = MISMATCH.replace(
        "Skipping", "token=abcdef123456 ghp_" + "a1B2" * 9 + "\nE tensorflow/x.cc:1] Skipping"
    )
    page = rendered(diagnosed(report, "/home/alice/logs/report.txt"), Options(form))
    for private in ("alice", "render-box", "abcdef123456", "ghp_a1B2"):
        assert private not in page
    assert "libcudnn.so.7" in page


def test_redaction_keeps_what_decides_the_verdict(diagnosed: Callable[..., Diagnosis]) -> None:
    hide = Redactor().learn(fact.source.text for fact in diagnosed(MISMATCH).facts)
    for text in (
        "TF_CPP_VMODULE=dso_loader=1",
        "libcudart.so.10.1",
        "/usr/local/cuda-10.1/lib64",
        "git@github.com:a/b",
        "tensorflow @ file:///tmp/x.whl",
        "cudnn@8.1",
        "compute capability 8.6",
    ):
        assert hide(text) == text
    assert hide("/home/alice/venv") == "/home/USER/venv"
    assert hide("(base) alice@render-box:~$ ls") == "(base) USER@HOST:~$ ls"
