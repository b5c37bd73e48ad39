"""Tests the four kinds of reports that the project promises to read correctly. They are written like real
logs."""

from __future__ import annotations

import re

import pytest

from doctor.findings import Diagnosis
from tests.rules.situation import diagnosed, line_of

MISSING = (
    "libcudart.so.10.0",
    "libcublas.so.10.0",
    "libcufft.so.10.0",
    "libcurand.so.10.0",
    "libcusolver.so.10.0",
    "libcusparse.so.10.0",
)

_DSO = "tensorflow/stream_executor/platform/default/dso_loader.cc"
_REFUSED = "\n".join(
    f"2019-09-03 16:20:44.8{n}1207: I {_DSO}:53] Could not dlopen library '{name}'; dlerror: {name}: cannot"
    " open shared object file: No such file or directory; LD_LIBRARY_PATH:"
    " /usr/local/cuda-10.1/lib64:/opt/openmpi/lib"
    for n, name in enumerate(MISSING, 10)
)
_XLA = "\n".join(
    f'name: "/device:XLA_GPU:{n}"\ndevice_type: "XLA_GPU"\nmemory_limit: 17179869184\nlocality'
    f' {{\n}}\nincarnation: 551720394817{n}\nphysical_device_desc: "device: XLA_GPU device"'
    for n in range(4)
)
_CARD = "\n".join(
    f"2019-09-03 16:20:44.79{n}402: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1640] Found device {n}"
    " with properties: \nname: Tesla P100-PCIE-16GB major: 6 minor: 0 memoryClockRate(GHz):"
    f" 1.3285\npciBusID: 0000:{bus}:00.0"
    for n, bus in enumerate(("08", "0c", "84", "88"))
)

CUDA_10_1_UNDER_TENSORFLOW_1_14 = f"""$ python
Python 3.6.8 (default, May  2 2019, 20:40:44)
>>> import tensorflow as tf
>>> tf.__version__
'1.14.0'
>>> from tensorflow.python.client import device_lib
>>> device_lib.list_local_devices()
2019-09-03 16:20:44.201934: I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA
2019-09-03 16:20:44.219876: I {_DSO}:42] Successfully opened dynamic library libcuda.so.1
{_CARD}
{_REFUSED}
2019-09-03 16:20:45.014533: I {_DSO}:42] Successfully opened dynamic library libcudnn.so.7
2019-09-03 16:20:45.014561: W tensorflow/core/common_runtime/gpu/gpu_device.cc:1663] Cannot dlopen some GPU libraries. Skipping registering GPU devices...
2019-09-03 16:20:45.290811: I tensorflow/compiler/xla/service/service.cc:168] XLA service 0x55d1c7a2f310 executing computations on platform CUDA. Devices:
2019-09-03 16:20:45.290842: I tensorflow/compiler/xla/service/service.cc:175]   StreamExecutor device (0): Tesla P100-PCIE-16GB, Compute Capability 6.0
[name: "/device:CPU:0"
device_type: "CPU"
memory_limit: 268435456
{_XLA}
]
"""

