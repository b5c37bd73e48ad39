"""Tests reports in which a circumstance decides whether there is a fault, even if their sentences suggest
otherwise."""

from __future__ import annotations

from doctor import api
from doctor.diagnose import Diagnosis, diagnose, gathered
from doctor.judge.contradictions import against
from doctor.judge.rank import UNPROVED
from doctor.logs import read
from doctor.tables import Tables


def diagnosed(text: str) -> Diagnosis:
    return diagnose(read(text.encode(), "-"), Tables.bundled())


def ruled_out(text: str) -> set[str]:
    """Return the codes against which there is evidence in a report."""
    case, _, parts = gathered(read(text.encode(), "-"), Tables.bundled())
    return {code for _, code, _ in against(case, parts)}


SHOWN = (
    "2019-11-23 14:07:00.360695: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1618] Found device 0 with"
    " properties: \nname: GeForce RTX 2080 major: 7 minor: 5 memoryClockRate(GHz): 1.71\npciBusID:"
    " 0000:01:00.0\n"
)
TAKEN = (
    "2019-11-23 14:07:00.362740: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1746] Adding visible gpu"
    " devices: 0\n"
)
NUMA = (
    "2018-08-27 08:53:45.122036: I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:964] successful NUMA"
    " node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning"
    " NUMA node zero\n"
)


def test_a_log_that_stops_where_the_gpu_is_added_is_one_of_a_gpu_that_works() -> None:
    assert diagnosed(f"Is this output ok?\n\n{NUMA}{SHOWN}{TAKEN}").verdict.code == "healthy"


def test_a_log_that_stops_before_the_gpu_is_added_does_not_prove_that_the_gpu_works() -> None:
    verdict = diagnosed(f"Is this output ok?\n\n{SHOWN}").verdict
    assert verdict.confidence == "possible"
    assert verdict.title in (UNPROVED, "The evidence is not enough for a verdict")


def test_a_gpu_that_is_added_and_then_runs_out_of_memory_is_not_healthy() -> None:
    failed = (
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:806] failed call to cuDevicePrimaryCtxRetain:"
        " CUDA_ERROR_OUT_OF_MEMORY\n"
    )
    assert diagnosed(f"{SHOWN}{TAKEN}{failed}").verdict.code == "gpu-memory-held"


def test_a_gpu_that_tensorflow_found_is_not_hidden_by_the_driver() -> None:
    assert {"gpu-hidden", "driver-missing", "container-no-gpu"} <= ruled_out(SHOWN)
    assert "driver-missing" not in ruled_out(f"{SHOWN}\nMy own program says CUDA_ERROR_NO_DEVICE\n")


def test_the_number_0_hides_no_gpu() -> None:
    assert "gpu-hidden" in ruled_out("I ran export CUDA_VISIBLE_DEVICES=0 and the GPU has nothing to do")
    assert "gpu-hidden" not in ruled_out("I ran export CUDA_VISIBLE_DEVICES=1 and the GPU has nothing to do")
    assert "gpu-hidden" not in ruled_out("I ran export CUDA_VISIBLE_DEVICES=0 and get CUDA_ERROR_NO_DEVICE")


def test_the_argument_cuda_only_false_is_not_the_answer() -> None:
    call = "tf.test.is_gpu_available(cuda_only=False, min_cuda_compute_capability=None)"
    assert not read(f"`{call}` gives True".encode(), "-").has("gpu-list-empty")
    assert read(f"`{call}` returns False".encode(), "-").has("gpu-list-empty")


def test_a_library_that_only_tensorrt_asks_for_is_not_missed() -> None:
    line = (
        "2024-02-18 00:47:52.195457: W"
        " tensorflow/compiler/xla/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic"
        " library '{}'; dlerror: libcublas.so.12: cannot open shared object file: No such file or directory\n"
    )
    assert diagnosed(line.format("libnvinfer_plugin.so.7")).verdict.code == "benign-messages"
    assert diagnosed(line.format("libcublas.so.12")).verdict.code == "cuda-missing"


def test_who_has_no_gpu_misses_no_cuda() -> None:
    lines = (
        "2020-07-23 23:23:51.875741: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could"
        " not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found\n2020-07-23"
        " 23:23:51.880431: I tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore above cudart dlerror"
        " if you do not have a GPU set up on your machine.\n"
    )
    assert diagnosed(f"What is this? I don't have a GPU.\n\n{lines}").verdict.code == "benign-messages"
    assert diagnosed(f"What is this? My GPU is not used.\n\n{lines}").verdict.code == "cuda-missing"


def test_the_list_of_the_allocators_chunks_is_printed_where_memory_ran_out() -> None:
    line = (
        "2018-01-27 14:53:01.837268: I tensorflow/core/common_runtime/bfc_allocator.cc:679] 3 Chunks of size"
        " 981504 totalling 2.81MiB\n"
    )
    assert diagnosed(line).verdict.code == "model-oom"


def test_memory_that_is_neither_free_nor_the_programs_own_is_held_by_others() -> None:
    text = (
        "RuntimeError: CUDA out of memory. (GPU 0; 31.75 GiB total capacity; {} already allocated; 44.69 MiB"
        " free)\n"
    )
    assert diagnosed(text.format("5.22 GiB")).verdict.code == "gpu-memory-held"
    assert diagnosed(text.format("31.10 GiB")).verdict.code != "gpu-memory-held"


def test_a_misspelt_variable_is_passed_wrongly() -> None:
    text = 'I put os.environ["{}"]="3" at the start of train.py, and tensorflow still takes every GPU.'
    assert diagnosed(text.format("CUDA_VISIBLE_DEVICE")).verdict.code == "gpu-config-conflict"
    assert diagnosed(text.format("CUDA_VISIBLE_DEVICES")).verdict.code != "gpu-config-conflict"


def test_a_build_that_has_cuda_is_not_one_for_the_cpu() -> None:
    text = "tf.test.is_built_with_cuda() is {}, and tf.test.is_gpu_available() is False"
    assert "tf-cpu-only" in ruled_out(text.format("True"))
    assert "tf-cpu-only" not in ruled_out(text.format("False"))


COMPLAINT = """I have 2 GPUs in this machine, but TensorFlow 2.0 only finds the first one.

>>> tf.config.experimental.list_physical_devices('GPU')
[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]
"""


def test_a_registered_gpu_beside_a_complaint_is_not_certainly_healthy() -> None:
    with_words = api.explain(COMPLAINT).verdict
    without = api.explain(COMPLAINT.partition("\n\n")[2]).verdict
    assert (without.code, without.confidence) == ("healthy", "certain")
    assert with_words.confidence != "certain"


def test_an_empty_list_below_the_log_lines_of_its_call_is_no_calm_report() -> None:
    features = (
        "2024-03-18 13:21:44.097589: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow"
        " binary is optimized to use available CPU instructions in performance-critical operations.\n"
        "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow with the"
        " appropriate compiler flags.\n"
    )
    call = ">>> tf.config.list_physical_devices('GPU')\n"
    version = ">>> tf.__version__\n'2.16.1'\n"
    assert diagnosed(f"{call}{features}[]\n{version}").verdict.severity == "error"
    assert diagnosed(f"{call}{features}{version}").verdict.code == "benign-messages"
