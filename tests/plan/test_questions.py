"""Tests the most common real questions. The expected answers were written by hand, from the wheels and
NVIDIA's documents."""

from __future__ import annotations

import pytest

from doctor.errors import UsageError
from doctor.facts import (
    CudaVersion,
    CudnnVersion,
    DriverVersion,
    Fact,
    Facts,
    Gpu,
    Platform,
    PythonVersion,
    Source,
)
from doctor.plan import Plan, PlanContext, VersionRequest, make_plans
from doctor.plan.request import Request, answered, checked_versions
from doctor.plan.routes import install_options
from doctor.plan.version_request import newest_final
from doctor.tables import Tables
from tests.plan.contexts import codes, commands, first, outcome


def by_route(plans: tuple[Plan, ...], route: str) -> Plan:
    return next(p for p in plans if p.route == route)


def test_driver_470_and_rtx_3090_gets_the_last_release_for_cuda_11(tables: Tables) -> None:
    found = outcome(tables, gpu="RTX 3090", driver="470.256.02")
    assert found.works
    plan = first(found)
    assert (plan.tensorflow, plan.route, plan.cuda, plan.python) == ("2.14.1", "pip-and-cuda", "11.8", "3.10")
    newer = [p for p in found.plans if "driver" in p.candidate.given_up]
    assert newer, "the plan with a newer driver follows the plan that keeps the driver"
    assert {p.tensorflow for p in newer} >= {"2.20.0"}
    assert all("525.60.13" in " ".join(p.changes) for p in newer)
    assert any(
        r.startswith(f"not 2.15.0 to {newest_final(tables)}: driver 470.256.02 is older than 525.60.13")
        for r in plan.why
    ), "why no newer one"


def test_driver_470_and_python_3_12_takes_another_python_before_another_driver(tables: Tables) -> None:
    found = outcome(tables, os="Ubuntu 24.04", gpu="RTX 3090", driver="470.256.02")
    plan = first(found)
    assert (plan.tensorflow, plan.python) == ("2.14.1", "3.10")
    assert "uv venv --python 3.10" in commands(plan)


def test_gtx_1080_on_a_fresh_ubuntu_24_04_gets_a_cudnn_with_pascal_kernels(tables: Tables) -> None:
    found = outcome(tables, os="Ubuntu 24.04", gpu="GTX 1080")
    plan = first(found)
    assert (plan.tensorflow, plan.python, plan.route) == ("2.20.0", "3.12", "pip-and-cuda")
    assert "'tensorflow[and-cuda]==2.20.0' 'nvidia-cudnn-cu12<9.11'" in commands(plan)
    assert any("cudnn-open-range" in reason for reason in plan.why)


def test_tesla_k80_ends_with_2_14_and_branch_470(tables: Tables) -> None:
    plan = first(outcome(tables, gpu="Tesla K80"))
    assert plan.tensorflow == "2.14.1"
    assert (plan.driver_minimum, plan.driver_last) == ("450.80.02", "470"), (
        "a current driver does not support it"
    )
    found = outcome(tables, os="Ubuntu 22.04", gpu="Tesla K80", driver="535.183.01")
    assert codes(found) == ["driver-too-new"]
    assert "R470" in found.findings[0].explanation
    assert "but at most branch R470" in found.findings[0].explanation, "a newer driver would not help"
    assert "nvidia-driver-470" in commands(first(found))


def test_tesla_m60_with_driver_535_ends_with_2_16(tables: Tables) -> None:
    plan = first(outcome(tables, gpu="Tesla M60", driver="535.183.01"))
    assert (plan.tensorflow, plan.route) == ("2.16.2", "pip-and-cuda")


def test_rtx_5090_gets_the_newest_release_with_its_library_linked(tables: Tables) -> None:
    found = outcome(tables, gpu="RTX 5090", driver="570.86.10", python="3.12")
    plan = first(found)
    assert plan.tensorflow == newest_final(tables)
    assert "nvidia/cusolver/lib/libcusolver.so.11" in commands(plan)
    assert "libcusolver.so.11" in commands(plan)
    assert any("at the first start" in reason for reason in plan.why), (
        "the plan says that the first start compiles code"
    )
    assert any("XLA" in reason for reason in plan.why), "and names what does not work at all"
    assert {p.tensorflow for p in found.plans if p.route != "cpu"} == {newest_final(tables)}