CONVOLUTION_ON_WINDOWS_2_1 = r"""Windows 10, Python 3.7.6, tensorflow 2.1.0, GeForce RTX 2060

2020-03-14 11:02:17.402118: I tensorflow/stream_executor/platform/default/dso_loader.cc:44] Successfully opened dynamic library cudart64_101.dll
2020-03-14 11:02:19.127734: I tensorflow/stream_executor/platform/default/dso_loader.cc:44] Successfully opened dynamic library nvcuda.dll
2020-03-14 11:02:19.151902: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1555] Found device 0 with properties:
pciBusID: 0000:01:00.0 name: GeForce RTX 2060 computeCapability: 7.5
coreClock: 1.2GHz coreCount: 30 deviceMemorySize: 6.00GiB deviceMemoryBandwidth: 312.97GiB/s
2020-03-14 11:02:19.155508: I tensorflow/stream_executor/platform/default/dso_loader.cc:44] Successfully opened dynamic library cublas64_10.dll
2020-03-14 11:02:19.160127: I tensorflow/stream_executor/platform/default/dso_loader.cc:44] Successfully opened dynamic library cudnn64_7.dll
2020-03-14 11:02:19.161310: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1697] Adding visible gpu devices: 0
2020-03-14 11:02:19.702377: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1241] Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 4617 MB memory) -> physical GPU (device: 0, name: GeForce RTX 2060, pci bus id: 0000:01:00.0, compute capability: 7.5)
2020-03-14 11:02:23.114482: E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR
2020-03-14 11:02:23.120918: W tensorflow/core/common_runtime/base_collective_executor.cc:217] BaseCollectiveExecutor::StartAbort Unknown: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking to see if a warning log message was printed above.
	 [[{{node sequential/conv2d/Conv2D}}]]
Traceback (most recent call last):
  File "C:\Users\mira\work\digits.py", line 31, in <module>
    model.fit(x_train, y_train, epochs=5)
tensorflow.python.framework.errors_impl.UnknownError:  Failed to get convolution algorithm. This is probably because cuDNN failed to initialize, so try looking to see if a warning log message was printed above. [Op:__inference_distributed_function_970]
"""

INT32_ON_THE_GPU_1_8 = """$ python3 place.py
2018-06-20 09:11:40.330142: I tensorflow/core/platform/cpu_feature_guard.cc:140] Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA
2018-06-20 09:11:40.601935: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1356] Found device 0 with properties:
name: GeForce GTX 1070 major: 6 minor: 1 memoryClockRate(GHz): 1.683
pciBusID: 0000:01:00.0
totalMemory: 7.92GiB freeMemory: 7.54GiB
2018-06-20 09:11:40.991217: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1053] Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 7288 MB memory) -> physical GPU (device: 0, name: GeForce GTX 1070, pci bus id: 0000:01:00.0, compute capability: 6.1)
Traceback (most recent call last):
  File "/home/mira/.local/lib/python3.5/site-packages/tensorflow/python/client/session.py", line 1322, in _do_call
    return fn(*args)
tensorflow.python.framework.errors_impl.InvalidArgumentError: Cannot assign a device to node 'a_gpu': Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for GPU devices is available.
Registered kernels:
  device='CPU'
  device='GPU'; dtype in [DT_HALF]
  device='GPU'; dtype in [DT_FLOAT]

	 [[Node: a_gpu = VariableV2[container="", dtype=DT_INT32, shape=[], shared_name="", _device="/device:GPU:0"]()]]

Caused by op 'a_gpu', defined at:
  File "place.py", line 6, in <module>
    a_gpu = tf.Variable(0, name="a_gpu")
"""

HEALTHY_LINUX_2_10 = """Python 3.9.13
>>> import tensorflow as tf
2022-10-04 18:40:02.118823: I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary is optimized with oneAPI Deep Neural Network Library (oneDNN) to use the following CPU instructions in performance-critical operations:  AVX2 FMA
To enable them in other operations, rebuild TensorFlow with the appropriate compiler flags.
2022-10-04 18:40:02.239018: I tensorflow/core/util/util.cc:169] oneDNN custom operations are on. You may see slightly different numerical results due to floating-point round-off errors from different computation orders. To turn them off, set the environment variable `TF_ENABLE_ONEDNN_OPTS=0`.
2022-10-04 18:40:02.266119: E tensorflow/stream_executor/cuda/cuda_blas.cc:2981] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered
2022-10-04 18:40:02.884012: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file: No such file or directory; LD_LIBRARY_PATH: /opt/tf/lib
2022-10-04 18:40:02.884075: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library 'libnvinfer_plugin.so.7'; dlerror: libnvinfer_plugin.so.7: cannot open shared object file: No such file or directory; LD_LIBRARY_PATH: /opt/tf/lib
2022-10-04 18:40:02.884080: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Cannot dlopen some TensorRT libraries. If you would like to use Nvidia GPU with TensorRT, please make sure the missing libraries mentioned above are installed properly.
>>> tf.__version__
'2.10.0'
>>> tf.ones(1)
2022-10-04 18:40:14.710043: I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:980] successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA node zero
2022-10-04 18:40:14.733101: I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:980] successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA node zero
2022-10-04 18:40:15.212987: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1616] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 9641 MB memory:  -> device: 0, name: NVIDIA GeForce RTX 3060, pci bus id: 0000:0a:00.0, compute capability: 8.6
Epoch 1/3
2022-10-04 18:40:17.401955: I tensorflow/stream_executor/cuda/cuda_dnn.cc:384] Loaded cuDNN version 8101
1563/1563 [==============================] - 11s 6ms/step - loss: 1.5131 - accuracy: 0.4487
"""

