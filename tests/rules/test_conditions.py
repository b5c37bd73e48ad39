"""Tests conditions in single rules that seldom decide the verdict on a whole report. Each is tested with the
few facts on which it depends."""

from __future__ import annotations

import pytest

from doctor.case import Case
from doctor.case.visible_devices import hides
from doctor.facts import (
    FORM,
    INFERRED,
    MEASURED,
    PROSE,
    Absent,
    CudaCallFailed,
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    EnvironmentKind,
    EnvVar,
    Fact,
    Facts,
    Gpu,
    GpuMemory,
    GpuProcess,
    GpuRegistered,
    LibraryFile,
    LibraryLoaded,
    LibraryNotLoaded,
    LibraryWanted,
    Package,
    Platform,
    PythonVersion,
    Source,
    Symptom,
    TensorFlowBuild,
    TensorFlowVersion,
)
from doctor.findings import Finding
from doctor.rules import RuleSet, rule_of
from tests.rules.situation import bundled
from tests.sampling import each

HERE = Source("case", 1, "as it was stated")


def judged(code: str, *facts: Fact, kind: str = "report") -> list[Finding]:
    """Return the finding that one rule makes from these facts."""
    picture = Case(Facts(facts, kind), bundled())
    rule = rule_of(code)
    assert RuleSet.of([rule]).ready(picture.seen), f"{code} does not even look at these facts"
    return list(rule.judge(picture))


def evidence(finding: Finding) -> set[str]:
    return {source.text for source in finding.evidence}


# --- gpu-memory-held


def held(process_mib: int | None) -> list[Finding]:
    process = GpuProcess(Source("nvidia-smi", 9, "python train.py"), 4711, "python", process_mib)
    return judged(
        "gpu-memory-held",
        Symptom(HERE, "tensor-oom"),
        GpuMemory(Source("nvidia-smi", 3, "7800MiB / 8192MiB"), 0, 8192, used_mib=7800),
        process,
    )


@pytest.mark.parametrize("mib", [7600, 500])
def test_a_process_that_uses_most_of_a_full_gpu_is_evidence(mib: int) -> None:
    (finding,) = held(mib)
    assert "python train.py" in evidence(finding)


@pytest.mark.parametrize("mib", [None, 120, 499])
def test_a_process_with_little_or_unknown_memory_is_not_blamed(mib: int | None) -> None:
    assert held(mib) == []


# --- gpu-arch-too-new


@pytest.mark.parametrize(
    ("release", "gpu", "severity"),
    [("2.15.1", "NVIDIA H100 80GB HBM3", "warning"), ("1.12.0", "NVIDIA GeForce RTX 3080", "error")],
)
def test_a_gpu_that_needs_ptx_is_a_warning_and_an_unsupported_gpu_an_error(
    release: str, gpu: str, severity: str
) -> None:
    facts = (
        Gpu(HERE, gpu),
        TensorFlowVersion(HERE, release, "tensorflow-gpu" if release < "2" else "tensorflow"),
    )
    findings = judged("gpu-arch-too-new", *facts, Platform(HERE, "linux", "x86_64"), kind="machine")
    assert [finding.severity for finding in findings] == [severity]


# --- cuda-version-mismatch

WANTED = LibraryNotLoaded(HERE, "libcudart.so.10.0", "cannot open shared object file")


def installed(version: str, rank: int) -> CudaVersion:
    return CudaVersion(Source("case", 2, f"CUDA {version}"), version, None, rank)


def test_a_file_with_the_requested_name_rules_out_a_mismatch() -> None:
    other = installed("10.1", FORM)
    there = LibraryFile(HERE, "libcudart.so.10.0", "/usr/local/cuda-10.0/lib64/libcudart.so.10.0")
    assert judged("cuda-version-mismatch", WANTED, other)
    assert judged("cuda-version-mismatch", WANTED, other, there) == []


def test_a_measured_matching_cuda_outweighs_an_inferred_other_version() -> None:
    assert (
        judged("cuda-version-mismatch", WANTED, installed("10.0", MEASURED), installed("10.1", INFERRED))
        == []
    )


def test_a_matching_cuda_in_a_sentence_does_not_rule_out_a_mismatch() -> None:
    (finding,) = judged(
        "cuda-version-mismatch", WANTED, installed("10.0", PROSE), installed("10.1", INFERRED)
    )
    assert "CUDA 10.1 is installed" in finding.explanation


