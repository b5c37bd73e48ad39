"""Tests `%tfgpu` in real kernels that nbclient and papermill drive as JupyterLab does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, program
from tests.tensorflow_envs import NEWEST, package_env, tensorflow_env

if TYPE_CHECKING:
    from typing import TypeAlias

nbformat = pytest.importorskip(
    "nbformat", reason="needs nbclient and ipykernel (pip install nbclient ipykernel)"
)
nbclient = pytest.importorskip(
    "nbclient", reason="needs nbclient and ipykernel (pip install nbclient ipykernel)"
)
pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel (pip install nbclient ipykernel)")

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(os.name != "posix", reason="needs POSIX file descriptors"),
]
LOAD = "%load_ext doctor.notebook"
LOG = (
    "2024-03-01 10:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not"
    " load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file:"
    " No such file or directory\\n2024-03-01 10:00:00.100000: W"
    " tensorflow/core/common_runtime/gpu/gpu_device.cc:1850] Cannot dlopen some GPU libraries. Please make"
    " sure the missing libraries mentioned above are installed properly if you would like to use"
    " GPU.\\nSkipping registering GPU devices...\\n"
)
PRINTS = f'import os; _ = os.write(2, b"{LOG}")'
"""Writes as TensorFlow's C++ code does: to the descriptor, and not through Python's sys.stderr."""

Run: TypeAlias = "Callable[..., Any]"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Make the specification of a kernel. Returns its name."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    def make(*argv: str, name: str = "tfgpu-test", **env: str) -> str:
        folder = tmp_path / "jupyter" / "kernels" / name
        folder.mkdir(parents=True)
        launched = [*(argv or (sys.executable,)), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        if len(argv) > 1:
            launched = [*argv, "-f", "{connection_file}"]
        variables = {"PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1", **env}
        (folder / "kernel.json").write_text(
            json.dumps({"argv": launched, "display_name": name, "language": "python", "env": variables})
        )
        return name

    return make


def run(kernel: str, *cells: str, timeout: int = 90) -> list[list[dict[str, Any]]]:
    """Run cells in a kernel. Returns the outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # with it, ipykernel ignores the descriptors
        nbclient.NotebookClient(notebook, kernel_name=kernel, timeout=timeout, allow_errors=True).execute()
    return [list(cell.outputs) for cell in notebook.cells]


def streams(outputs: list[dict[str, Any]], name: str = "stdout") -> str:
    return "".join(out["text"] for out in outputs if out["output_type"] == "stream" and out["name"] == name)


