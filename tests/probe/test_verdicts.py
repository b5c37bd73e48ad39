"""Tests machines with deliberate faults, which must get the right verdict, and machines without a fault,
which must not cause a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.findings import Diagnosis
from scripts.machines.skeleton import skeleton
from tests.probe.machines import CUDA, Folder
from tests.sampling import sampled

LIB = "/usr/lib/x86_64-linux-gnu"


def with_wheels(machine: Folder, release: str) -> Folder:
    """Add TensorFlow with the wheels of its extra and-cuda."""
    cuda, cudnn = {
        "2.15.1": ("12.2", "8.9.4.25"),
        "2.18.1": ("12.5", "9.3.0.75"),
        "2.21.0": ("12.5", "9.3.0.75"),
    }[release]
    return machine.python().tensorflow(release).cuda_wheels(cuda).cudnn_wheel(cudnn)


def with_toolkit(machine: Folder, release: str) -> Folder:
    """Add TensorFlow, and the CUDA toolkit and cuDNN for which it was built, on the loader's search path."""
    cuda, cudnn = {
        "1.15.0": ("10.0", "7.6.5"),
        "2.10.0": ("11.2", "8.1.1"),
        "2.15.1": ("12.2", "8.9.4"),
        "2.18.1": ("12.5", "9.3.0"),
        "2.21.0": ("12.5", "9.3.0"),
    }[release]
    python = {"1.15.0": "3.7", "2.10.0": "3.10"}.get(release, "3.11")
    package = "tensorflow-gpu" if release == "1.15.0" else "tensorflow"
    machine.python(python).tensorflow(release, package).toolkit(cuda).cudnn(cudnn, LIB)
    return machine.in_loader_cache(f"/usr/local/cuda-{cuda}/lib64")


def volta(machine: Folder) -> Folder:
    """A Tesla V100, for which every release from 1.5 on contains code."""
    return machine.gpu("1db4").driver().answers(capability="7.0", name="Tesla V100-PCIE-16GB")


def libraries_from_conda(machine: Folder) -> Folder:
    """CUDA 12.2 and cuDNN 8.9 in conda's lib folder."""
    for name in CUDA["12.2"]:
        machine.cuda_library("/opt/conda/lib", name, "12.2")
    return machine.cudnn("8.9.4", "/opt/conda/lib")


def codes(diagnosis: Diagnosis) -> list[str]:
    return [finding.code for finding in diagnosis.findings]


FAULTS: dict[str, tuple[str, Callable[[Folder], Folder]]] = {}


def fault(code: str) -> Callable[[Callable[[Folder], Folder]], Callable[[Folder], Folder]]:
    def register(make: Callable[[Folder], Folder]) -> Callable[[Folder], Folder]:
        FAULTS[make.__name__] = (code, make)
        return make

    return register


# --- GPU and driver


@fault("gpu-absent")
def no_gpu(machine: Folder) -> Folder:
    return with_wheels(machine, "2.15.1")


@fault("gpu-absent")
def only_an_amd_gpu(machine: Folder) -> Folder:
    return with_wheels(machine.pci("0000:03:00.0", "1002", "73bf", "030000", "amdgpu"), "2.15.1")


@fault("driver-missing")
def no_driver(machine: Folder) -> Folder:
    return with_wheels(machine.gpu(driver=None), "2.15.1")


@fault("driver-not-loaded")
def libraries_without_module(machine: Folder) -> Folder:
    return with_wheels(machine.gpu(driver=None).user_driver("550.54.14"), "2.15.1")


@fault("driver-not-loaded")
def nouveau_in_its_place(machine: Folder) -> Folder:
    with_wheels(machine.gpu(driver="nouveau").user_driver("550.54.14"), "2.15.1")
    return machine.write("/proc/modules", "nouveau 2506752 1 - Live 0x0\n")


@fault("driver-not-loaded")
def module_built_for_another_kernel(machine: Folder) -> Folder:
    with_wheels(machine.gpu(driver=None).user_driver("550.54.14"), "2.15.1")
    machine.write("/lib/modules/5.15.0-105-generic/modules.dep", "")
    return machine.write("/lib/modules/5.15.0-91-generic/updates/dkms/nvidia.ko", "")


@fault("driver-library-mismatch")
def module_and_libraries_differ(machine: Folder) -> Folder:
    return with_wheels(machine.gpu().kernel_module("535.129.03").user_driver("550.54.14"), "2.15.1")


