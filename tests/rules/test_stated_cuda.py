"""Tests reports with a library that cannot be loaded and a stated CUDA version: the verdict depends on
whether the two belong together."""

from __future__ import annotations

import itertools

from doctor.tables import Tables
from tests.rules.situation import diagnosed
from tests.sampling import each

TABLES = Tables.bundled()
STATED = sorted(
    {row.cuda for row in TABLES.toolkits()}
    & {"8.0", "9.0", "9.1", "9.2", "10.0", "10.1", "10.2", "11.0", "11.2", "11.8", "12.0", "12.4"}
)
RELEASES = [
    ("1.4.0", "8.0", "libcudart.so.8.0"),
    ("1.12.0", "9.0", "libcudart.so.9.0"),
    ("1.14.0", "10.0", "libcudart.so.10.0"),
    ("2.3.0", "10.1", "libcudart.so.10.1"),
    ("2.4.0", "11", "libcudart.so.11.0"),
    ("2.10.0", "11", "libcudart.so.11.0"),
    ("2.15.1", "12", "libcudart.so.12"),
]


@each("stated, row", list(itertools.product(STATED, RELEASES)))
def test_only_a_cuda_version_other_than_the_files_is_a_mismatch(
    row: tuple[str, str, str], stated: str
) -> None:
    release, opens, library = row
    report = (
        f"- OS Platform: Ubuntu 18.04\n- TensorFlow version: {release}\n- CUDA/cuDNN version: {stated}\n"
        f"ImportError: {library}: cannot open shared object file: No such file or directory\n"
    )
    code = diagnosed(report).findings[0].code
    same = stated == opens or stated.split(".")[0] == opens
    assert code in (("library-path", "cuda-missing") if same else ("cuda-version-mismatch",))
