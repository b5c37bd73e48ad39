"""Tests add-ons of TensorFlow in a report against the releases for which they were made."""

from __future__ import annotations

from doctor import api
from doctor.tables import Tables, addons
from tests.sampling import each


@each(
    "listed, complaint, code, command",
    [
        (
            "tensorflow 2.11.0\ntensorflow-text 2.8.2",
            "Importing tensorflow_text fails.",
            "tf-addon-mismatch",
            "'tensorflow-text==2.11.*'",
        ),
        (
            "tensorflow==2.4.1\ntensorflow-addons==0.16.1",
            "As soon as I import tensorflow_addons my program ends with an error. What can I do?",
            "tf-addon-mismatch",
            "'tensorflow-addons>=0.14,<0.15'",
        ),
        (
            "tensorflow==2.8.0\ntensorflow-probability==0.20.0",
            "Importing tensorflow_probability fails.",
            "tf-addon-mismatch",
            "'tensorflow-probability>=0.16,<0.17'",
        ),
        (
            "tensorflow-cpu==2.12.0\ntensorflow-directml-plugin==0.4.0.dev230202",
            "It stopped working after an upgrade, the plugin does not load. Windows 11.",
            "tf-addon-mismatch",
            '"tensorflow-cpu>=2.10,<2.11"',
        ),
    ],
)
def test_an_add_on_for_another_release_is_the_cause(
    listed: str, complaint: str, code: str, command: str
) -> None:
    report = api.explain(f"$ pip list\n{listed}\n\n{complaint}\n")
    assert report.verdict.code == code
    assert command in report.render("text")


@each(
    "listed",
    [
        "tensorflow==2.15.0\ntensorflow-io==0.36.0",
        "tensorflow==2.15.0\ntensorflow-addons==0.22.0",  # only its compiled ops may fail
        "tensorflow==2.18.0\ntensorflow-text==2.18.1",
    ],
)
def test_an_add_on_does_not_explain_an_empty_list_of_gpus(listed: str) -> None:
    report = api.explain(f"$ pip list\n{listed}\n\nlist_physical_devices('GPU') is empty, RTX 3090.\n")
    assert report.verdict.code != "tf-addon-mismatch"


def test_the_ranges_of_an_add_on_are_in_order_and_do_not_overlap() -> None:
    store = Tables.bundled().store
    for name in addons.packages(store):
        rows = [row for row in store.all("addons") if row["package"] == name]
        bounds = [row["versions"].replace(">=", "").split(",<") for row in rows if "versions" in row]
        for (_, end), (start, _) in zip(bounds, bounds[1:]):
            assert [int(n) for n in end.split(".")][:2] <= [int(n) for n in start.split(".")][:2]


@each(
    "listed, complaint, broken",
    [
        (
            "tensorflow==2.4.1\nnumpy==1.24.2",
            "import tensorflow ends with an AttributeError since I upgraded.",
            True,
        ),
        (
            "tensorflow==2.3.1\nnumpy==1.20.1",
            "model.add(LSTM(64)) stops with a NotImplementedError now.",
            True,
        ),
        (
            "tensorflow==2.3.1\nh5py==3.1.0",
            "load_model('m.h5') fails for all our old files since the rebuild.",
            True,
        ),
        (
            "tensorflow==2.6.5\nnumpy==1.21.6",
            "model.add(LSTM(64)) stops with a NotImplementedError now.",
            False,
        ),
        (
            "tensorflow==2.3.1\nnumpy==1.20.1",
            "The list of GPUs is empty, RTX 2070, driver 450.102.",
            False,
        ),
    ],
)
def test_a_numpy_or_h5py_that_breaks_a_release_is_the_cause(
    listed: str, complaint: str, broken: bool
) -> None:
    answer = api.explain(f"$ pip list\n{listed}\n\n{complaint}\n")
    misfits = {part.code for part in answer.diagnosis.compatibility if part.fits is False}
    assert ("python-dependency-conflict" in misfits) is broken
    if broken:
        assert answer.verdict.code == "python-dependency-conflict"