def shown(outputs: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [out["data"] for out in outputs if out["output_type"] == "display_data"]


def errors(outputs: list[dict[str, Any]]) -> list[str]:
    return [out["ename"] for out in outputs if out["output_type"] == "error"]


def test_a_cell_is_explained_below_its_output_and_auto_explains_each_error_once(kernels: Run) -> None:
    outputs = run(
        kernels(),
        LOAD,
        f"%%tfgpu\n{PRINTS}\nprint('done')",
        "%%tfgpu\nx = 1",
        "%%tfgpu\nraise KeyError('mine')",
        "%%tfgpu\nx = = 1",
        "x = 2",
        "1 / 0",
        "%tfgpu auto",
        "1 / 0",
        "raise MemoryError('CUDA out of memory')",
        PRINTS,
        PRINTS,
        "import sys; print('careful', file=sys.stderr)",
        "%tfgpu off",
        "%tfgpu auto",
        PRINTS,
        "%tfgpu off",
        PRINTS,
    )
    _, cell, quiet, *failing = outputs[:7]
    (explanation,) = shown(cell)
    assert "cuda-missing" in explanation["text/plain"] or "not on this machine" in explanation["text/plain"]
    assert set(explanation) == {"text/plain", "text/markdown", "text/html"}
    assert explanation["text/html"].startswith("<iframe sandbox srcdoc=")
    assert "<script" not in explanation["text/html"]
    assert streams(cell).strip() == "done"
    assert "libcudart.so.11.0" in streams(cell, "stderr"), "what is captured is passed on"
    (nothing,) = shown(quiet)
    assert "printed nothing in this cell" in nothing["text/plain"]
    assert [errors(one) for one in failing] == [["KeyError"], ["SyntaxError"], [], ["ZeroDivisionError"]]
    assert len(shown(failing[0])) == 1, "and the exception stays the program's own"
    automatic = outputs[7:]
    assert [len(shown(cell)) for cell in automatic] == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert errors(automatic[1]) == ["ZeroDivisionError"]
    assert errors(automatic[2]) == ["MemoryError"]


DESCRIPTORS = """import os
def target(name):
    try:
        return os.readlink("/proc/self/fd/" + name)
    except OSError:  # the one that lists them
        return ""
targets = map(target, os.listdir("/proc/self/fd"))
pipes = sorted(one for one in targets if one.startswith("pipe:"))
print(os.fstat(2).st_ino, os.get_inheritable(2), pipes)"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts descriptors in /proc")
def test_file_descriptors_are_restored(kernels: Run) -> None:
    cells = ["%%tfgpu\nimport os; _ = os.write(2, b'x' * 300000)", "%%tfgpu\nraise ValueError"] * 4
    outputs = run(
        kernels(),
        LOAD,
        *cells[:2],
        DESCRIPTORS,
        *cells,
        "%tfgpu auto",
        *(["1"] * 5),
        "%tfgpu off",
        DESCRIPTORS,
    )
    assert streams(outputs[3]) == streams(outputs[-1])
    assert streams(outputs[4], "stderr").count("x") == 300000


@pytest.mark.slow
def test_background_program_does_not_delay_a_cell(kernels: Run) -> None:
    start = (
        "%%tfgpu\nimport subprocess, time\nbegun = time.time()\n"
        "p = subprocess.Popen(['sh', '-c', 'sleep 3; echo later >&2; sleep 1'])"
    )
    outputs = run(
        kernels(), LOAD, start, "took = time.time() - begun; print(took < 1.5, took)", "print(p.wait())"
    )
    assert streams(outputs[2]).startswith("True"), streams(outputs[2])
    assert streams(outputs[3]).strip() == "0", "it was not killed by a pipe that nobody reads"


@pytest.mark.slow
def test_this_kernel_is_examined_and_compared_with_a_login_shell(kernels: Run, tmp_path: Path) -> None:
    (tmp_path / "home" / ".bashrc").write_text("export LD_LIBRARY_PATH=/usr/local/cuda/lib64\n")
    name = kernels(CUDA_VISIBLE_DEVICES="-1", LD_LIBRARY_PATH="", HOME=str(tmp_path / "home"))
    _, first, _, second = run(
        name, LOAD, "%tfgpu", "import os; os.environ['LD_LIBRARY_PATH'] = '/late'", "%tfgpu"
    )
    (answer,) = shown(first)
    text = answer["text/plain"]
    assert "CUDA_VISIBLE_DEVICES is '-1' in this kernel" in text
    in_container = Path("/.dockerenv").exists() or "were not compared" in text
    assert (
        in_container
        or "LD_LIBRARY_PATH is not set in this kernel; a login shell sets it to '/usr/local/cuda/lib64'"
        in text
    )
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in text
    assert "after this kernel had started" in shown(second)[0]["text/plain"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "where"), [("COLAB_RELEASE_TAG", "Colab"), ("KAGGLE_KERNEL_RUN_TYPE", "Kaggle")]
)
def test_the_service_that_runs_a_kernel_is_recognised(kernels: Run, variable: str, where: str) -> None:
    _, outputs = run(
        kernels(**{variable: "release-1"}),
        LOAD,
        "from doctor import api\nimport"
        " sys\nprint(api.check(sys.executable).to_dict()['facts']['environment']['value'])",
    )
    assert where.lower() in streams(outputs)


@pytest.mark.slow
def test_unloading_the_extension_removes_everything(kernels: Run) -> None:
    outputs = run(
        kernels(),
        LOAD,
        "%tfgpu auto",
        "%unload_ext doctor.notebook",
        PRINTS,
        "%tfgpu",
        LOAD,
        "%tfgpu nonsense",
    )
    assert shown(outputs[3]) == []
    assert "UsageError" in streams(outputs[4], "stderr") + "".join(errors(outputs[4]))
    assert "accepts `auto`, `off` or no argument" in streams(outputs[6])


@pytest.mark.slow
def test_papermill_fails_in_the_same_way_as_without_the_extension(kernels: Run, tmp_path: Path) -> None:
    cells = [LOAD, "%tfgpu auto", PRINTS, "%%tfgpu\nraise RuntimeError('of the cell')", "print('never')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "in.ipynb")
    command = [program("papermill"), "-k", kernels(), "--no-progress-bar", "in.ipynb", "out.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "RuntimeError: of the cell" in done.stderr
    made = nbformat.read(tmp_path / "out.ipynb", 4)
    explained = [cell for cell in made.cells if cell.cell_type == "code" and shown(cell.outputs)]
    assert len(explained) == 2


@pytest.mark.slow
def test_old_kernel_that_drops_the_output_is_explained(kernels: Run) -> None:
    """ipykernel 5 does not show text that is written directly to the file descriptor, so the explanation
    quotes the text."""
    python = package_env("ipykernel-5", ["ipykernel==5.5.6", "ipython<8", "packaging", "rich"], 8, 11)
    _, cell, _, auto = run(kernels(str(python)), LOAD, f"%%tfgpu\n{PRINTS}", "%tfgpu auto", PRINTS)
    assert "libcudart.so.11.0" in shown(cell)[0]["text/plain"]
    assert len(shown(auto)) == 1
    assert "libcudart" not in streams(cell, "stderr")


@pytest.mark.tensorflow
@pytest.mark.slow
def test_real_tensorflow_on_the_simulated_gpu_is_explained(kernels: Run) -> None:
    """The kernel runs in an environment with TensorFlow. ipykernel comes from the test environment, which is
    last on the search path."""
    import ipykernel

    behind = str(Path(ipykernel.__file__).parent.parent)
    launch = (
        f"import sys; sys.path.append({behind!r}); from ipykernel import kernelapp;"
        " kernelapp.launch_new_instance()"
    )
    simulated = [
        sys.executable,
        "-m",
        "doctor",
        "simulate",
        "--gpu",
        "T4",
        "--fault",
        "cudnn-out-of-memory",
        "--",
    ]
    kernel = kernels(*simulated, str(tensorflow_env(NEWEST)), "-c", launch)
    conv = "x = tf.nn.conv2d(tf.ones((1, 8, 8, 1)), tf.ones((3, 3, 1, 1)), 1, 'SAME')"
    unrelated = (
        "import keras\nclass Own(keras.callbacks.Callback):\n  def on_epoch_begin(self, *a): raise"
        " KeyError('mine')\nwith tf.device('CPU:0'):\n  m = keras.Sequential([keras.layers.Dense(1)]);"
        " m.compile(loss='mse')\n  m.fit(tf.ones((2, 1)), tf.ones((2, 1)), verbose=0, callbacks=[Own()])"
    )
    outputs = run(
        kernel,
        LOAD,
        "%tfgpu auto",
        "import tensorflow as tf; len(tf.config.list_physical_devices('GPU'))",
        conv,
        conv,
        unrelated,
        timeout=300,
    )
    assert outputs[2][-1]["data"]["text/plain"] == "1"
    assert errors(outputs[3])
    (explanation,) = shown(outputs[3])
    assert "cuDNN" in explanation["text/plain"]
    assert shown(outputs[4]) == [], "once"
    assert errors(outputs[5])
    assert shown(outputs[5]) == [], "the error is the user's own, although Keras called the code"