HEALTHY_WINDOWS_2_10 = r"""C:\Users\mira> python digits.py
2022-10-06 20:01:31.700172: I tensorflow/core/platform/cpu_feature_guard.cc:193] This TensorFlow binary is optimized with oneAPI Deep Neural Network Library (oneDNN) to use the following CPU instructions in performance-critical operations:  AVX AVX2
To enable them in other operations, rebuild TensorFlow with the appropriate compiler flags.
2022-10-06 20:01:32.401285: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1616] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 5472 MB memory:  -> device: 0, name: NVIDIA GeForce RTX 3070 Laptop GPU, pci bus id: 0000:01:00.0, compute capability: 8.6
2.10.0
Epoch 1/3
2022-10-06 20:01:35.117720: I tensorflow/stream_executor/cuda/cuda_dnn.cc:384] Loaded cuDNN version 8100
2022-10-06 20:01:36.020814: I tensorflow/core/platform/default/subprocess.cc:304] Start cannot spawn child process: No such file or directory
2022-10-06 20:01:36.531029: W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.29GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.
1875/1875 [==============================] - 14s 6ms/step - loss: 0.1401 - accuracy: 0.9573
"""


def quoted_lines(diagnosis: Diagnosis) -> set[int | None]:
    return {source.line for source in diagnosis.verdict.evidence}


def test_cuda_10_1_with_a_build_that_loads_10_0() -> None:
    text = CUDA_10_1_UNDER_TENSORFLOW_1_14
    diagnosis = diagnosed(text)
    verdict = diagnosis.verdict
    assert verdict.code == "cuda-version-mismatch"
    assert verdict.severity == "error"
    lines = quoted_lines(diagnosis)
    assert line_of(text, "Could not dlopen library 'libcudart.so.10.0'") in lines
    assert line_of(text, "Skipping registering GPU devices") in lines
    assert any("cuda-10.1" in source.text for source in verdict.evidence)
    assert "10.0" in verdict.explanation
    assert "10.1" in verdict.explanation
    assert "XLA_GPU" in verdict.explanation
    assert "do not mean that TensorFlow uses the GPUs" in verdict.explanation
    assert "libcudnn" not in " ".join(s.text for s in verdict.evidence if "Could not" in s.text)
    steps = [step.text for step in verdict.prescription]
    assert any("cudatoolkit=10.0" in step or "CUDA Toolkit 10.0" in step for step in steps)
    assert not any("[and-cuda]" in step for step in steps)  # TensorFlow 1.14 has no such extra
    assert "device_lib" in verdict.verify  # tf.config.list_physical_devices exists since 2.1


def test_the_missing_libraries_are_one_finding_and_no_error_of_another_cause() -> None:
    codes = [
        finding.code
        for finding in diagnosed(CUDA_10_1_UNDER_TENSORFLOW_1_14).findings
        if finding.severity == "error"
    ]
    assert codes == ["cuda-version-mismatch"]


