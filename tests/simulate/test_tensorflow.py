"""Tests real TensorFlow on the simulated GPU, with `simulate` as people call it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.simulate import Simulation, environment, prepare
from tests.tensorflow_envs import NEWEST, OLDER, tensorflow_env

pytestmark = pytest.mark.tensorflow
PROGRAMS = Path(__file__).parent / "programs"
GENUINE = "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED"
RUN = "import sys; from doctor.cli import main; sys.exit(main())"


@pytest.fixture(params=[NEWEST, OLDER])
def python(request: pytest.FixtureRequest) -> Path:
    """The interpreter of an environment with TensorFlow."""
    return tensorflow_env(request.param)


def simulate(
    python: Path, *arguments: str, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Call `tfgpu-doctor simulate`. The word `python` in its arguments means the interpreter of the
    environment."""
    import os

    command = [str(python) if word == "python" else word for word in arguments]
    return subprocess.run(
        [sys.executable, "-c", RUN, "simulate", *command],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[2],
    )


def program(name: str) -> str:
    return str(PROGRAMS / f"{name}.py")


def test_gpu_0_is_listed(python):
    code = "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"
    done = simulate(python, "--", "python", "-c", code)
    assert done.returncode == 0
    assert done.stdout.strip() == "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"
    assert "a simulation without a real GPU" in done.stderr


def test_a_mix_of_gpus_is_created_with_each_ones_own_name_and_capability(python):
    done = simulate(python, "--gpu", "RTX 3070", "--gpu", "T4", "--", "python", program("devices"))
    assert "Num GPUs Available: 2" in done.stdout
    assert "name: NVIDIA GeForce RTX 3070, pci bus id: 0000:01:00.0, compute capability: 8.6" in done.stderr
    assert "name: Tesla T4, pci bus id: 0000:02:00.0, compute capability: 7.5" in done.stderr


def test_a_small_model_fits_one_epoch(python):
    done = simulate(python, "--", "python", program("convolution"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "epochs: 1")
    assert "Created device" in done.stderr
    assert "Loaded cuDNN version" in done.stderr


def test_a_small_matrix_product_is_right_and_on_the_gpu(python):
    done = simulate(python, "--", "python", program("matmul"))
    assert "device:GPU:0" in done.stdout
    assert re.sub(r"\s+", " ", done.stdout).endswith("[[22. 28.] [49. 64.]] ")


def test_a_cudnn_handle_that_needs_more_than_is_left_fails_with_tensorflows_own_line(python):
    done = simulate(python, "--fault", "cudnn-out-of-memory", "--", "python", program("convolution"))
    assert done.returncode == 1
    assert GENUINE in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["growth"], {}),
        ([], {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}),
        ([], {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}),
    ],
    ids=["set_memory_growth", "TF_FORCE_GPU_ALLOW_GROWTH", "cuda_malloc_async"],
)
def test_memory_growth_cures_it(python, arguments, variables):
    wanted = ["--fault", "cudnn-out-of-memory", "--", "python", program("convolution"), *arguments]
    done = simulate(python, *wanted, variables=variables)
    assert GENUINE not in done.stderr
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "epochs: 1")


@pytest.fixture
def shared_card(python: Path) -> Iterator[tuple[Simulation, Callable[..., subprocess.Popen[str]]]]:
    """A simulated card with 8 GiB on which a cuDNN handle takes 450 MiB (TensorFlow 2.21 makes two handles),
    and a function that starts TensorFlow programs on it."""
    started = []
    scenario = prepare(python=str(python), gpus=["RTX 3070"]).setting(cudnn__handle_mib=450)
    with environment(scenario) as simulation:

        def start(code: str) -> subprocess.Popen[str]:
            child = subprocess.Popen(
                [str(python), "-c", code],
                env=simulation.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            started.append(child)
            return child

        yield simulation, start
        for child in started:
            child.kill()
            child.communicate()


HOLD = "import tensorflow as tf, time; x = tf.zeros([8]); print('held', flush=True); time.sleep(600)"
CONVOLVE = "print(tf.nn.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 3, 4]), 1, 'SAME').device)"
IMPORT = "import tensorflow as tf; gpu = tf.config.list_physical_devices('GPU')[0]; "
GROW = "tf.config.experimental.set_memory_growth(gpu, True); "
LIMIT = (
    "tf.config.set_logical_device_configuration(gpu,"
    " [tf.config.LogicalDeviceConfiguration(memory_limit=200)]); "
)


def test_two_processes_contend_for_one_card(shared_card):
    _, start = shared_card
    first = start(HOLD)
    assert first.stdout is not None
    deadline = time.monotonic() + 120
    while "held" not in first.stdout.readline():
        assert time.monotonic() < deadline

    said, _ = start(IMPORT + CONVOLVE).communicate(timeout=120)
    left = re.search(r"Created device \S+GPU:0 with (\d+) MB", said)
    assert left is not None
    assert 200 < int(left[1]) < 1500  # of 8192; the first program has taken the rest
    assert GENUINE in said

    for cure in (GROW, LIMIT):
        child = start(IMPORT + cure + CONVOLVE)
        said, _ = child.communicate(timeout=120)
        assert GENUINE not in said
        assert child.returncode == 0, said
        assert said.rstrip().endswith("device:GPU:0")


def test_a_strategy_trains_on_two_gpus():
    done = simulate(tensorflow_env(NEWEST), "--count", "2", "--", "python", program("collective"))
    assert "Number of devices: 2" in done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "epochs: 1")


def test_growth_that_comes_too_late_is_caught(python):
    done = simulate(python, "--", "python", program("growth_late"))
    assert done.returncode == 1
    assert "Physical devices cannot be modified after being initialized" in done.stderr


def test_cuda_visible_devices_gives_tensorflow_the_same_devices_as_the_driver(python):
    code = "import tensorflow as tf; print(len(tf.config.list_physical_devices('GPU')))"
    for value, count in (("1,0", 2), ("0,7,1", 1), ("-1,0", 0), ("0,0", 0)):
        done = simulate(
            python, "--count", "2", "--", "python", "-c", code, variables={"CUDA_VISIBLE_DEVICES": value}
        )
        assert done.stdout.strip() == str(count), value