def test_rtx_5090_with_driver_550_needs_another_driver_not_the_cpu(tables: Tables) -> None:
    found = outcome(tables, gpu="RTX 5090", driver="550.54.14")
    assert codes(found) == ["driver-too-old"]
    assert "Blackwell (compute capability 12.0) came with CUDA 12.8" in found.findings[0].explanation
    plan = first(found)
    assert (plan.tensorflow, plan.driver_minimum) == (newest_final(tables), "570.26")
    assert not any("550.54.14 offers" in reason for reason in plan.why), (
        "the reasons are about the driver in the plan"
    )


def test_windows_with_a_gpu_older_than_pascal_stays_on_windows(tables: Tables) -> None:
    """WSL2 supports GPUs from Pascal on."""
    plan = first(outcome(tables, os="Windows 11", gpu="GTX 980"))
    assert (plan.tensorflow, plan.route) == ("2.10.1", "conda")


def test_h100_with_driver_535_stays_below_the_ptx_that_this_driver_cannot_compile(tables: Tables) -> None:
    found = outcome(tables, gpu="H100", driver="535.104.05")
    assert first(found).tensorflow == "2.16.2"
    newer = by_route(tuple(p for p in found.plans if "driver" in p.candidate.given_up), "pip-and-cuda")
    assert (newer.tensorflow, newer.driver_minimum) == ("2.20.0", "555.42.02")


def test_cuda_11_2_and_cudnn_8_1_fixed_by_an_administrator(tables: Tables) -> None:
    found = outcome(tables, cuda="11.2", cudnn="8.1")
    assert found.works
    plan = first(found)
    assert (plan.tensorflow, plan.route, plan.python) == ("2.11.1", "pip-system-cuda", "3.10")
    assert "numpy<2" in commands(plan), "2.11 sets no bound on NumPy itself"
    assert any(
        step.kind == "manual" and "Make sure that the loader finds CUDA 11.2 and cuDNN 8.1" in step.text
        for step in plan.commands
    )
    own = by_route(found.plans, "pip-and-cuda")
    assert any("stays unchanged" in change for change in own.changes)


def test_windows_11_without_wsl(tables: Tables) -> None:
    found = outcome(tables, os="Windows 11", gpu="RTX 3060")
    assert [f.code for f in found.findings] == ["tf-windows-native"]
    plan = first(found)
    assert (plan.tensorflow, plan.route) == ("2.20.0", "wsl2")
    assert commands(plan).startswith("wsl --install")
    native = by_route(found.plans, "conda")
    assert (native.tensorflow, native.cuda, native.python) == ("2.10.1", "11.2", "3.10")


def test_windows_and_a_release_after_2_10_is_refused_on_windows_itself(tables: Tables) -> None:
    found = outcome(tables, "2.15", os="Windows 11", gpu="RTX 3060")
    assert codes(found) == ["tf-windows-native"]
    assert (first(found).tensorflow, first(found).route) == ("2.15.1", "wsl2")


def test_python_3_13_starts_with_2_20(tables: Tables) -> None:
    assert (first(outcome(tables, gpu="RTX 3060", python="3.13"))).tensorflow == "2.20.0"
    found = outcome(tables, "2.18", gpu="RTX 3060", python="3.13")
    assert codes(found) == ["tf-no-wheel"]
    assert {(p.tensorflow, p.python) for p in found.plans} >= {("2.18.1", "3.12"), ("2.20.0", "3.13")}


def test_python_3_14_has_no_final_release(tables: Tables) -> None:
    found = outcome(tables, gpu="RTX 3060", python="3.14")
    assert codes(found) == ["tf-no-wheel"]
    assert "Python 3.13" in found.findings[0].explanation
    plan = first(found)
    assert (plan.tensorflow, plan.python) == ("2.20.0", "3.13")
    assert "uv venv --python 3.13" in commands(plan)


