"""Tests that a report gives the same facts in whatever form people paste it, with the line numbers that an
editor shows."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from doctor import api
from doctor.diagnose import diagnose
from doctor.facts import CudnnVersion, Facts, Gpu, GpuMemory, LibraryNotLoaded
from doctor.logs import NotText, read
from doctor.logs.cleaning import split
from doctor.logs.reader import encoding_of
from doctor.logs.text import Text, unwrap
from doctor.tables import Tables
from tests.sampling import each, examples

BEFORE = "a first line\nanother: 内存 über 東京\n"
MESSAGE = (
    "2020-05-01 10:00:00.123456: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not"
    " load dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file: No such"
    " file or directory; LD_LIBRARY_PATH: /usr/local/cuda/lib64"
)
REPORT = BEFORE + MESSAGE + "\nlast line\n"


def missing(facts: Facts) -> list[tuple[str, int | None]]:
    return list(dict.fromkeys((f.name, f.source.line) for f in facts.of(LibraryNotLoaded)))


def wrapped(text: str, width: int) -> str:
    return "\n".join(
        line[i : i + width] for line in text.split("\n") for i in range(0, max(1, len(line)), width)
    )


def notebook(text: str) -> str:
    cell = {
        "cell_type": "code",
        "source": ["import x\n"],
        "outputs": [{"output_type": "stream", "text": text.splitlines(True)}],
    }
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=1)


SAME_LINE: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda t: t.encode(),
    "utf-8 with a mark": lambda t: t.encode("utf-8-sig"),
    "utf-16 with a mark (PowerShell)": lambda t: t.encode("utf-16"),
    "utf-16 little end": lambda t: t.encode("utf-16-le"),
    "utf-16 big end": lambda t: t.encode("utf-16-be"),
    "gbk": lambda t: (t.replace("über 東京", "显存不足 加载失败 请检查驱动")).encode("gbk"),
    "shift-jis": lambda t: t.replace("内存 über 東京", "ライブラリをロードできませんでした").encode("cp932"),
    "euc-kr": (
        lambda t: t.replace("内存 über 東京", "드라이버를 설치했는데 로드할 수 없습니다").encode("cp949")
    ),
    "big5": (
        lambda t: t.replace("内存 über 東京", "無法載入這個動態連結函式庫,請檢查驅動程式").encode("cp950")
    ),
    "line ends of old Macs": lambda t: t.replace("\n", "\r").encode(),
    "latin-1": lambda t: t.replace("内存", "").replace("東京", "déjà").encode("latin-1"),
    "windows line ends": lambda t: t.replace("\n", "\r\n").encode(),
    "windows console in utf-16": lambda t: t.replace("\n", "\r\n").encode("utf-16"),
    "colours": lambda t: t.replace("Could", "\x1b[1;31mCould").replace("library", "lib\x1b[0mrary").encode(),
    "hidden letters": lambda t: (
        t.replace("dynamic", "dyn\u200bamic").replace("Could not", "Could\u00a0not").encode()
    ),
    "entities": lambda t: html.escape(t).replace("'", "&#39;").encode(),
    "quoted": lambda t: "\n".join("> > " + line for line in t.split("\n")).encode(),
    "numbered": lambda t: "\n".join(f"{i:5d}: {line}" for i, line in enumerate(t.split("\n"), 1)).encode(),
    "commented": lambda t: "\n".join("# " + line for line in t.split("\n")).encode(),
    "grep": lambda t: "\n".join(f"train.log:{i}:{line}" for i, line in enumerate(t.split("\n"), 1)).encode(),
    "docker": lambda t: "\n".join(f"worker_1  | {line}" for line in t.split("\n")).encode(),
    "kubectl": (
        lambda t: "\n".join(
            f"2020-05-01T10:00:00.123456789Z stderr F {line}" for line in t.split("\n")
        ).encode()
    ),
    "truncated start and end": lambda t: t[5:-6].encode(),
    "progress bars": lambda t: t.replace("a first", "1/9\r2/9\r9/9 a first").encode(),
    "backspaces": lambda t: t.replace("a first", "1/9\b\b\b2/9\b\b\b" * 50 + " a first").encode(),
    "bar in front of it": (
        lambda t: t.replace("2020-", "12%|█▏       | 3/25\r24%|██▍      | 6/25\r2020-").encode()
    ),
}


@each("wrapping", SAME_LINE)
def test_line_keeps_its_number_in_every_wrapping(wrapping: str) -> None:
    assert missing(read(SAME_LINE[wrapping](REPORT), "a.log")) == [("libcudnn.so.7", 3)]


def test_fence_counts_as_a_line() -> None:
    assert missing(read(f"```\n{REPORT}```\n".encode(), "a.log")) == [("libcudnn.so.7", 4)]


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120])
def test_a_wrapped_message_has_the_line_in_which_it_begins(width: int) -> None:
    found = missing(read(wrapped(REPORT, width).encode(), "a.log"))
    assert found
    assert {name for name, _ in found} == {"libcudnn.so.7"}
    assert {line for _, line in found} <= {
        3,
        4,
        5,
    }, "the message begins in line 3 and its words in 3 or after"


@pytest.mark.parametrize("width", [66, 72, 79])
def test_a_record_that_is_wrapped_after_its_time_is_read(width: int) -> None:
    folded = "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in REPORT.split("\n")
    )
    assert re.search(r": W$", folded, re.MULTILINE), "the file's name did not fit beside the time"
    assert missing(read(folded.encode(), "a.log"))[0][0] == "libcudnn.so.7"


def test_a_time_alone_on_a_line_begins_a_record_only_if_a_file_name_follows() -> None:
    report = "2024-01-02 03:04:05.678901: W\nCould not load dynamic\nlibrary 'libcudnn.so.8'\n"
    assert unwrap(Text.of("pasted", split(report), 3)) is None


SEVERAL = (
    "2018-05-01 10:00:00.123456: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1405] Found device 0 with"
    " properties: \nname: GeForce GTX 1080 Ti major: 6 minor: 1 memoryClockRate(GHz): 1.582\npciBusID:"
    " 0000:03:00.0\ntotalMemory: 10.92GiB freeMemory: 312.06MiB"
)
"""A message of four lines."""


@pytest.mark.parametrize(
    "stamped",
    [
        lambda line: f"2021-05-04T10:11:12.131415161Z stderr F {line}",
        lambda line: f"2021-05-04T10:11:12.1314151Z {line}",
        lambda line: f"[1,2]<stderr>:{line}",
        lambda line: f"Thu Jun 18 14:28:35 2020[1,2]<stderr>:{line}",
        lambda line: "      " + json.dumps(line + "\n") + ",",
        lambda line: "      " + json.dumps(f"\x1b[31m{line}\x1b[0m\n"),
        lambda line: json.dumps(
            {"log": line + "\n", "stream": "stderr", "time": "2021-05-04T10:11:12.131415161Z"},
            separators=(",", ":"),
        ),
    ],
    ids=[
        "a container runtime",
        "a runner of GitHub's",
        "mpirun",
        "mpirun with times",
        "a part of a notebook",
        "a notebook's colours",
        "Docker's files",
    ],
)
def test_a_message_of_several_lines_is_read_despite_a_prefix_on_each_line(
    stamped: Callable[[str], str],
) -> None:
    facts = read(("\n".join(stamped(line) for line in SEVERAL.split("\n")) + "\n").encode(), "a.log")
    assert [m.free_mib for m in facts.of(GpuMemory)] == [312]
    assert {g.bus_id for g in facts.of(Gpu) if g.bus_id} == {"0000:03:00.0"}
    assert {m.source.line for m in facts.of(GpuMemory)} == {4}


def test_a_single_line_with_a_time_stays_unchanged() -> None:
    line = "2021-05-04T10:11:12.1314151Z the only one"
    assert list(split(line)) == [(1, line)]


def test_an_element_of_json_with_several_lines_keeps_its_number() -> None:
    assert list(split('x\n   "first\\nsecond \\"quoted\\" C:\\\\new\\n",')) == [
        (1, "x"),
        (2, "first"),
        (2, 'second "quoted" C:\\new'),
    ]


def test_a_notebook_without_a_line_of_text_is_read() -> None:
    empty = '{"cells": [{"cell_type": "code", "source": [], "outputs": [[]]}], "nbformat": 4}'
    assert api.explain(empty).verdict.code == "undetermined"


def test_notebook_gives_the_lines_of_its_file() -> None:
    text = notebook(REPORT)
    [(name, line)] = missing(read(text.encode(), "a.ipynb"))
    assert name == "libcudnn.so.7"
    assert line is not None
    assert "libcudnn.so.7" in text.split("\n")[line - 1]


@pytest.mark.parametrize("escape", [lambda t: json.dumps({"log": t * 3}), lambda t: repr(t * 3)])
def test_escaped_text_in_one_line_is_read(escape: Callable[[str], str]) -> None:
    found = missing(read(("first\n" + escape(REPORT)).encode(), "a.json"))
    assert set(found) == {("libcudnn.so.7", 2)}


def test_one_long_line_is_read() -> None:
    text = ("x" * 30_000 + " ") * 3 + MESSAGE + " " + "y" * 30_000
    assert ("libcudnn.so.7", 1) in missing(read(text.encode(), "a.log"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n\t\n",
        b"\x7fELF\x02\x01\x01" + bytes(500),
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9,
        bytes(range(256)) * 50,
        bytes(10_000),
    ],
)
def test_input_without_text_is_refused(data: bytes) -> None:
    with pytest.raises(NotText):
        read(data, "x")


def test_text_with_a_few_odd_bytes_is_text() -> None:
    assert encoding_of(b"loss: 0.5\x07\x08\x1b[0m\x00\n" * 5) == "utf-8"
    assert encoding_of("naïve café".encode("latin-1")) == "cp1252"


def test_very_long_numbers_do_no_harm(tables: Tables) -> None:
    nines = "9" * 5000
    text = (
        f"GPU {nines}: x\nCUDA Version: {nines}.{nines}\nCreated device /job:a/device:GPU:{nines} with"
        f" {nines} MB memory\nnumpy=={nines}\n"
    )
    diagnose(read(text.encode(), "x"), tables)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=3000))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        facts = read(data, "x")
    except NotText:
        return
    for fact in facts:
        assert fact.source.line is None or 1 <= fact.source.line <= facts.lines


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(
            [
                *MESSAGE.split(" "),
                "\n",
                "\r",
                "\x1b[31m",
                "&#39;",
                "> ",
                "`" * 3,
                "\u202e",
                "\\n",
                "\ufffd",
                "'",
                "{",
                "[[",
                "9" * 400,
            ]
        ),
        max_size=300,
    )
)
def test_shuffled_messages_are_diagnosed(words: list[str]) -> None:
    text = " ".join(words)
    if not text.strip():
        return
    diagnose(read(text.encode(), "x"), Tables.bundled())


def test_output_after_a_short_record_is_not_joined_to_it() -> None:
    records = [
        (
            "2026-01-02 03:04:05.678901: I external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:454]"
            " Loaded cuDNN version 8907"
        ),
        "4/4 - 0s - 0ms/step - loss: 0.0000e+00",
        (
            "2026-01-02 03:04:05.678901: I external/local_xla/xla/service/service.cc:168] XLA service 0x5"
            " initialized for platform CUDA (this does not guarantee that XLA will be used). Devices:"
        ),
    ]
    assert {f.version for f in read("\n".join(records).encode()).of(CudnnVersion)} == {"8.9.7"}


def test_record_that_a_program_wrapped_and_indented_is_joined() -> None:
    text = (
        "2017-07-02 15:57:33.230281: W tensorflow/core/common_runtime/bfc_allocator.cc:217]\n"
        "  Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.59GiB. The\n"
        "  caller indicates that this is not a failure, but may mean that there\n"
        "  could be performance gains if more memory is available.\n"
    )
    assert diagnose(read(text.encode()), Tables.bundled()).verdict.code == "benign-messages"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "我的显卡没有被检测到,安装了驱动也不行,请问这个错误怎么解决"),
        ("cp950", "我的顯示卡沒有被偵測到,安裝了驅動程式也不行,請問這個錯誤怎麼解決"),
        ("cp949", "그래픽 카드가 인식되지 않습니다. 드라이버를 설치했는데도 오류가 납니다"),
        ("cp932", "ドライバをインストールしたのにグラフィックカードが認識されません"),
        (
            "cp1252",
            "La carte graphique n'est pas détectée après l'installation du pilote, où est l'erreur à présent",
        ),
    ],
)
def test_language_of_a_code_page_is_recognised_by_its_letters(encoding: str, text: str) -> None:
    assert encoding_of((text + "\n" + MESSAGE + "\n").encode(encoding)) == encoding


def test_progress_bar_among_lines_does_not_count_as_lines() -> None:
    assert missing(read(("10%\r20%\r30%\n" + MESSAGE + "\n").encode(), "a.log")) == [("libcudnn.so.7", 2)]


def test_a_separate_error_after_a_record_is_not_joined_to_it() -> None:
    record = (
        "E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle:"
        " CUDNN_STATUS_INTERNAL_ERROR"
    )
    report = (
        f"{record}\nUnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed"
        " to initialize\n"
    )
    assert unwrap(Text.of("pasted", split(report), 2)) is None


def test_a_record_that_is_cut_at_a_terminal_s_width_is_joined() -> None:
    record = (
        "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load\nLibrary"
        " 'libcudnn.so.8'\n"
    )
    joined = unwrap(Text.of("pasted", split(record), 2))
    assert joined is not None
    assert "'libcudnn.so.8'" in joined.text
