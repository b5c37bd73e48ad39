"""Tests tables with a column for each machine: only the failing machine's versions are those of the case."""

from __future__ import annotations

from doctor import api
from tests.sampling import each

MARKDOWN = """\
The same script on two machines.

|            | desk      | server |
|------------|-----------|--------|
| TensorFlow | 2.10.1    | 2.10.1 |
| CUDA       | 11.2      | 12.2   |
| driver     | 470.82    | 535.104|
| result     | {} | {} |
"""
ALIGNED = """\
         mine     colleague's
tf       2.15.0   2.15.0
cuda     11.8     12.2
python   3.10     3.11

Mine sees no GPU.
"""
CONDA = """\
cudatoolkit               10.0.130                      0
cudnn                     7.6.5                cuda10.0_0
python                    3.6.13               h12debd9_1
tensorflow                1.15.0          gpu_py36h5a509aa_0
"""


def facts(text: str) -> dict[str, str]:
    return {name: fact["value"] for name, fact in api.explain(text).to_dict()["facts"].items()}


@each(
    "desk, server, cuda",
    [("GPU works", "no GPU", "12.2"), ("no GPU", "fine", "11.2"), ("unknown", "unknown", "12.2")],
)
def test_the_column_of_the_failing_machine_counts(desk: str, server: str, cuda: str) -> None:
    assert facts(MARKDOWN.format(desk, server))["cuda"] == cuda


def test_the_misfit_of_the_failing_machine_is_the_verdict() -> None:
    assert api.explain(MARKDOWN.format("GPU works", "no GPU")).verdict.code == "cuda-version-mismatch"


def test_columns_may_be_separated_by_spaces() -> None:
    assert facts(ALIGNED + "result  \t  no  \t  yes\n")["tensorflow"] == "2.15.0"


def test_a_list_of_packages_is_no_table_of_machines() -> None:
    known = facts(CONDA)
    assert (known["cuda"], known["cudnn"], known["tensorflow"]) == ("10.0.130", "7.6.5", "1.15.0")


def test_the_head_names_the_machine_that_the_question_is_about() -> None:
    text = (
        "An .h5 model that loads on Petra's machine fails on mine.\n\n"
        "            me                 Petra\n"
        "python      3.7.9              3.7.7\n"
        "tensorflow-gpu 1.15.0          1.15.0\n"
        "h5py        3.1.0              2.10.0\n"
    )
    assert api.explain(text).verdict.code == "python-dependency-conflict"
