"""Tests that facts from the tables about stated versions, and people's sentences, lead to a verdict, but
never to a certain one."""

from __future__ import annotations

import pytest

from doctor.case import Case
from doctor.facts import CudaVersion, Facts, LibraryNotLoaded, Platform, Source, TensorFlowVersion
from doctor.judge.compatibility import parts
from doctor.judge.weights import WEIGHTS
from doctor.logs.prose import classify
from doctor.remedies.usual import USUAL
from doctor.rules import ORDER
from tests.conftest import ROOT
from tests.rules.situation import bundled, diagnosed

STATED = {
    "TensorFlow 1.4.1, CUDA 8, cuDNN 7.0.5, import fails\n": {"cudnn-version-mismatch"},
    "RTX 5070, tensorflow 2.20.0, CUDA_ERROR_INVALID_HANDLE when I call fit\n": {"gpu-arch-too-new"},
    "RTX 5080, fresh venv, pip install tensorflow==2.17, nvidia-smi works, "
    "tf.config.list_physical_devices('GPU') is empty.\n": {
        "cuda-missing",
        "gpu-arch-too-new",
    },
}


@pytest.mark.parametrize(("text", "codes"), STATED.items(), ids=[text[:30] for text in STATED])
def test_stated_versions_are_judged_by_the_tables(text: str, codes: set[str]) -> None:
    diagnosis = diagnosed(text)
    assert diagnosis.verdict.code in codes
    misfits = [part for part in diagnosis.compatibility if part.fits is False]
    assert misfits
    assert all(part.tables and part.evidence for part in misfits)
    assert codes <= {diagnosis.verdict.code, *(other.code for other in diagnosis.alternatives)}


def test_a_skipped_gpu_beside_a_cuda_of_another_release_is_that_release_s_fault() -> None:
    text = "Ubuntu 18.04, TensorFlow 2.1, CUDA 10.2, cuDNN 7.6.5. Cannot dlopen some GPU libraries.\n"
    assert diagnosed(text).verdict.code == "cuda-version-mismatch"
    assert diagnosed(text.replace("10.2", "10.1")).verdict.code != "cuda-version-mismatch"


@pytest.mark.parametrize(("release", "conflict"), [("2.3.0", False), ("1.15.2", True)])
def test_two_names_of_one_build_are_no_conflict(release: str, conflict: bool) -> None:
    """Since 2.1, tensorflow contains the same CUDA build as tensorflow-gpu; before, it was a build for the
    CPU."""
    text = (
        f"Windows 10, GTX 1080, tensorflow-gpu {release} and tensorflow {release} are installed. Training is"
        " slow, it runs on the CPU.\n"
    )
    assert ("tf-conflicting-packages" in {finding.code for finding in diagnosed(text).findings}) is conflict


@pytest.mark.parametrize(("release", "code"), [("2.16.1", "library-path"), ("2.15.1", None)])
def test_a_release_that_does_not_find_what_pip_installed_for_it(release: str, code: str | None) -> None:
    text = (
        f"Ubuntu 22.04, Python 3.10, pip install 'tensorflow[and-cuda]=={release}'. nvidia-smi works, and"
        " tf.config.list_physical_devices('GPU') is [].\n"
    )
    parts = [part for part in diagnosed(text).compatibility if part.part == "cuda"]
    assert [part.code for part in parts if part.fits is False] == ([code] if code else [])
    assert all("runpath" in " ".join(part.tables) for part in parts if part.fits is False)


WORKS_ELSEWHERE = {
    "Since TensorFlow 2.11 (Windows 11, no WSL) the GPU is no longer used. 2.10.1 is fine.\n": (
        "tf-windows-native"
    ),
    "Windows 10, CUDA 11.8, cuDNN 8.6. TF 2.10 works on my GPU, with 2.12.0 I get GPU is NOT AVAILABLE.\n": (
        "tf-windows-native"
    ),
    "The image has cudnn 9. TF 2.16 in it doesn't see the GPU. The image with cudnn 8 works.\n": (
        "cudnn-version-mismatch"
    ),
}


@pytest.mark.parametrize(
    ("text", "code"), WORKS_ELSEWHERE.items(), ids=[text[:30] for text in WORKS_ELSEWHERE]
)
def test_the_versions_of_a_run_that_works_are_not_judged_for_the_one_that_fails(text: str, code: str) -> None:
    assert diagnosed(text).verdict.code == code