def test_python_3_6_with_1_15_on_cuda_11_2(tables: Tables) -> None:
    found = outcome(tables, "1.15", python="3.6", cuda="11.2")
    assert codes(found) == ["cuda-version-mismatch"]
    assert "libcudart.so.10.0" in found.findings[0].explanation
    plan = by_route(found.plans, "conda")
    assert (plan.tensorflow, plan.package, plan.cuda) == ("1.15.5", "tensorflow-gpu", "10.0")
    other = by_route(found.plans, "pip-system-cuda")
    assert other.tensorflow.startswith(("2.5", "2.6")), "the nearest that loads the libraries of CUDA 11.2"


def test_nearest_plan_is_the_newest_patch_of_the_nearest_minor_version(tables: Tables) -> None:
    for wish, gpu, best in (("2.3", "RTX 3090", "2.5.3"), ("1.15", "RTX 4090", "2.5.3")):
        found = outcome(tables, wish, gpu=gpu, os="Ubuntu 20.04")
        assert first(found).tensorflow == best


def test_aarch64_server_has_no_cuda_build_on_the_index(tables: Tables) -> None:
    found = outcome(tables, os="Ubuntu 22.04 aarch64", gpu="A100")
    assert [finding.code for finding in found.findings] == ["tf-cpu-only"]
    assert found.works, "NVIDIA's container works"
    assert "nvcr.io" in found.findings[0].explanation
    assert [p.route for p in found.plans] == ["nvidia-container", "cpu"]


def test_mac_has_no_cuda(tables: Tables) -> None:
    found = outcome(tables, os="macOS arm64")
    assert codes(found) == ["tf-cpu-only"]
    assert [p.route for p in found.plans] == ["cpu"]


def test_mac_with_an_intel_processor_gets_no_cuda_of_2017(tables: Tables) -> None:
    """tensorflow 1.0 supported CUDA on macOS, but there is no driver for macOS after 10.13."""
    found = outcome(tables, os="macOS x86_64")
    assert codes(found) == ["tf-cpu-only"]
    assert [p.route for p in found.plans] == ["cpu"]


def test_alpine_has_no_wheel_and_gets_an_image(tables: Tables) -> None:
    found = outcome(tables, os="Alpine 3.20", gpu="RTX 3080")
    assert codes(found) == ["tf-no-wheel"]
    assert "musl" in found.findings[0].title
    assert {p.route for p in found.plans} == {"docker"}
    assert found.findings[0].prescription


def test_windows_on_arm_has_no_cuda(tables: Tables) -> None:
    found = outcome(tables, os="Windows 11 arm64")
    assert codes(found) == ["tf-cpu-only"]
    assert [p.route for p in found.plans] == ["cpu"]


def test_empty_wheel_is_planned_only_if_its_requirement_has_a_file(tables: Tables) -> None:
    """This depends on the files of tensorflow-intel, tensorflow-macos and tensorflow-cpu-aws on the package
    index, where 2.13.0 has files for Python 3.8."""
    for system, version, python in (
        ("Windows 11", "2.13.1", "3.8"),
        ("macOS arm64", "2.13.1", "3.8"),
        ("linux aarch64", "2.11.1", "3.10"),
    ):
        last = outcome(tables, version, os=system, python=python).plans[-1]
        assert (last.tensorflow, last.python) != (version, python), system
        assert f"TensorFlow {last.tensorflow} instead of {version}" in last.changes
    mac = first(outcome(tables, os="macOS arm64", python="3.8"))
    assert (mac.tensorflow, mac.python) == ("2.13.0", "3.8")


def test_official_image_is_offered_outside_of_a_container_only(tables: Tables) -> None:
    plan = by_route(outcome(tables, os="Ubuntu 22.04", gpu="RTX 3080").plans, "docker")
    assert "docker run --rm --gpus all tensorflow/tensorflow:2.17.0-gpu" in commands(plan), (
        "later images contain cuDNN 8, but their build loads cuDNN 9"
    )
    assert any("not checked" in step.why for step in plan.commands), "no registry was asked for the tag"
    inside = outcome(tables, os="docker", gpu="RTX 3080", driver="470.82.01")
    assert "docker" not in {p.route for p in inside.plans}
    changed = [p for p in inside.plans if "driver" in p.candidate.given_up]
    assert any("on the host" in step.why for step in changed[0].commands)