@fault("driver-libcuda-missing")
def module_without_libcuda(machine: Folder) -> Folder:
    return with_wheels(machine.gpu().kernel_module("550.54.14"), "2.15.1")


@fault("driver-too-old")
def driver_too_old_for_cuda_12(machine: Folder) -> Folder:
    return with_wheels(machine.working_gpu("470.256.02", cuda="11.4"), "2.15.1")


@fault("driver-too-old")
def driver_too_old_for_cuda_11(machine: Folder) -> Folder:
    return with_toolkit(machine.working_gpu("418.226.00", cuda="10.1"), "2.10.0")


@fault("driver-too-old")
def hopper_whose_driver_cannot_compile_the_kernels(machine: Folder) -> Folder:
    machine.gpu("2330").driver("535.129.03").answers(
        cuda="12.2", capability="9.0", name="NVIDIA H100 80GB HBM3"
    )
    return with_wheels(machine, "2.18.1")


@fault("gpu-hidden")
def hidden_by_an_empty_variable(machine: Folder) -> Folder:
    machine.working_gpu(cuinit="CUDA_ERROR_NO_DEVICE").env(CUDA_VISIBLE_DEVICES="")
    return with_wheels(machine, "2.15.1")


@fault("gpu-hidden")
def hidden_by_minus_one(machine: Folder) -> Folder:
    machine.working_gpu(cuinit="CUDA_ERROR_NO_DEVICE").env(CUDA_VISIBLE_DEVICES="-1")
    return with_wheels(machine, "2.18.1")


@fault("device-permission")
def nodes_not_for_this_user(machine: Folder) -> Folder:
    machine.working_gpu(cuinit="CUDA_ERROR_NO_DEVICE")
    machine.record["denied"] = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]
    return with_wheels(machine, "2.15.1")


@fault("gpu-arch-too-old")
def kepler_with_a_build_that_starts_at_5_0(machine: Folder) -> Folder:
    machine.gpu("102d").driver("470.256.02").answers(cuda="11.4", capability="3.7", name="Tesla K80")
    return with_wheels(machine, "2.15.1")


@fault("gpu-arch-too-old")
def maxwell_with_a_build_that_starts_at_6_0(machine: Folder) -> Folder:
    machine.gpu("13c2").driver().answers(capability="5.2", name="NVIDIA GeForce GTX 970")
    return with_wheels(machine, "2.18.1")


@fault("gpu-arch-too-new")
def blackwell_with_a_build_of_2023(machine: Folder) -> Folder:
    machine.gpu("2b85").driver("570.124.06").answers(
        cuda="12.8", capability="12.0", name="NVIDIA GeForce RTX 5090"
    )
    return with_wheels(machine, "2.15.1")


@fault("gpu-bad-state")
def cuinit_gives_999(machine: Folder) -> Folder:
    return with_wheels(machine.working_gpu(cuinit="CUDA_ERROR_UNKNOWN"), "2.15.1")


@fault("container-no-gpu")
def container_without_gpus(machine: Folder) -> Folder:
    machine.gpu().write("/.dockerenv", "")
    machine.write(
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n",
    )
    return with_wheels(machine, "2.15.1")