def test_windows_without_wsl_is_windows() -> None:
    codes = [
        diagnosed(f"Windows 11, {said}, TF 2.15, the GPU list is empty.\n").verdict.code
        for said in ("no WSL", "without WSL2", "in WSL2")
    ]
    assert codes[:2] == ["tf-windows-native"] * 2
    assert codes[2] != "tf-windows-native"


def test_one_environment_that_finds_the_gpu_and_one_that_does_not_is_no_matter_of_versions_that_fit() -> None:
    verdict = diagnosed(
        "Python 3.10, TF 2.15, CUDA 12.2: in RStudio tf$config$list_physical_devices('GPU') returns list(),"
        " while the same virtualenv finds the GPU when it is started from a terminal where LD_LIBRARY_PATH is"
        " set.\n"
    ).verdict
    assert verdict.code == "library-path"


def test_one_command_cures_a_missing_cuda_and_a_gpu_that_is_too_new() -> None:
    verdict = diagnosed(next(text for text in STATED if "5080" in text)).verdict
    assert any(
        "tensorflow[and-cuda]==" in step.text and "2.17" not in step.text for step in verdict.prescription
    )


@pytest.mark.parametrize(
    "text",
    [
        "TensorFlow 2.10, CUDA 11.8, cuDNN 8.6, RTX 3060, driver 525.60.13: which message may I ignore?\n",
        "We run TensorFlow 2.15.0 with CUDA 12.2 and cuDNN 8.9 on a V100, driver 535.104.05.\n",
    ],
)
def test_versions_that_go_together_are_no_fault(text: str) -> None:
    diagnosis = diagnosed(text)
    assert not [part for part in diagnosis.compatibility if part.fits is False]
    assert not [f for f in diagnosis.findings if "mismatch" in f.code or "too-" in f.code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The laptop only has an Intel graphics chip, there is no NVIDIA card in it at all.\n", "gpu-absent"),
        (
            (
                "Es stellte sich heraus, dass der Container ohne --gpus gestartet wurde; mit --gpus all geht"
                " es.\n"
            ),
            "container-no-gpu",
        ),
        (
            "Another training job of my colleague already holds all of the memory of that card.\n",
            "gpu-memory-held",
        ),
    ],
)
def test_sentences_name_a_cause_and_are_never_certain(text: str, code: str) -> None:
    verdict = diagnosed(text).verdict
    assert verdict.code == code
    assert verdict.confidence != "certain"
    assert verdict.evidence[0].line == 1


def test_every_code_that_a_sentence_can_name_has_a_page_and_something_to_do() -> None:
    codes = set(classify.bundled().codes)
    assert codes <= set(ORDER)
    lacking = codes - {"healthy", "benign-messages", "undetermined"} - set(USUAL)
    assert not lacking, f"{lacking}: add a row to USUAL (doctor/remedies/usual.py)"


def test_probabilities_add_up_and_are_the_same_for_the_same_text() -> None:
    model = classify.bundled()
    first, second = (model.probabilities("cuDNN could not start, memory growth helped") for _ in range(2))
    assert first == second
    assert abs(sum(first) - 1) < 1e-9


def test_weights_cut_short_are_refused() -> None:
    with pytest.raises(ValueError, match="weights"):
        classify.unpacked(b"not a model")


def test_what_a_program_proves_outweighs_what_a_sentence_says() -> None:
    assert WEIGHTS["rule certain"] > WEIGHTS["rule certain in prose"]
    assert WEIGHTS["rule likely"] > WEIGHTS["rule likely in prose"]


def test_an_op_of_ones_own_that_lacks_a_name_of_tensorflow_is_an_add_on_for_another_release() -> None:
    assert (
        diagnosed(
            'I get "grouping_so.so: undefined symbol: _ZTIN10tensorflow8OpKernelE" with tensorflow 1.13.1\n'
        ).verdict.code
        == "tf-addon-mismatch"
    )
    broken = (
        "ImportError: /usr/lib/python3.8/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " undefined symbol: _ZTIN10tensorflow8OpKernelE\n"
    )
    assert diagnosed(broken).verdict.code != "tf-addon-mismatch"


def test_a_quoted_end_of_the_message_names_the_name_that_tensorflow_2_lacks() -> None:
    assert (
        diagnosed("Same here with TensorFlow 2.6.0, no attribute 'contrib'.\n").verdict.code
        == "tf-api-version"
    )
    assert (
        diagnosed("AttributeError: 'Namespace' object has no attribute 'contrib'\n").verdict.code
        != "tf-api-version"
    )