def test_2_10_on_debian_11_gets_cuda_11_from_nvidias_packages_and_links(tables: Tables) -> None:
    plan = first(outcome(tables, "2.10", os="Debian 11", gpu="RTX 3060"))
    assert (plan.tensorflow, plan.python, plan.route, plan.cuda, plan.cudnn) == (
        "2.10.1",
        "3.9",
        "pip-and-cuda",
        "11.8",
        "8.7",
    )
    text = commands(plan)
    assert "tensorflow==2.10.1 nvidia-cublas-cu11==11.11.3.6" in text, (
        "the versions pinned by 2.14, the last release for CUDA 11"
    )
    assert "[and-cuda]" not in text
    assert "['tensorflow/' + os.path" in text, "2.10 searches only beside itself"
    assert "'numpy<2'" in text


def test_2_14_under_python_3_11_takes_its_libraries_by_name(tables: Tables) -> None:
    """The TensorRT that the extra requires has no wheel for Python 3.11, but no GPU device needs it."""
    plan = first(outcome(tables, "2.14", python="3.11", gpu="RTX 3060", driver="470.256.02"))
    assert (plan.tensorflow, plan.python, plan.route) == ("2.14.1", "3.11", "pip-and-cuda")
    assert "nvidia-cudnn-cu11==8.7.0.84" in commands(plan)
    assert "tensorrt" not in commands(plan)
    assert not plan.candidate.links, "2.14 searches pip's folders"


def test_2_4_has_no_libraries_on_the_index(tables: Tables) -> None:
    """No package on the index ever contained libcusolver.so.10."""
    assert "pip-and-cuda" not in {
        p.route
        for p in outcome(tables, "2.4", python="3.8", gpu="RTX 3060").plans
        if p.tensorflow.startswith("2.4")
    }


def test_2_15_0_becomes_2_15_1_where_its_extra_cannot_be_installed(tables: Tables) -> None:
    found = outcome(tables, "2.15.0", gpu="RTX 3080", driver="535.183.01")
    assert codes(found) == ["known-release-bug"]
    assert first(found).tensorflow == "2.15.1"


def test_each_group_of_newer_releases_has_its_own_reason(tables: Tables) -> None:
    asked = Request(gpu=("H100",), cuda="11.8", cudnn="8.6", os="Ubuntu 22.04")
    last = newest_final(tables)
    why = [reason for reason in answered(asked).plans[0].why if reason.startswith("not 2.")]
    assert [reason.partition(" (")[0] for reason in why] == [
        f"not 2.18.0 to {last}: tensorflow=={last} loads cuDNN 9, not 8",
        "not 2.14.0 to 2.17.1: tensorflow==2.17.1 was compiled with cuDNN 8.9; 8.6 is older",
    ]


def test_gpu_that_only_wsl_supports_is_newer_than_the_builds_for_windows(tables: Tables) -> None:
    found = answered(Request(gpu=("RTX 5090",), os="Windows 11"))
    title = "RTX 5090: newer than any TensorFlow release with CUDA for Windows supports"
    assert found.findings[0].title == title
    assert found.plans[0].route == "wsl2"


@pytest.mark.parametrize("name", ["Radeon 7900", "RX 7900 XT", "Intel Arc A770", "MI300X"])
def test_gpu_of_another_vendor_is_named_as_such(name: str) -> None:
    with pytest.raises(UsageError, match="not an NVIDIA GPU") as refused:
        answered(Request(gpu=(name,), os="Ubuntu 22.04"))
    assert "--gpu none" in str(refused.value.hint)


def test_release_that_is_not_in_the_tables(tables: Tables) -> None:
    message = f"the tables from {tables.date} contain no TensorFlow release `3.5`"
    with pytest.raises(UsageError, match=message):
        answered(Request("3.5", os="Ubuntu 22.04"))


def test_2_16_1_is_cured_by_links(tables: Tables) -> None:
    found = outcome(tables, "2.16.1", gpu="RTX 3080")
    assert found.works
    assert {link.library for link in first(found).candidate.links} >= {"libcudnn.so.8", "libcublas.so.12"}


def test_requested_release_on_an_old_driver_names_both_possible_changes(tables: Tables) -> None:
    found = outcome(tables, "2.20", gpu="RTX 3090", driver="470.256.02", python="3.10")
    assert codes(found) == ["driver-too-old"]
    assert "525.60.13" in found.findings[0].explanation
    assert {p.tensorflow for p in found.plans if p.route == "pip-and-cuda"} == {"2.14.1", "2.20.0"}
    assert first(found).tensorflow == "2.14.1", "the driver is changed last"


