"""Tests TensorFlow builds that are not from PyPI: their own build information counts, not the PyPI wheel with
the same version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.facts import LibraryWanted
from doctor.tables import Tables
from doctor.tables.own_builds import libraries
from tests.probe.machines import BUILDS, CUDA, Folder
from tests.probe.test_verdicts import LIB, codes, volta

SM = {
    "wheel": ("sm_50", "sm_60", "sm_70", "sm_75", "compute_80"),
    "blackwell": ("sm_80", "sm_90", "sm_100", "sm_120", "compute_120"),
}


def build(
    machine: Folder, release: str, cuda: str, cudnn: str, *, kernels: str = "", **more: object
) -> Folder:
    """A TensorFlow build whose build_info.py states these CUDA and cuDNN versions and these GPUs."""
    known = BUILDS.get(release)
    BUILDS[release] = (cuda, cudnn, ())
    try:
        machine.tensorflow(release, **more)  # type: ignore[arg-type]
    finally:
        if known is None:
            del BUILDS[release]
        else:
            BUILDS[release] = known
    if kernels:
        path = machine.root / f"{machine.site}/tensorflow/python/platform/build_info.py".lstrip("/")
        text = path.read_text().replace(
            "[('is_cuda", f"[('cuda_compute_capabilities', {list(SM[kernels])!r}), ('is_cuda"
        )
        path.write_text(text)
    return machine


def in_conda(machine: Folder, release: str, version: str) -> Folder:
    """Add one CUDA release and cuDNN with the same layout as conda's packages."""
    for name in CUDA[release]:
        machine.cuda_library("/opt/conda/lib", name, release)
    machine.write(f"/opt/conda/conda-meta/cudnn-{version}-h1.json", "{}")
    return machine.cudnn(version, "/opt/conda/lib")


def anaconda_2_4_1(machine: Folder, *, cudnn: str = "7.6.5") -> Folder:
    """Anaconda's 2.4.1, made for CUDA 10.1 and cuDNN 7. The wheel on PyPI loads CUDA 11.0 and cuDNN 8."""
    build(volta(machine).conda("3.9"), "2.4.1", "10.1", "7", conda=True)
    machine.write("/opt/conda/conda-meta/tensorflow-2.4.1-gpu_py39h8236f22_0.json", "{}")
    machine.write("/opt/conda/conda-meta/cudatoolkit-10.1.243-h6bb024c_0.json", "{}")
    return in_conda(machine, "10.1", cudnn)


def conda_forge_for_cuda_13(machine: Folder) -> Folder:
    """A build of conda-forge for a CUDA version for which the release has no wheel."""
    machine.working_gpu("580.65.06", cuda="13.0").conda("3.11")
    return in_conda(build(machine, "2.18.1", "13.0", "9", conda=True), "13.0", "9.13.0")


def distribution(machine: Folder, *, cudnn: bool = True) -> Folder:
    """The package from a Linux distribution: installed for the system's Python, and linked to the CUDA
    libraries in /opt/cuda."""
    machine.working_gpu("570.86.16", cuda="12.8").python("3.13", "/usr").env(PATH="/usr/bin")
    machine.record["env"] = {"PATH": "/usr/bin"}
    (machine.root / "usr/pyvenv.cfg").unlink()
    machine.link("/usr/bin/python3", "python")
    build(machine, "2.18.1", "12.8", "9")
    core = f"{machine.site}/tensorflow"
    machine.library(f"{core}/libtensorflow_framework.so.2")
    linked = ("libtensorflow_framework.so.2", "libcudart.so.12", "libcudnn.so.9", "libcublas.so.12")
    machine.library(f"{core}/libtensorflow_cc.so.2", needed=linked, runpath="$ORIGIN")
    machine.library(
        f"{core}/python/_pywrap_tensorflow_internal.so",
        needed=("libtensorflow_cc.so.2",),
        runpath="$ORIGIN/..",
    )
    machine.toolkit("12.5", "/opt/cuda")
    if cudnn:
        machine.cudnn("9.5.0", "/usr/lib")
    return machine.in_loader_cache("/opt/cuda/lib64", "/usr/lib")