def test_who_asks_for_a_tensorflow_gpu_that_still_had_code_does_not_meet_the_end_of_the_package() -> None:
    text = (
        "pip install tensorflow-gpu==1.1.0 fails for me, that version simply is not there for python 3.6.\n"
    )
    assert diagnosed(text).verdict.code != "tf-gpu-package-removed"


@pytest.mark.parametrize(
    "text",
    [(ROOT / "LICENSE").read_text(), "# sets the prompt of a login shell\n" * 40],
    ids=["law", "shell"],
)
def test_a_text_about_something_else_gets_no_cause(text: str) -> None:
    assert diagnosed(text).verdict.code == "undetermined"


def test_a_driver_that_answers_is_not_missing() -> None:
    """TensorFlow's stub returns 303 if libcuda is absent, but the driver itself may be loaded."""
    failed = "E cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n"
    verdict = diagnosed(f"{failed}[]\nTF 2.21.0, Ubuntu 24.04. nvidia-smi works.\n").verdict
    assert verdict.code == "driver-libcuda-missing"
    assert "dnf" not in " ".join(step.text for step in verdict.prescription)
    verdict = diagnosed(f"{failed}[]\nTF 2.21.0, Ubuntu 24.04. nvidia-smi shows driver 550.54.14.\n").verdict
    assert "sudo apt install libnvidia-compute-550" in [step.text for step in verdict.prescription]


def test_libraries_of_pip_are_looked_for_where_pip_puts_them() -> None:
    skipped = "W gpu_device.cc:2251] Cannot dlopen some GPU libraries.\nSkipping registering GPU devices...\n"
    verdict = diagnosed(f"WSL2. I did pip install 'tensorflow[and-cuda]' in a new venv.\n{skipped}").verdict
    assert verdict.code == "library-path"
    steps = " ".join(step.text for step in verdict.prescription)
    assert "for p in n.__path__" in steps
    assert "/usr/local/cuda" not in steps
    verdict = diagnosed(f"WSL2, tensorflow[and-cuda] (2.16.1)\n{skipped}").verdict
    assert "tensorflow[and-cuda]==2.16.2" in " ".join(step.text for step in verdict.prescription)


def test_the_toolkit_comes_first_where_docker_lacks_it() -> None:
    lacking = (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    )
    steps = [step.text for step in diagnosed(lacking).verdict.prescription]
    assert steps[0].startswith("curl -fsSL https://nvidia.github.io/libnvidia-container")
    assert "sudo apt install nvidia-container-toolkit" in steps[1]
    assert steps[2].startswith("docker run --rm --gpus all")


def test_code_of_tensorflow_1_on_a_new_card_is_led_to_nvidias_build_of_it() -> None:
    for release, offered in (("1.15", True), ("2.2", False)):
        verdict = diagnosed(f"TF {release}, RTX 3080, CUDA 10.1, the loss is NaN.\n").verdict
        steps = " ".join(step.text for step in verdict.prescription)
        assert ("nvcr.io/nvidia/tensorflow:23.03-tf1-py3" in steps) is offered


def test_a_machine_whose_cuda_does_not_fit_has_a_cuda() -> None:
    here = Source("the machine")
    facts = (
        Platform(here, "linux", "x86_64"),
        TensorFlowVersion(here, "2.20.0", "tensorflow"),
        CudaVersion(here, "13.0"),
        LibraryNotLoaded(here, "libcudart.so.12"),
    )
    judged = parts(Case(Facts(facts, "machine", "a machine"), bundled()))
    (part,) = [part for part in judged if part.part == "cuda"]
    assert (part.have, part.fits) == ("13.0, without libcudart.so.12", False)


def test_sentences_alone_do_not_register_a_gpu() -> None:
    verdict = diagnosed(
        "Is it normal that a small network trains slower on my GPU than on the CPU?\n"
    ).verdict
    assert verdict.code == "healthy"
    assert "registered" not in verdict.title


def test_a_gpu_that_another_framework_sees_is_no_gpu_that_works() -> None:
    text = (
        "My GPU is detected by PyTorch but not by TensorFlow. Ubuntu 22.04, pip install tensorflow (2.17).\n"
    )
    diagnosis = diagnosed(text)
    assert diagnosis.verdict.code == "cuda-missing"
    assert "tf-windows-native" not in [other.code for other in diagnosis.alternatives]