# --- tf-not-installed

ABSENT = Symptom(Source("case", 5, "No module named 'tensorflow'"), "tensorflow-not-installed")


def test_tensorflow_in_a_package_list_shows_that_another_python_ran() -> None:
    (finding,) = judged("tf-not-installed", ABSENT, Package(HERE, "tensorflow", "2.15.0"))
    assert "a different Python or environment" in finding.explanation


def test_other_packages_in_a_list_do_not_show_that_another_python_ran() -> None:
    (finding,) = judged("tf-not-installed", ABSENT, Package(HERE, "numpy", "1.26.4"))
    assert "a different Python or environment" not in finding.explanation


# --- wsl-driver


@pytest.mark.parametrize(("rank", "confidence"), [(MEASURED, "certain"), (PROSE, "likely")])
def test_measured_wsl_is_certain_and_mentioned_wsl_likely(rank: int, confidence: str) -> None:
    libcuda = LibraryNotLoaded(HERE, "libcuda.so.1", "cannot open shared object file")
    (finding,) = judged("wsl-driver", libcuda, Platform(HERE, "wsl", rank=rank))
    assert finding.confidence == confidence


# --- driver-missing

NO_LIBCUDA = LibraryNotLoaded(
    Source("case", 1, "libcuda.so.1: cannot open"), "libcuda.so.1", "cannot open shared object file"
)


def driver(part: str, rank: int) -> DriverVersion:
    return DriverVersion(Source("case", 2, f"driver 535.104.05 ({part})"), "535.104.05", part, rank)


@pytest.mark.parametrize("part", ["kernel", "any"])
def test_a_driver_with_a_running_kernel_module_is_not_missing(part: str) -> None:
    assert judged("driver-missing", NO_LIBCUDA, driver(part, MEASURED)) == []


@pytest.mark.parametrize(("part", "rank"), [("kernel", PROSE), ("user", MEASURED)])
def test_a_driver_that_is_only_mentioned_or_has_only_libraries_may_be_missing(part: str, rank: int) -> None:
    (finding,) = judged("driver-missing", NO_LIBCUDA, driver(part, rank))
    assert finding.confidence == "likely"


# --- ptx-jit-or-kernel-crash


@pytest.mark.parametrize(
    ("kind", "confidence"), [("illegal-address", "certain"), ("cudnn-launch-failed", "likely")]
)
def test_a_crashed_kernel_is_certain_and_a_failed_cudnn_call_likely(kind: str, confidence: str) -> None:
    (finding,) = judged("ptx-jit-or-kernel-crash", Symptom(HERE, kind))
    assert finding.confidence == confidence


# --- gpu-arch-too-old


def multiprocessors(*counts: int) -> list[Finding]:
    cards = [
        Gpu(Source("NVML", i, f"card {i}"), f"card {i}", "6.1", index=i, multiprocessors=n)
        for i, n in enumerate(counts)
    ]
    return [f for f in judged("gpu-arch-too-old", *cards, kind="machine") if "multiprocessors" in f.title]


def test_tensorflow_ignores_a_small_gpu_if_a_larger_gpu_is_present() -> None:
    (finding,) = multiprocessors(46, 6)
    assert evidence(finding) == {"card 1"}


@pytest.mark.parametrize("counts", [(6,), (6, 5), (46, 8)])
def test_a_small_gpu_alone_and_a_gpu_with_eight_multiprocessors_are_used(counts: tuple[int, ...]) -> None:
    assert multiprocessors(*counts) == []


# --- driver-not-loaded


def module_absent() -> tuple[Fact, ...]:
    return (
        Absent(Source("/proc/modules", None, "no nvidia"), "nvidia kernel module"),
        DriverVersion(HERE, "535.104.05", "user", MEASURED),
        Gpu(HERE, "NVIDIA GeForce RTX 3080", "8.6"),
    )


def test_a_module_built_for_another_kernel_names_both_kernels() -> None:
    detail = (("running", "6.1.0-21-amd64"), ("built", "6.1.0-18-amd64"))
    other = Symptom(
        Source("/lib/modules", None, "built for 6.1.0-18-amd64"), "driver-module-for-other-kernel", detail
    )
    (finding,) = judged("driver-not-loaded", *module_absent(), other, kind="machine")
    assert "built for kernel 6.1.0-18-amd64 only, and 6.1.0-21-amd64 is running" in finding.explanation
    assert "built for 6.1.0-18-amd64" in evidence(finding)