def test_convolution_algorithm_on_windows_with_2_1() -> None:
    text = CONVOLUTION_ON_WINDOWS_2_1
    diagnosis = diagnosed(text)
    verdict = diagnosis.verdict
    assert verdict.code == "cudnn-init-oom"
    assert line_of(text, "Could not create cudnn handle") in quoted_lines(diagnosis)
    first, *others = verdict.prescription
    assert first.kind == "python"
    assert "set_memory_growth(gpu, True)" in first.text
    assert "ConfigProto" not in first.text
    compare = next(step for step in others if "compare versions" in step.text)
    assert "cuDNN 7" in compare.text
    assert "CUDA 10.1" in compare.text
    assert any(step.text == "set TF_FORCE_GPU_ALLOW_GROWTH=true" for step in others)
    assert not any("export " in step.text for step in others)
    assert verdict.verify.startswith("python -c")


def test_an_int32_variable_pinned_to_the_gpu() -> None:
    text = INT32_ON_THE_GPU_1_8
    diagnosis = diagnosed(text)
    verdict = diagnosis.verdict
    assert verdict.code == "op-no-gpu-kernel"
    assert line_of(text, "Cannot assign a device to node 'a_gpu'") in quoted_lines(diagnosis)
    first = verdict.prescription[0]
    assert first.kind == "python"
    assert "tf.ConfigProto(allow_soft_placement=True)" in first.text
    assert "set_soft_device_placement" not in first.text
    assert "int32" in verdict.explanation
    assert line_of(text, "dtype=DT_INT32") in quoted_lines(diagnosis)
    assert verdict.verify == "python3 program.py"  # a list of devices is the same before and after


@pytest.mark.parametrize("text", [HEALTHY_LINUX_2_10, HEALTHY_WINDOWS_2_10], ids=["linux", "windows"])
def test_a_healthy_log_of_2_10_is_no_error(text: str) -> None:
    diagnosis = diagnosed(text)
    assert diagnosis.worst == "info"
    assert diagnosis.verdict.code in ("benign-messages", "healthy")
    assert not diagnosis.verdict.prescription or all(
        step.kind == "manual" for step in diagnosis.verdict.prescription
    )


def test_the_alarming_lines_of_a_healthy_log_are_called_harmless() -> None:
    verdict = diagnosed(HEALTHY_LINUX_2_10).verdict
    assert verdict.code == "benign-messages"
    assert "NUMA node" in verdict.explanation
    assert "TensorRT is an optional" in verdict.explanation
    assert "A GPU is registered and in use" in verdict.explanation


def test_no_sentence_of_a_rule_mentions_the_text() -> None:
    """A rule can judge both machines and reports, so no sentence in its finding mentions "the text"."""
    import ast
    from pathlib import Path

    import doctor.rules

    found = []
    for path in sorted(Path(doctor.rules.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
        pages = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in pages | notes
                and re.search(r"\bthe text\b", node.value)
            ):
                found.append((path.name, node.lineno, node.value[:60]))
    assert found == []


def handle_failed(free_mib: int) -> str:
    return (
        "TensorFlow 2.15.0\nE external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:447] Could not create"
        " cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\nE"
        f" external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:456] Memory usage: {free_mib << 20} bytes"
        f" free, {8192 << 20} bytes total.\n"
    )


@pytest.mark.parametrize(
    ("free_mib", "confidence"),
    [(4, "likely"), (300, "likely"), (1100, "possible"), (1536, "possible"), (1900, "possible")],
)
def test_memory_is_the_likely_cause_only_if_little_was_free(free_mib: int, confidence: str) -> None:
    verdict = diagnosed(handle_failed(free_mib)).verdict
    assert (verdict.code, verdict.confidence) == ("cudnn-init-oom", confidence)
    assert (f"{free_mib} MiB" in verdict.explanation) is (confidence == "possible")


def test_memory_is_not_blamed_if_much_was_free() -> None:
    assert diagnosed(handle_failed(4000)).verdict.code != "cudnn-init-oom"