@fault("wsl-driver")
def wsl_without_the_windows_driver(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n").write("/dev/dxg", "")
    return with_wheels(machine, "2.15.1")


@fault("wsl-driver")
def wsl_with_a_linux_driver_over_it(machine: Folder) -> Folder:
    machine.write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n").write("/dev/dxg", "")
    machine.library("/usr/lib/wsl/lib/libcuda.so.1").user_driver("535.129.03")
    return with_wheels(machine, "2.15.1")


@fault("cuda-compat-package")
def compat_folder_on_the_path(machine: Folder) -> Folder:
    machine.working_gpu("470.256.02", cuinit="CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE")
    machine.user_driver("550.54.14", "/usr/local/cuda/compat").env(LD_LIBRARY_PATH="/usr/local/cuda/compat")
    return with_wheels(machine, "2.15.1")


# --- CUDA and cuDNN


@fault("cuda-missing")
def no_cuda(machine: Folder) -> Folder:
    return machine.working_gpu().python().tensorflow("2.15.1")


@fault("cuda-missing")
def no_cuda_for_1_15(machine: Folder) -> Folder:
    return volta(machine).python("3.7").tensorflow("1.15.0", "tensorflow-gpu")


@fault("cuda-version-mismatch")
def cuda_of_another_major(machine: Folder) -> Folder:
    machine.working_gpu("580.65.06", cuda="13.0").python().tensorflow("2.18.1")
    machine.toolkit("13.0").cudnn("9.13.0", LIB)
    return machine.in_loader_cache("/usr/local/cuda-13.0/lib64")


@fault("cuda-version-mismatch")
def cuda_10_1_for_1_15(machine: Folder) -> Folder:
    volta(machine).python("3.7").tensorflow("1.15.0", "tensorflow-gpu")
    machine.toolkit("10.1").cudnn("7.6.5", LIB)
    return machine.in_loader_cache("/usr/local/cuda-10.1/lib64")


@fault("library-path")
def toolkit_off_the_path(machine: Folder) -> Folder:
    return (
        machine.working_gpu()
        .python("3.10")
        .tensorflow("2.10.0")
        .toolkit("11.2")
        .cudnn("8.1.1", "/usr/local/cuda-11.2/lib64")
    )


@fault("library-path")
def wheels_that_2_16_1_does_not_find(machine: Folder) -> Folder:
    machine.working_gpu().python().tensorflow("2.16.1")
    return machine.cuda_wheels("12.2").cudnn_wheel("8.9.7.29")


@fault("library-path")
def cusolver_that_2_21_0_does_not_find(machine: Folder) -> Folder:
    return with_wheels(machine.working_gpu(), "2.21.0")


@fault("library-path")
def tensorflow_from_pip_over_libraries_from_conda(machine: Folder) -> Folder:
    # because of the RUNPATH of pip's build, the loader does not use the RPATH of conda's python
    return libraries_from_conda(machine.working_gpu().conda("3.11").tensorflow("2.15.1"))


@fault("library-path")
def cudnn_alone_off_the_path(machine: Folder) -> Folder:
    machine.working_gpu().python("3.10").tensorflow("2.10.0").toolkit("11.2").cudnn(
        "8.1.1", "/opt/cuda/lib64"
    )
    return machine.in_loader_cache("/usr/local/cuda-11.2/lib64")


@fault("cudnn-missing")
def no_cudnn(machine: Folder) -> Folder:
    machine.working_gpu().python("3.10").tensorflow("2.10.0").toolkit("11.2")
    return machine.in_loader_cache("/usr/local/cuda-11.2/lib64")


@fault("cudnn-missing")
def no_cudnn_wheel(machine: Folder) -> Folder:
    return machine.working_gpu().python().tensorflow("2.15.1").cuda_wheels("12.2")


@fault("cudnn-version-mismatch")
def cudnn_of_another_major(machine: Folder) -> Folder:
    return machine.working_gpu().python().tensorflow("2.18.1").cuda_wheels("12.5").cudnn_wheel("8.9.7.29")


@fault("cudnn-version-mismatch")
def cudnn_that_has_dropped_the_gpu(machine: Folder) -> Folder:
    return volta(machine).python().tensorflow("2.18.1").cuda_wheels("12.5").cudnn_wheel("9.28.0.42")


@fault("library-broken")
def cudnn_truncated(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1")
    whole = skeleton(soname="libcudnn.so.8", filling=100_000)
    return machine.write(f"{machine.site}/nvidia/cudnn/lib/libcudnn.so.8", whole[:50_000])


@fault("library-broken")
def cudnn_for_another_processor(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1")
    return machine.write(
        f"{machine.site}/nvidia/cudnn/lib/libcudnn.so.8", skeleton(soname="libcudnn.so.8", machine=183)
    )


@fault("library-broken")
def cudnn_shadowed_by_an_empty_file(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1")
    return machine.write("/home/me/lib/libcudnn.so.8", "").env(LD_LIBRARY_PATH="/home/me/lib")


@fault("library-broken")
def cusparse_without_its_own_dependency(machine: Folder) -> Folder:
    machine.working_gpu().python().tensorflow("2.15.1").cuda_wheels("12.2", without=("nvJitLink",))
    return machine.cudnn_wheel("8.9.4.25")


@fault("library-broken")
def a_part_of_cudnn_is_missing(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.18.1")
    (machine.root / f"{machine.site}/nvidia/cudnn/lib/libcudnn_ops.so.9".lstrip("/")).unlink()
    return machine


# --- TensorFlow's own installation


@fault("tf-not-installed")
def no_tensorflow(machine: Folder) -> Folder:
    return machine.working_gpu().python()


@fault("tf-cpu-only")
def tensorflow_cpu(machine: Folder) -> Folder:
    return machine.working_gpu().python().tensorflow("2.15.1", "tensorflow-cpu", gpu=False)


@fault("tf-conflicting-packages")
def tensorflow_and_tensorflow_cpu(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1").package("tensorflow-cpu", "2.15.1", record="")
    return machine.tensorflow("2.15.1", "tensorflow-cpu", gpu=False)


@fault("tf-conflicting-packages")
def hollow_leftover(machine: Folder) -> Folder:
    machine.working_gpu().python()
    return machine.write(f"{machine.site}/tensorflow/python/keras/leftover.py", "")


@fault("tf-import-failed")
def a_file_named_tensorflow_py(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1").write("/home/me/project/tensorflow.py", "")
    machine.record["cwd"] = "/home/me/project"
    return machine


@fault("tf-import-failed")
def glibc_too_old(machine: Folder) -> Folder:
    machine.library(f"{LIB}/libc.so.6", soname="libc.so.6", gives=("GLIBC_2.2.5", "GLIBC_2.17"))
    machine.working_gpu().python().tensorflow("2.21.0", glibc="2.27")
    return machine.cuda_wheels("12.5").cudnn_wheel("9.3.0.75")


@fault("python-dependency-conflict")
def numpy_2_with_2_15(machine: Folder) -> Folder:
    machine.working_gpu().python().tensorflow("2.15.1", metadata="Requires-Dist: numpy (<2.0.0,>=1.23.5)")
    return machine.cuda_wheels("12.2").cudnn_wheel("8.9.4.25").package("numpy", "2.1.0")


@fault("cpu-no-avx")
def cpu_without_avx(machine: Folder) -> Folder:
    with_wheels(machine.working_gpu(), "2.15.1")
    return machine.write("/proc/cpuinfo", "flags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm\n")


@pytest.mark.parametrize(
    ("release", "package", "there", "verdict"),
    [
        ("2.15.1", "tensorboard (<2.16,>=2.15)", "2.14.0", "healthy"),  # TensorFlow imports without it
        ("2.15.1", "typing-extensions (<5,>=4)", "5.1.0", "healthy"),  # newer than the release knew
        # may lack names that are imported
        ("2.15.1", "typing-extensions (<5,>=4)", "3.7.4", "python-dependency-conflict"),
        ("2.15.1", "numpy (<2.0.0,>=1.23.5)", "2.1.0", "python-dependency-conflict"),
        ("2.18.1", "numpy (<2.1.0,>=1.26.0)", "2.3.4", "healthy"),  # the binary interface of NumPy 2
        ("2.18.1", "numpy (<2.1.0,>=1.26.0)", "1.24.4", "python-dependency-conflict"),
        ("2.18.1", "protobuf (<6.0.0dev,>=3.20.3)", "6.33.5", "healthy"),
        # tested with the wheels, whatever their metadata says (compat_tables/dependencies.json)
        ("2.15.1", "protobuf (<5.0.0dev,>=3.20.3)", "6.33.0", "healthy"),
        ("2.15.1", "wrapt (<1.15,>=1.11.0)", "2.0.0", "healthy"),
        ("2.15.1", "keras (<2.16,>=2.15.0)", "3.12.0", "healthy"),
        ("2.18.1", "protobuf (<6.0.0dev,>=3.20.3)", "3.19.6", "python-dependency-conflict"),
    ],
)
def test_a_requirement_that_is_not_met_is_a_fault_only_if_tensorflow_fails_without_it(
    release: str, package: str, there: str, verdict: str, tmp_path: Path
) -> None:
    machine = with_wheels(Folder(tmp_path).working_gpu(), release)
    machine.tensorflow(release, metadata=f"Requires-Dist: {package}").package(package.split()[0], there)
    diagnosis = machine.diagnosis()
    assert diagnosis.verdict.code == verdict
    assert "python-dependency-conflict" in codes(diagnosis)


@pytest.mark.parametrize("name", sampled(FAULTS, 16))
def test_the_verdict_names_the_fault(name: str, tmp_path: Path) -> None:
    code, make = FAULTS[name]
    diagnosis = make(Folder(tmp_path / name)).diagnosis()
    assert diagnosis.verdict.code == code, codes(diagnosis)
    assert diagnosis.verdict.evidence


# --- nothing wrong


def wsl(machine: Folder) -> Folder:
    """WSL2, with the Windows driver's libraries in the loader's cache."""
    machine.write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n").write("/dev/dxg", "")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        machine.library(f"/usr/lib/wsl/lib/{name}", soname=name)
    machine.write(
        "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  551.61  Thu\n"
    )
    machine.answers(cuda="12.4")
    (machine.root / "proc/driver/nvidia/version").unlink()
    return with_wheels(machine, "2.15.1").in_loader_cache("/usr/lib/wsl/lib")


def with_secure_boot(machine: Folder) -> Folder:
    name = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    return machine.write(f"/sys/firmware/efi/efivars/{name}", b"\x06\0\0\0\x01")


HEALTHY: dict[str, Callable[[Folder], Folder]] = {
    "2.15.1 with wheels": lambda m: with_wheels(m.working_gpu(), "2.15.1"),
    "2.18.1 with wheels": lambda m: with_wheels(m.working_gpu(), "2.18.1"),
    "2.15.1 with a toolkit": lambda m: with_toolkit(m.working_gpu(), "2.15.1"),
    "2.18.1 with a toolkit": lambda m: with_toolkit(m.working_gpu(), "2.18.1"),
    "2.21.0 with a toolkit": lambda m: with_toolkit(m.working_gpu(), "2.21.0"),
    "2.10.0 with a toolkit": lambda m: with_toolkit(m.working_gpu(), "2.10.0"),
    "1.15.0 with a toolkit on a V100": lambda m: with_toolkit(volta(m), "1.15.0"),
    "2.10.0 with LD_LIBRARY_PATH": lambda m: (
        m.working_gpu()
        .python("3.10")
        .tensorflow("2.10.0")
        .toolkit("11.2")
        .cudnn("8.1.1", "/opt/cudnn/lib")
        .env(LD_LIBRARY_PATH="/usr/local/cuda-11.2/lib64:/opt/cudnn/lib")
    ),
    "2.21.0 with wheels on LD_LIBRARY_PATH": lambda m: with_wheels(m.working_gpu(), "2.21.0").env(
        LD_LIBRARY_PATH=f"{m.site}/nvidia/cusolver/lib"
    ),
    "2.15.1 from conda": lambda m: libraries_from_conda(
        m.working_gpu().conda("3.11").tensorflow("2.15.1", conda=True)
    ),
    "2.15.1 beside another CUDA": lambda m: (
        with_wheels(m.working_gpu(), "2.15.1").toolkit("11.8").in_loader_cache("/usr/local/cuda-11.8/lib64")
    ),
    "in a container that was given the GPU": lambda m: with_wheels(
        m.working_gpu().write("/.dockerenv", ""), "2.15.1"
    ),
    "in WSL2": wsl,
    "beside an Intel GPU": lambda m: with_wheels(
        m.pci("0000:00:02.0", "8086", "9a49", "030000", "i915").working_gpu(), "2.15.1"
    ),
    "with Secure Boot": lambda m: with_secure_boot(with_wheels(m.working_gpu(), "2.15.1")),
    "with the first GPU named": lambda m: with_wheels(
        m.working_gpu().env(CUDA_VISIBLE_DEVICES="0"), "2.15.1"
    ),
    "in a Slurm job": lambda m: with_wheels(
        m.working_gpu().env(SLURM_JOB_ID="7", CUDA_VISIBLE_DEVICES="0"), "2.15.1"
    ),
    "with a leftover of pip": lambda m: with_wheels(m.working_gpu(), "2.15.1").write(
        f"{m.site}/~ensorflow/__init__.py", ""
    ),
    "from the files alone": lambda m: with_wheels(m.gpu().driver("550.54.14"), "2.15.1"),
    "driver 535 with 2.18.1": lambda m: with_wheels(m.working_gpu("535.129.03", cuda="12.2"), "2.18.1"),
}


@pytest.mark.parametrize("name", sampled(HEALTHY, 6))
def test_a_healthy_machine_gets_no_error(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Folder(tmp_path / "healthy")).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)
    assert diagnosis.worst == "info"