def test_an_unloaded_module_for_the_running_kernel_points_to_the_kernel_log() -> None:
    unloaded = Symptom(
        Source("/lib/modules", None, "built for the running kernel"), "driver-module-not-loaded"
    )
    (finding,) = judged("driver-not-loaded", *module_absent(), unloaded, kind="machine")
    assert "dmesg" in finding.explanation
    assert "built for the running kernel" in evidence(finding)


def bound(*buses: str) -> list[Symptom]:
    return [
        Symptom(
            Source(f"/sys/bus/pci/devices/{bus}/driver", None, "vfio-pci"),
            "gpu-bound-to-other-driver",
            (("driver", "vfio-pci"), ("bus", bus)),
        )
        for bus in buses
    ]


def test_a_gpu_bound_to_vfio_is_reserved_for_a_virtual_machine() -> None:
    card = Gpu(HERE, "NVIDIA GeForce RTX 3080", "8.6", bus_id="0000:01:00.0")
    (finding,) = judged("gpu-reserved", card, *bound("0000:01:00.0"), kind="machine")
    assert "virtual machine" in finding.title
    assert "vfio-pci" in finding.explanation


def test_reserving_one_of_two_gpus_is_not_a_fault() -> None:
    cards = [
        Gpu(HERE, "NVIDIA GeForce RTX 3080", "8.6", bus_id=bus, index=i)
        for i, bus in enumerate(("0000:01:00.0", "0000:02:00.0"))
    ]
    assert judged("gpu-reserved", *cards, *bound("0000:02:00.0"), kind="machine") == []


# --- driver-library-mismatch


def test_a_mismatch_only_in_the_kernel_log_proves_nothing() -> None:
    logged = Symptom(Source("/var/log/kern.log", None, "NVRM: API mismatch"), "nvrm-api-mismatch")
    kernel, user = (DriverVersion(HERE, "535.104.05", part, MEASURED) for part in ("kernel", "user"))
    assert judged("driver-library-mismatch", logged, kernel, user, kind="machine") == []
    (finding,) = judged(
        "driver-library-mismatch",
        logged,
        kernel,
        DriverVersion(HERE, "550.54.14", "user", MEASURED),
        kind="machine",
    )
    assert "NVRM: API mismatch" in evidence(finding)


@pytest.mark.parametrize(("part", "rank", "fires"), [("user", MEASURED, True), ("any", PROSE, False)])
def test_an_unloaded_module_is_a_finding_only_if_the_drivers_library_is_there(
    part: str, rank: int, fires: bool
) -> None:
    down = Symptom(HERE, "kernel-driver-not-running")
    assert bool(judged("driver-not-loaded", down, driver(part, rank))) == fires


# --- gpu-hidden


@pytest.mark.parametrize(
    ("value", "around", "fires"),
    [("none", "docker", True), ("void", "docker", True), ("all", "docker", False), ("none", "conda", False)],
)
def test_nvidia_visible_devices_hides_gpus_from_containers_only(value: str, around: str, fires: bool) -> None:
    variable = EnvVar(Source("env", None, f"NVIDIA_VISIBLE_DEVICES={value}"), "NVIDIA_VISIBLE_DEVICES", value)
    findings = judged("gpu-hidden", variable, EnvironmentKind(HERE, around), Symptom(HERE, "gpu-list-empty"))
    assert [f.explanation.split(" is ")[0] for f in findings] == (["NVIDIA_VISIBLE_DEVICES"] if fires else [])


# --- library-path


@pytest.mark.parametrize(("version", "rank", "location", "fires"), [
    ("7.6.5", FORM, "/opt/cudnn/lib64", True),
    ("7.6.5", FORM, None, False),
    ("7.6.5", PROSE, "/opt/cudnn/lib64", False),
    ("8.1.0", FORM, "/opt/cudnn/lib64", False),
])  # fmt: skip
def test_a_form_that_gives_the_folder_of_a_matching_cudnn_shows_a_path_problem(
    version: str, rank: int, location: str | None, fires: bool
) -> None:
    missing = LibraryNotLoaded(HERE, "libcudnn.so.7", "cannot open shared object file")
    found_first = CudnnVersion(Source("case", 3, f"cuDNN {version}"), version, location, rank)
    findings = judged("library-path", missing, installed("10.1", FORM), found_first)
    assert bool(findings) == fires