def nvidia_container(machine: Folder, *, release: str = "13.0") -> Folder:
    """NVIDIA's container: TensorFlow 2.17.0+nv25.2 in /usr/local, with the toolkit on the loader's search
    path."""
    machine.gpu("2b85").driver("580.65.06")
    machine.answers(cuda="13.0", capability="12.0", name="NVIDIA GeForce RTX 5090")
    machine.write("/.dockerenv", "").python("3.12", "/usr/local").env(PATH="/usr/local/bin")
    machine.record["env"] = {"PATH": "/usr/local/bin"}
    (machine.root / "usr/local/pyvenv.cfg").unlink()
    machine.link("/usr/local/bin/python3", "python")
    build(machine, "2.17.0", "13.0", "9", kernels="blackwell")
    info = machine.root / f"{machine.site}/tensorflow-2.17.0.dist-info".lstrip("/")
    info.rename(info.with_name("tensorflow-2.17.0+nv25.2.dist-info"))
    machine.toolkit(release).cudnn("9.13.0", LIB)
    return machine.in_loader_cache(f"/usr/local/cuda-{release}/lib64")


HEALTHY: dict[str, Callable[[Folder], Folder]] = {
    "Anaconda's 2.4.1 for CUDA 10.1": anaconda_2_4_1,
    "conda-forge's for CUDA 13": conda_forge_for_cuda_13,
    "a distribution's": distribution,
    "NVIDIA's container on a GPU that no wheel has code for": nvidia_container,
}
BROKEN: dict[str, tuple[str, Callable[[Folder], Folder]]] = {
    "Anaconda's with the cuDNN of PyPI's": (
        "cudnn-version-mismatch",
        lambda m: anaconda_2_4_1(m, cudnn="8.1.1"),
    ),
    "a distribution's without cuDNN": ("cudnn-missing", lambda m: distribution(m, cudnn=False)),
    "NVIDIA's with another CUDA": ("cuda-version-mismatch", lambda m: nvidia_container(m, release="12.5")),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_build_from_another_source_gets_no_error(name: str, tmp_path: Path) -> None:
    diagnosis = HEALTHY[name](Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == "healthy", codes(diagnosis)


@pytest.mark.parametrize("name", BROKEN)
def test_a_library_that_a_build_from_another_source_lacks_is_named(name: str, tmp_path: Path) -> None:
    code, make = BROKEN[name]
    diagnosis = make(Folder(tmp_path / "machine")).diagnosis()
    assert diagnosis.verdict.code == code, codes(diagnosis)


@pytest.mark.parametrize(("lost", "code"), [("", "healthy"), ("libtensorflow_cc.so.2", "tf-import-failed")])
def test_tensorflows_own_folder_is_searched_if_a_copy_has_no_runpath(
    lost: str, code: str, tmp_path: Path
) -> None:
    machine = distribution(Folder(tmp_path))
    core = f"{machine.site}/tensorflow"
    machine.library(f"{core}/python/_pywrap_tensorflow_internal.so", needed=("libtensorflow_cc.so.2",))
    machine.library(f"{core}/libtensorflow_cc.so.2", needed=("libtensorflow_framework.so.2",))
    if lost:
        (machine.root / f"{core}/{lost}".lstrip("/")).unlink()
    assert machine.diagnosis().verdict.code == code


def test_libraries_to_which_tensorflow_is_linked_are_wanted(tmp_path: Path) -> None:
    wanted = {
        fact.name: fact.source.text for fact in distribution(Folder(tmp_path)).facts().of(LibraryWanted)
    }
    assert "linked" in wanted["libcudart.so.12"]
    assert "libcufft.so.11" in wanted


def test_the_catalogue_lists_the_libraries_that_every_wheel_loads() -> None:
    tables = Tables.bundled()
    rows = [
        row
        for row in tables.releases()
        if row.gpu and row.cuda and row.cudnn and row.version.startswith("2.")
    ]
    assert len(rows) > 100
    for row in rows:
        found = {
            library.soname for library in libraries(tables, row.version, row.cuda, row.cudnn, row.platform)
        }
        assert found == set(row.libraries_required), row.ref


# --- the cuDNN that a build was compiled with


def for_cuda_11_8(machine: Folder, cudnn: str, folder: str = LIB) -> Folder:
    """TensorFlow 2.13.1, which was compiled with cuDNN 8.6, and a CUDA toolkit on the loader's search
    path."""
    build(machine.working_gpu().python("3.11"), "2.13.1", "11.8", "8")
    for name in CUDA["11.8"]:
        machine.cuda_library("/usr/local/cuda-11.8/lib64", name, "11.8")
    return machine.cudnn(cudnn, folder).in_loader_cache("/usr/local/cuda-11.8/lib64")


def test_a_cudnn_older_than_the_compiled_one_is_a_mismatch_before_2_14_too(tmp_path: Path) -> None:
    diagnosis = for_cuda_11_8(Folder(tmp_path), "8.1.1").diagnosis()
    assert diagnosis.verdict.code == "cudnn-version-mismatch", codes(diagnosis)
    assert "8.1.1" in diagnosis.verdict.explanation


def test_the_cudnn_that_the_loader_finds_first_decides(tmp_path: Path) -> None:
    machine = for_cuda_11_8(Folder(tmp_path), "8.1.1").cudnn("8.6.0", "/opt/cudnn/lib")
    assert machine.env(LD_LIBRARY_PATH="/opt/cudnn/lib").diagnosis().verdict.code == "healthy"


def test_the_older_cudnn_first_on_the_path_decides(tmp_path: Path) -> None:
    machine = for_cuda_11_8(Folder(tmp_path), "8.6.0").cudnn("8.1.1", "/opt/cudnn/lib")
    assert machine.env(LD_LIBRARY_PATH="/opt/cudnn/lib").diagnosis().verdict.code == "cudnn-version-mismatch"


def test_the_version_of_a_cudnn_without_one_in_its_name_comes_from_its_header(tmp_path: Path) -> None:
    machine = for_cuda_11_8(Folder(tmp_path), "8.6.0").cudnn("8.1.1", "/opt/cudnn/lib", plain=True)
    header = "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 1\n"
    machine.write("/opt/cudnn/include/cudnn_version.h", header).env(LD_LIBRARY_PATH="/opt/cudnn/lib")
    assert machine.diagnosis().verdict.code == "cudnn-version-mismatch"


# --- builds for the GPUs of other makers


def on_a_mac(machine: Folder) -> Folder:
    machine.record.update({"system": "macos", "processor": "arm64"})
    return (
        machine.python()
        .tensorflow("2.15.1", "tensorflow-macos", gpu=False)
        .package("tensorflow-metal", "1.1.0")
    )


def with_rocm(machine: Folder) -> Folder:
    machine.pci("0000:03:00.0", "1002", "73bf", "030000", "amdgpu").write("/dev/kfd", "")
    return machine.python().tensorflow("2.15.1", "tensorflow-rocm", gpu=False)


def with_directml(machine: Folder) -> Folder:
    machine.record.update({"system": "windows", "env": {"PATH": "C:\\Windows"}})
    return (
        machine.python()
        .tensorflow("2.10.0", "tensorflow-cpu", gpu=False)
        .package("tensorflow_directml_plugin", "0.4.0")
    )


@pytest.mark.parametrize(
    ("make", "code"), [(on_a_mac, "tf-cpu-only"), (with_rocm, "healthy"), (with_directml, "healthy")]
)
def test_a_build_for_another_maker_s_gpu_is_not_called_broken(
    make: Callable[[Folder], Folder], code: str, tmp_path: Path
) -> None:
    """A build for a Mac cannot be meant for an NVIDIA card. The finding says which GPU TensorFlow uses there,
    and is not an error."""
    diagnosis = make(Folder(tmp_path)).diagnosis()
    assert (diagnosis.verdict.code, diagnosis.worst) == (code, "info")


@pytest.mark.parametrize("package", ["tensorflow-rocm", "intel-tensorflow", "tensorflow-cpu"])
def test_a_build_without_cuda_beside_nvidia_s_gpu_is_a_cpu_build(package: str, tmp_path: Path) -> None:
    machine = Folder(tmp_path).working_gpu().python().tensorflow("2.15.1", package, gpu=False)
    assert machine.diagnosis().verdict.code == "tf-cpu-only"