def test_a_list_without_a_part_of_the_extra_shows_that_it_is_not_installed() -> None:
    packages = (
        "tensorflow 2.16.1",
        "nvidia-cublas-cu12 12.3.4.1",
        "nvidia-cuda-runtime-cu12 12.1.105",
        "torch 2.4.0",
    )
    listed = "Package Version\n------- -------\n" + "".join(f"{package}\n" for package in packages)
    skipped = "W gpu_device.cc:2251] Cannot dlopen some GPU libraries.\nSkipping registering GPU devices...\n"
    assert diagnosed(listed + skipped).verdict.code == "cuda-missing"
    # PyTorch installs everything except the compiler
    for name in ("cuda-cupti", "cuda-nvrtc", "cufft", "curand", "cusolver", "cusparse", "nccl", "nvjitlink"):
        listed += f"nvidia-{name}-cu12 12.1.105\n"
    listed += "nvidia-cudnn-cu12 8.9.6.50\n"
    assert diagnosed(listed + skipped).verdict.code == "library-path"


def test_the_reason_of_the_tables_stands_beside_a_newer_card() -> None:
    report = (
        "RTX 5080, driver 570, Ubuntu 24.04. tensorflow 2.18.0 with Python 3.13. The first step takes ages."
    )
    verdict = diagnosed(report).verdict
    assert verdict.code == "gpu-arch-too-new"
    assert "9.0a" in verdict.explanation
    assert "nothing else" not in verdict.explanation


_TABLE = """\
| NVIDIA-SMI 460.32.03    Driver Version: 460.32.03    CUDA Version: 11.2     |
|   0  GeForce RTX 2080    Off  | 00000000:01:00.0 Off |                  N/A |
| 30%   35C    P8    10W / 215W | {used:>7}MiB /  7982MiB |      0%      Default |
|  No running processes found                                                 |
"""


def test_memory_that_is_free_is_held_by_nobody() -> None:
    said = "It hangs and then dies, maybe memory. tensorflow 2.4.1 runs out of GPU memory at start\n"
    held, free = (
        [judged.verdict.code, *(other.code for other in judged.alternatives)]
        for judged in (diagnosed(said + _TABLE.format(used=used)) for used in (3000, 10))
    )
    assert "gpu-memory-held" in held
    assert "gpu-memory-held" not in free


def test_the_verdicts_own_code_was_judged() -> None:
    found = diagnosed("I did pip install tensorflow and the gpu (RTX 3060) is not found\n")
    assert found.verdict.confidence == "possible", "only sentences suggest it"
    assert found.verdict.code not in [skipped.code for skipped in found.skipped]


def test_a_release_that_pip_gave_is_tensorflows() -> None:
    for said in (
        "`pip install tensorflow` which gave me 2.15",
        "pip install tensorflow, and it installed 2.15",
    ):
        assert (
            str(diagnosed(f"I did {said} and the GPU is not found.\n").facts.of(TensorFlowVersion)[0].version)
            == "2.15"
        )


def test_a_release_without_a_wheel_for_the_python_comes_with_another_one() -> None:
    skipped = "W gpu_device.cc:2251] Cannot dlopen some GPU libraries.\nSkipping registering GPU devices...\n"
    for python, made in (("3.8.10", True), ("3.11.4", False)):
        verdict = diagnosed(f"Python {python}\nWSL2, tensorflow[and-cuda] (2.16.1)\n{skipped}").verdict
        steps = " ".join(step.text for step in verdict.prescription)
        assert "tensorflow[and-cuda]==2.16.2" in steps
        assert ("uv venv --python 3.11 tf-gpu" in steps) == made
        assert verdict.verify.startswith("tf-gpu/" if made else "python3")


def test_a_newer_card_is_served_through_ptx() -> None:
    needs = {
        name: next(
            part.needs
            for part in diagnosed(f"tensorflow 2.10.0 on {name}\n").compatibility
            if part.part == "gpu"
        )
        for name in ("an H100", "an RTX 2080")
    }
    assert needs["an H100"] == "compute capability 3.5 to 8.0, newer GPUs through PTX"
    assert "PTX" not in needs["an RTX 2080"]


def test_the_cuda_that_nvidia_smi_shows_beside_a_driver_is_not_installed() -> None:
    report = (
        "RTX 4070, nvidia-smi says driver 550.120 and CUDA 12.4. tensorflow 2.17.0 on Ubuntu 22.04.\n"
        "I have CUDA toolkit 11.8 in /usr/local/cuda, and list_physical_devices gives []\n"
    )
    cuda = Case(diagnosed(report).facts, bundled()).cuda
    assert cuda is not None
    assert cuda.version == "11.8"