# --- gpu-memory-held


def test_a_device_with_little_memory_is_weaker_evidence_than_a_failed_context() -> None:
    card = Gpu(HERE, "Tesla V100", "7.0", memory_mib=16160)
    small = GpuRegistered(Source("case", 4, "Created device GPU:0 with 300 MB"), 0, 300, "Tesla V100")
    full = CudaCallFailed(
        Source("case", 5, "cuDevicePrimaryCtxRetain"), "cuDevicePrimaryCtxRetain", "CUDA_ERROR_OUT_OF_MEMORY"
    )
    oom = Symptom(HERE, "resource-exhausted")
    assert [f.confidence for f in judged("gpu-memory-held", card, small, oom)] == ["likely"]
    assert [f.confidence for f in judged("gpu-memory-held", card, small, full, oom)] == ["certain"]


# --- cudnn-version-mismatch

CUDNN_8 = LibraryNotLoaded(HERE, "libcudnn.so.8", "cannot open shared object file")


def test_another_major_version_of_cudnn_is_a_mismatch_if_stated_or_on_disk() -> None:
    stated = CudnnVersion(HERE, "7.6.5", None, FORM)
    file = LibraryFile(HERE, "libcudnn.so.7", "/usr/lib/x86_64-linux-gnu/libcudnn.so.7")
    assert [f.confidence for f in judged("cudnn-version-mismatch", CUDNN_8, stated)] == ["likely"]
    assert [f.confidence for f in judged("cudnn-version-mismatch", CUDNN_8, file)] == ["certain"]
    assert judged("cudnn-version-mismatch", CUDNN_8, stated, CudnnVersion(HERE, "8.6.0", None, FORM)) == []


# --- tf-no-wheel


@pytest.mark.parametrize(
    ("python", "says"),
    [("3.12", "TensorFlow 2.16.1 to "), ("3.99", "No TensorFlow release has a wheel for Python 3.99")],
)
def test_the_releases_for_a_python_version_are_named(python: str, says: str) -> None:
    (finding,) = judged(
        "tf-no-wheel",
        Symptom(HERE, "no-matching-distribution"),
        PythonVersion(HERE, python),
        Platform(HERE, "linux", "x86_64"),
    )
    assert says in finding.explanation


# --- driver-too-old


@pytest.mark.parametrize(("platform", "fires"), [("linux", False), ("wsl", True), ("windows", True)])
def test_windows_drivers_are_compared_with_the_minimum_for_windows(platform: str, fires: bool) -> None:
    """CUDA 12 needs at least driver 525.60.13 on Linux and 528.33 on Windows. In WSL2, the Windows driver
    counts."""
    release = TensorFlowVersion(HERE, "2.10.1" if platform == "windows" else "2.18.1", "tensorflow")
    version = (
        "450.99" if platform == "windows" else "526.98"
    )  # 2.10 is made for CUDA 11, which needs 450.80.02 or 452.39
    facts = (DriverVersion(HERE, version, "any", MEASURED), release, Platform(HERE, platform, "x86_64"))
    assert bool(judged("driver-too-old", *facts, kind="machine")) == fires
    if platform == "windows":
        assert (
            judged("driver-too-old", facts[0], release, Platform(HERE, "linux", "x86_64"), kind="machine")
            == []
        )


def test_ptx_that_the_driver_cannot_compile_is_predicted_unless_the_log_has_an_error() -> None:
    """TensorFlow 2.18 contains some of its kernels for compute capability 9.0 only as PTX from CUDA 12.3, but
    driver branch R525 supports only CUDA 12.0."""
    facts = (
        DriverVersion(HERE, "525.147.05", "any", MEASURED),
        TensorFlowVersion(HERE, "2.18.1", "tensorflow"),
        Platform(HERE, "linux", "x86_64"),
        Gpu(HERE, "NVIDIA H100 80GB HBM3", "9.0"),
    )
    (predicted,) = judged("driver-too-old", *facts, kind="machine")
    assert "PTX" in predicted.explanation
    (found_first,) = judged(
        "driver-too-old",
        *facts,
        Symptom(Source("log", 7, "insufficient"), "driver-insufficient"),
        kind="machine",
    )
    assert "insufficient" in evidence(found_first)
    assert found_first.confidence == "certain"