def test_old_glibc_takes_the_newest_release_whose_wheel_it_can_load(tables: Tables) -> None:
    plan = first(outcome(tables, os="CentOS 7", gpu="RTX 3080"))
    assert plan.tensorflow == "2.20.0", "2.21 needs glibc 2.27, CentOS 7 has 2.17"
    assert "--only-binary :all:" in commands(plan), "the newest NumPy has no wheel for glibc 2.17"
    older = first(outcome(tables, os="CentOS 7", gpu="RTX 3080", python="3.11"))
    assert "uv" in commands(older) or "--prefer-binary" in commands(older)
    assert "binary" not in commands(first(outcome(tables, os="Ubuntu 22.04", gpu="RTX 3080")))
    found = outcome(tables, "2.21", os="CentOS 7", gpu="RTX 3080")
    assert not found.works


def test_debian_11_does_not_get_its_own_driver_of_branch_470_for_cuda_12(tables: Tables) -> None:
    found = outcome(tables, "2.20", os="Debian 11", gpu="RTX 3080", driver="470.256.02")
    changed = next(p for p in found.plans if "driver" in p.candidate.given_up)
    assert "cuda-drivers" in commands(changed)


def test_2_12_on_python_3_8_builds_jax_where_all_else_has_to_be_a_wheel(tables: Tables) -> None:
    """jax up to 0.4.15 is on the index only as a source archive of pure Python, and no later release supports
    Python 3.8."""
    found = outcome(tables, "2.12", os="CentOS 7", python="3.8")
    assert (first(found).tensorflow, first(found).python) == ("2.12.1", "3.8")
    assert install_options(first(found).candidate, found.context, uv=True) == (
        "--only-binary",
        ":all:",
        "--no-binary",
        "jax",
    )


def test_python_that_the_distribution_does_not_have_comes_through_uv(tables: Tables) -> None:
    asked = commands(first(outcome(tables, os="Ubuntu 24.04", gpu="RTX 4090", python="3.13")))
    assert "uv venv --python 3.13 tf-gpu" in asked, "Ubuntu 24.04 has 3.12"
    assert "python3.12 -m venv tf-gpu" in commands(
        first(outcome(tables, os="Ubuntu 24.04", gpu="RTX 4090", python="3.12"))
    )
    assert "python3.13 -m venv tf-gpu" in commands(first(outcome(tables, gpu="RTX 4090", python="3.13"))), (
        "the plan listed it as present"
    )
    old = outcome(tables, "2.4", os="Ubuntu 20.04", python="3.6", cuda="11.0", cudnn="8.0")
    assert "python3.6 -m venv tf-gpu" in commands(first(old)), "uv installs no Python before 3.8"


def test_unknown_c_library_is_reported(tables: Tables) -> None:
    plan = first(outcome(tables, os="CentOS 5", python="3.10"))
    assert any("the tables do not contain the glibc version of CentOS 5" in reason for reason in plan.why)


def test_uv_is_found_by_the_shell_that_installed_it(tables: Tables) -> None:
    steps = first(outcome(tables, os="Ubuntu 24.04", gpu="RTX 3090", driver="470.256.02")).commands
    assert steps[0].text.endswith('&& export PATH="$HOME/.local/bin:$PATH"')


def test_every_plan_ends_with_the_cpu(tables: Tables) -> None:
    for machine in (
        {"gpu": "RTX 3090"},
        {"os": "Windows 11"},
        {"os": "macOS x86_64"},
        {"gpu": "Tesla K80", "driver": "535"},
    ):
        assert outcome(tables, **machine).plans[-1].route == "cpu"


def looked_at(*facts: Fact) -> PlanContext:
    """Return a Linux machine with a GPU, a driver, Python 3.11 and the given additional facts."""
    here = Source("the machine")
    more = (
        Platform(here, "linux", "x86_64"),
        Gpu(here, "an NVIDIA card", "8.6"),
        DriverVersion(here, "550.54.14"),
        PythonVersion(here, "3.11.2", 64),
    )
    return PlanContext(Facts((*more, *facts), "machine", "a machine"), Tables.bundled(), VersionRequest())


