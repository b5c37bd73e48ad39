"""Tests that look-ups in the tables give an answer, or report that there is none, whatever text people use as
a name or a version."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from doctor.compat import Situation, newest, runs_on_driver, runs_with_cuda, runs_with_cudnn
from doctor.tables import Tables
from doctor.tables.answers import NoSuchRowError
from doctor.tables.lookup import look_up
from tests.conftest import BUNDLED
from tests.sampling import examples

TABLES = Tables(BUNDLED)
BOUNDED = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
ANYTHING = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[0-9.]{0,30}", fullmatch=True),
    st.sampled_from(
        [
            "12.",
            ".",
            "-1",
            "1e9",
            "9" * 400,
            "2.15." + "9" * 5000,
            "11u" + "9" * 5000,
            "9" * 5000,
            "2.15.0\n",
            "v2.15",
            "R",
            "u",
            "11u",
            "Update",
            "8.6.1",
            "10de:",
            "sm_",
        ]
    ),
)


@pytest.mark.parametrize("table", ["tensorflow", "driver", "cuda", "cudnn", "gpu", "library", "trap"])
@given(key=ANYTHING)
@BOUNDED
def test_any_key_gets_an_answer_or_the_nearest_rows(table: str, key: str) -> None:
    try:
        found = look_up(TABLES, table, key, None, None)
    except NoSuchRowError:
        return
    assert found.render("json")
    assert found.render("text")


@given(driver=ANYTHING, cuda=ANYTHING, cudnn=ANYTHING)
@BOUNDED
def test_any_version_gets_a_verdict(driver: str, cuda: str, cudnn: str) -> None:
    build = TABLES.tensorflow("2.15.1")
    assert build is not None
    for answer in (
        runs_on_driver(build, driver, TABLES),
        runs_with_cuda(build, cuda, TABLES),
        runs_with_cudnn(build, cudnn, TABLES),
    ):
        assert answer.verdict in ("yes", "slow", "no", "unknown")
        assert answer.reason


@given(
    python=st.sampled_from(["2.7", "3.6", "3.8", "3.11", "3.13", "4.0"]),
    capability=st.sampled_from(
        ["2.1", "3.0", "3.7", "5.0", "6.1", "7.0", "7.5", "8.6", "9.0", "12.0", "13.0"]
    ),
    driver=st.sampled_from(
        [None, "390.77", "418.39", "450.80.02", "470.256.02", "525.60.13", "535.183.01", "580.95.05"]
    ),
    platform=st.sampled_from(["linux-x86_64", "windows-amd64"]),
)
@BOUNDED
def test_newest_build_fits_in_every_aspect(
    python: str, capability: str, driver: str | None, platform: str
) -> None:
    found = newest(
        TABLES, Situation(platform=platform, python=python, capabilities=(capability,), driver=driver)
    )
    if found is None:
        return
    assert python in found.build.pythons
    assert found.build.gpu
    assert found.overall.verdict != "no" or found.overall.cure
    for _, answer in found.answers:
        assert answer.rows or answer.verdict == "unknown", "every verdict cites a row"