# --- gpu-hidden: what a value does


@each("value", ["", " ", "-1", "none", "void", "NoDevFiles", "-1,0", "x,0", "all"])
def test_a_value_whose_first_entry_is_no_gpu_hides_all_gpus(value: str) -> None:
    assert hides(value)


@each("value", ["0", "1,0", "0,-1", "+1", " 2 ", "GPU-8f2c", "MIG-8f2c", "gpu-8f2c"])
def test_a_value_whose_first_entry_may_be_a_gpu_does_not_hide_all_gpus(value: str) -> None:
    assert not hides(value)


@pytest.mark.parametrize(("value", "confidence"), [("", "certain"), ("7", "likely")])
def test_an_empty_list_of_devices_is_certain_and_a_possibly_wrong_number_likely(
    value: str, confidence: str
) -> None:
    none = CudaCallFailed(HERE, "cuInit", "CUDA_ERROR_NO_DEVICE")
    (finding,) = judged(
        "gpu-hidden", none, EnvVar(HERE, "CUDA_VISIBLE_DEVICES", value), Gpu(HERE, "Tesla T4", "7.5")
    )
    assert finding.confidence == confidence


def test_the_value_0_on_a_machine_is_not_called_a_value_in_a_report() -> None:
    none = CudaCallFailed(HERE, "cuInit", "CUDA_ERROR_NO_DEVICE")
    zero = EnvVar(HERE, "CUDA_VISIBLE_DEVICES", "0")
    (finding,) = judged("gpu-hidden", none, zero, Gpu(HERE, "Tesla T4", "7.5"), kind="machine")
    assert finding.explanation.startswith('CUDA_VISIBLE_DEVICES is "0", but')
    assert "report" not in finding.explanation


# --- library-path: pip's folders that a release does not search


def test_a_release_is_the_cause_if_all_libraries_that_it_does_not_search_for_fail() -> None:
    release = bundled().tensorflow("2.16.1", None, "linux-x86_64")
    assert release is not None
    assert release.pip_libraries_missed
    failed = [
        LibraryNotLoaded(HERE, name, "cannot open shared object file")
        for name in release.pip_libraries_missed
    ]
    around = (
        TensorFlowVersion(HERE, "2.16.1"),
        Symptom(HERE, "and-cuda-installed"),
        Symptom(HERE, "gpu-skipped"),
    )
    assert any("which pip installs" in f.explanation for f in judged("library-path", *around, *failed))
    assert not any("which pip installs" in f.explanation for f in judged("library-path", *around, failed[0]))


def test_a_program_that_works_in_a_terminal_shows_a_path_problem() -> None:
    missing = LibraryNotLoaded(HERE, "libcudnn.so.7", "cannot open shared object file")
    spoken = CudnnVersion(Source("case", 3, "with cuDNN 7.6.5"), "7.6.5", None, PROSE)
    (finding,) = judged(
        "library-path",
        missing,
        spoken,
        Symptom(Source("case", 4, "works in a terminal"), "works-in-terminal"),
    )
    assert evidence(finding) >= {"with cuDNN 7.6.5", "works in a terminal"}


# --- tf-api-version


def test_a_missing_module_of_tensorflow_1_proves_old_code() -> None:
    missing = Symptom(HERE, "missing-module", (("module", "tensorflow.contrib"),))
    (finding,) = judged("tf-api-version", missing, TensorFlowVersion(HERE, "2.10.0"))
    assert "of TensorFlow 1" in finding.explanation
    assert finding.confidence == "certain"


# --- tf-import-failed


@pytest.mark.parametrize(
    ("needs", "conda"), [("GLIBCXX_3.4.29", True), ("CXXABI_1.3.13", True), ("GLIBC_2.27", False)]
)
def test_conda_can_install_a_newer_libstdcxx_but_not_a_newer_glibc(needs: str, conda: bool) -> None:
    detail = (("library", "/lib64/libstdc++.so.6"), ("needs", needs))
    (finding,) = judged(
        "tf-import-failed", Symptom(HERE, "glibc-too-old", detail), Platform(HERE, "linux", "x86_64")
    )
    assert any("libstdcxx-ng" in step.text for step in finding.prescription) == conda