def test_cuda_inside_one_environment_is_not_used_in_another(tables: Tables) -> None:
    wheels, conda, toolkit = (
        "/home/me/venv/lib/python3.11/site-packages",
        "/opt/conda/envs/tf",
        "/usr/local/cuda-12.3",
    )
    inside = (
        CudaVersion(
            Source(f"{wheels}/nvidia_cuda_runtime_cu12-12.9.79.dist-info"),
            "12.9.79",
            f"{wheels}/nvidia/cuda_runtime/lib",
        ),
        CudnnVersion(
            Source(f"{wheels}/nvidia_cudnn_cu12-9.28.0.42.dist-info"),
            "9.28.0.42",
            f"{wheels}/nvidia/cudnn/lib",
        ),
        CudaVersion(Source(f"{conda}/conda-meta/cudatoolkit-11.8.0-h1.json"), "11.8.0", f"{conda}/lib"),
        CudnnVersion(Source(f"{conda}/lib/libcudnn.so.8"), "8.9.7", f"{conda}/lib"),
    )
    assert "pip-system-cuda" not in {p.route for p in make_plans(looked_at(*inside)).plans}
    cuda = CudaVersion(Source(f"{toolkit}/version.json"), "12.3", toolkit)
    without_cudnn = make_plans(looked_at(*inside, cuda))
    assert "pip-system-cuda" not in {p.route for p in without_cudnn.plans}, "its cuDNN is in the environments"
    cudnn = CudnnVersion(
        Source("/usr/lib/x86_64-linux-gnu/libcudnn.so.8"), "8.9.7", "/usr/lib/x86_64-linux-gnu"
    )
    own = by_route(make_plans(looked_at(*inside, cuda, cudnn)).plans, "pip-system-cuda")
    assert (own.cuda, own.cudnn) == ("12.3", "8.9.7")


def test_cuda_and_cudnn_that_no_table_knows_are_refused(tables: Tables) -> None:
    for request, said in (
        (Request(cuda="99"), "do not contain CUDA 99; the newest release is"),
        (Request(cuda="12.7"), "do not contain CUDA 12.7"),
        (Request(cudnn="42"), "do not contain cuDNN 42"),
    ):
        with pytest.raises(UsageError, match=said) as refused:
            checked_versions(request, tables)
        assert refused.value.hint
    checked_versions(Request(cuda="11.2.2", cudnn="8.1"), tables)


def test_a_cure_that_is_a_plan_names_the_plan(tables: Tables) -> None:
    from doctor.render.plans import text

    said = text(answered(Request(os="Windows 11", gpu=("RTX 3060",), driver="535.98")))
    assert "cure: the steps of plan 1" in said
    assert "cure: Start Ubuntu" not in said


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"cudnn": "9"}, "cuDNN 9"),
        ({"cuda": "11.2"}, "CUDA 11.2"),
        ({"cuda": "11.2", "cudnn": "8.1"}, "CUDA 11.2 and cuDNN 8.1"),
    ],
)
def test_plan_beside_the_installed_libraries_names_them(
    tables: Tables, asked: dict[str, str], kept: str
) -> None:
    found = outcome(tables, gpu="RTX 3080", driver="535.183.01", **asked)
    plan = next(p for p in found.plans if p.route == "pip-and-cuda")
    assert (
        f"CUDA {plan.cuda} and cuDNN {plan.cudnn} inside the environment; the installed {kept} stays"
        " unchanged" in plan.changes
    )


def test_plan_says_why_a_new_gpu_needs_a_newer_driver_than_its_cuda(tables: Tables) -> None:
    plan = first(outcome(tables, gpu="RTX 5090", driver="580.65"))
    assert any(
        reason.startswith("driver 570.26 or newer is needed: support for Blackwell") for reason in plan.why
    )


def test_code_for_exactly_the_gpu_is_stated_without_repeating_it(tables: Tables) -> None:
    reasons = " ".join(first(outcome(tables, gpu="H100", driver="580.65")).why)
    assert "machine code for compute capability 9.0 (" in reasons


def test_invalid_python_and_missing_minor_version_get_different_errors(tables: Tables) -> None:
    for python, said in (("abc", "not a version"), ("3", "the minor version is missing")):
        with pytest.raises(UsageError, match=said):
            checked_versions(Request(python=python), tables)