@pytest.mark.parametrize(("platform", "runtime"), [("windows", True), ("linux", False)])
def test_only_windows_gets_the_step_for_the_visual_cxx_runtime(platform: str, runtime: bool) -> None:
    (finding,) = judged(
        "tf-import-failed", Symptom(HERE, "native-runtime-failed"), Platform(HERE, platform, "x86_64")
    )
    assert any("VCRedist" in step.text for step in finding.prescription) == runtime


# --- host-oom


@pytest.mark.parametrize(
    ("also", "fires"), [((), False), (("process-died",), True), (("host-memory-said",), True)]
)
def test_a_filling_shuffle_buffer_is_a_fault_only_with_a_crash_or_a_complaint_about_memory(
    also: tuple[str, ...], fires: bool
) -> None:
    filling = Symptom(Source("case", 2, "Filling up shuffle buffer"), "shuffle-buffer")
    findings = judged("host-oom", filling, *(Symptom(HERE, kind) for kind in also))
    assert ["Filling up shuffle buffer" in evidence(f) for f in findings] == ([True] if fires else [])


# --- op-no-gpu-kernel


@pytest.mark.parametrize(("listed", "sessions"), [(False, True), (True, False)])
def test_a_message_of_tensorflow_1_gets_code_with_a_session(listed: bool, sessions: bool) -> None:
    found_first = Source(
        "case",
        1,
        "Cannot assign a device for operation 'MatMul': no supported kernel for GPU devices is available",
    )
    facts = [Symptom(found_first, "no-gpu-kernel"), *([Symptom(HERE, "device-listed")] if listed else [])]
    (finding,) = judged("op-no-gpu-kernel", *facts)
    assert any("ConfigProto" in step.text for step in finding.prescription) == sessions


# --- xla-toolchain-missing


@pytest.mark.parametrize(
    ("kind", "confidence"), [("ptxas-missing", "certain"), ("ptxas-old", "certain"), ("jit-failed", "likely")]
)
def test_a_named_tool_is_certain_and_a_failed_compilation_likely(kind: str, confidence: str) -> None:
    assert [f.confidence for f in judged("xla-toolchain-missing", Symptom(HERE, kind))] == [confidence]


# --- cuda-missing


@pytest.mark.parametrize(("kind", "severity"), [("machine", "error"), ("report", "warning")])
def test_missing_cuda_is_a_warning_in_a_report_that_does_not_want_a_gpu(kind: str, severity: str) -> None:
    ignored = Symptom(HERE, "cudart-ignore")
    assert [f.severity for f in judged("cuda-missing", WANTED, ignored, kind=kind)] == [severity]


# --- tf-cpu-only


def test_a_cpu_build_does_not_cite_the_table_row_of_a_gpu_build() -> None:
    facts = (
        TensorFlowBuild(HERE, False),
        TensorFlowVersion(HERE, "2.15.1"),
        Platform(HERE, "linux", "x86_64"),
    )
    assert [f.tables for f in judged("tf-cpu-only", *facts)] == [()]


# --- device-not-found


@pytest.mark.parametrize(
    ("available", "check"), [("/device:CPU:0", True), ("/device:CPU:0, /device:GPU:0", False)]
)
def test_the_step_check_is_offered_only_if_no_gpu_is_available(available: str, check: bool) -> None:
    detail = (("device", "/device:GPU:1"), ("available", available))
    (finding,) = judged("device-not-found", Symptom(HERE, "device-unknown", detail))
    assert any(step.text == "tfgpu-doctor check" for step in finding.prescription) == check


# --- what says that the driver does not answer


@pytest.mark.parametrize(("needed", "counts"), [(True, True), (False, False), (None, False)])
def test_on_a_machine_a_missing_nvml_counts_only_for_a_build_that_needs_it(
    needed: bool | None, counts: bool
) -> None:
    nvml = LibraryNotLoaded(HERE, "libnvidia-ml.so.1", "cannot open shared object file")
    wanted = [] if needed is None else [LibraryWanted(HERE, "libnvidia-ml.so.1", needed)]
    assert bool(judged("driver-missing", nvml, *wanted, kind="machine")) == counts
    assert judged("driver-missing", nvml)  # a report names the library because somebody found it missing


# --- cudnn-missing


@pytest.mark.parametrize(
    ("also", "confidence"),
    [
        ((Symptom(HERE, "gpu-skipped"),), "certain"),
        ((LibraryLoaded(HERE, "libcudart.so.11.0"),), "certain"),
        ((), "likely"),
    ],
)
def test_a_missing_cudnn_is_certain_if_cuda_loads_or_the_gpu_is_skipped(
    also: tuple[Fact, ...], confidence: str
) -> None:
    assert [f.confidence for f in judged("cudnn-missing", CUDNN_8, *also)] == [confidence]


# --- tf-windows-native


@pytest.mark.parametrize(
    ("rank", "wish", "confidence"),
    [
        (MEASURED, "gpu-list-empty", "certain"),
        (FORM, "gpu-list-empty", "certain"),
        (PROSE, "gpu-list-empty", "likely"),
        (MEASURED, "mentions-gpu", "possible"),
    ],
)
def test_the_confidence_on_windows_depends_on_the_version_and_the_wish_for_a_gpu(
    rank: int, wish: str, confidence: str
) -> None:
    facts = (
        TensorFlowVersion(HERE, "2.15.0", "tensorflow", rank=rank),
        Platform(HERE, "windows", "x86_64"),
        Symptom(HERE, wish),
    )
    assert [f.confidence for f in judged("tf-windows-native", *facts)] == [confidence]


# --- cudnn-init-oom


@pytest.mark.parametrize(
    ("kinds", "fires"),
    [
        (("cudnn-handle-failed",), True),
        (("cudnn-launch-failed",), False),
        (("blas-launch-failed",), True),
        (("blas-launch-failed", "illegal-address"), False),
        (("blas-launch-failed", "cudnn-handle-failed", "illegal-address"), True),
    ],
)
def test_a_failed_launch_with_a_crash_or_only_in_cudnn_is_no_lack_of_memory(
    kinds: tuple[str, ...], fires: bool
) -> None:
    assert bool(judged("cudnn-init-oom", *(Symptom(HERE, kind) for kind in kinds))) == fires


# --- library-path: the stub


@pytest.mark.parametrize(("around", "fires"), [((), True), ((EnvironmentKind(HERE, "docker"),), False)])
def test_an_answering_stub_is_a_path_problem_only_outside_containers(
    around: tuple[Fact, ...], fires: bool
) -> None:
    answered = CudaCallFailed(HERE, "cuInit", "CUDA_ERROR_STUB_LIBRARY")
    skipped = Symptom(HERE, "gpu-skipped")
    assert any("stub" in f.explanation for f in judged("library-path", answered, skipped, *around)) == fires


# --- tf-conflicting-packages


@pytest.mark.parametrize(
    ("kind", "says"),
    [("both-packages", "names both distributions"), ("hollow-module", "not a complete package")],
)
def test_two_distributions_and_an_incomplete_package_are_distinguished(kind: str, says: str) -> None:
    (finding,) = judged("tf-conflicting-packages", Symptom(HERE, kind), Symptom(HERE, "gpu-list-empty"))
    assert says in finding.explanation


# --- tf-import-failed: Windows


@pytest.mark.parametrize(("platform", "says"), [("windows", True), ("linux", False)])
def test_missing_cuda_dlls_are_mentioned_only_on_windows(platform: str, says: bool) -> None:
    dll = Symptom(Source("case", 1, "ImportError: DLL load failed"), "dll-load-failed")
    (finding,) = judged("tf-import-failed", dll, Platform(HERE, platform, "x86_64"))
    assert ("tensorflow-gpu before 1.14" in finding.explanation) == says


# --- driver-missing: a list of devices from elsewhere


@pytest.mark.parametrize(
    ("device", "fires"),
    [
        (GpuRegistered(Source("case", 1, "GPU:0"), 0), True),  # listed above, without a name
        (GpuRegistered(Source("case", 9, "GPU:0"), 0), False),  # created after the library was missed
        (
            GpuRegistered(Source("case", 1, "GPU:0"), 0, name="Tesla T4"),
            False,
        ),  # TensorFlow's own line, with the card
    ],
)
def test_a_list_of_devices_above_the_missing_driver_may_come_from_another_machine(
    device: GpuRegistered, fires: bool
) -> None:
    missing = LibraryNotLoaded(
        Source("case", 5, "libcuda.so.1: cannot open"), "libcuda.so.1", "cannot open shared object file"
    )
    assert bool(judged("driver-missing", missing, device)) == fires
