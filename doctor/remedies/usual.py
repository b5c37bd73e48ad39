"""The usual cure of each cause, and a command whose output confirms or excludes the cause.

In: a `Case` and a finding code. Out: steps and that command. A rule that has more facts about a case returns
more exact steps. A cause gets its steps from this module if the only evidence for it is sentences or version
numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy
from doctor.findings import manual, shell
from doctor.remedies import commands, containers, cures
from doctor.remedies.usual_steps import (
    Usual,
    by_hand,
    convolves,
    cudnn,
    driver,
    imports,
    libraries,
    library,
    required,
    runs,
)
from doctor.remedies.visibility import numbering, visible
from doctor.shell import rendered, run

if TYPE_CHECKING:
    from doctor.case import Case
    from doctor.remedies import rare_steps
else:  # imported when such a cure is made
    rare_steps = lazy.module("doctor.remedies.rare_steps")

SMI = "nvidia-smi"
GROWING = f"{SMI} --query-gpu=memory.used,memory.total --format=csv -l 5"
LIST = "python3 -m pip list"
LDCONFIG = "ldconfig -p"
KERNEL_LOG = "sudo dmesg"
CUDART, CUDNN = "where.exe cudart64_*.dll", "where.exe cudnn*64_*.dll"
"""Searches PATH, as Windows does for TensorFlow 2.10 and older; `where` alone is another command in
PowerShell."""

USUAL: dict[str, Usual] = {
    "gpu-absent": Usual(
        lambda case: rare_steps.on_the_cpu(case),
        "lspci -d 10de:",
        "prints nothing: no NVIDIA device is on the bus",
        windows=(
            'powershell -Command "Get-CimInstance Win32_VideoController | Select-Object Name"',
            "no NVIDIA device in the list",
        ),
        verify=imports,
    ),
    "gpu-arch-too-old": Usual(
        lambda case: rare_steps.for_the_gpu(case),
        f"{SMI} --query-gpu=name,compute_cap --format=csv",
        "a compute capability below the build's lowest",
    ),
    "gpu-arch-too-new": Usual(
        lambda case: rare_steps.for_the_gpu(case),
        f"{SMI} --query-gpu=name,compute_cap --format=csv",
        "a compute capability above the build's highest",
    ),
    "driver-missing": Usual(driver, SMI, "the command is not found"),
    "driver-libcuda-missing": Usual(
        by_hand(
            "Install the driver's compute libraries (Ubuntu: sudo apt install libnvidia-compute-BRANCH, with"
            " the driver's branch, such as 550); for a container, set"
            " NVIDIA_DRIVER_CAPABILITIES=compute,utility when you start it"
        ),
        LDCONFIG,
        "no libcuda.so.1 in the list",
    ),
    "driver-not-loaded": Usual(
        by_hand(
            "Restart the machine; if the kernel module still does not load, reinstall the driver for the"
            " running kernel (install the kernel's headers first). If Secure Boot is on, enrol the key of the"
            " module or turn Secure Boot off"
        ),
        SMI,
        "nvidia-smi cannot communicate with the NVIDIA driver",
    ),
    "driver-library-mismatch": Usual(
        lambda case: commands.reload_driver(), SMI, "Driver/library version mismatch"
    ),
    "driver-too-old": Usual(
        driver,
        SMI,
        "a driver older than the tables require",
    ),
    "driver-too-new": Usual(
        lambda case: commands.driver_install(case, replacing=True),
        SMI,
        "a driver branch newer than the last one for this GPU",
    ),
    "cuda-compat-package": Usual(
        by_hand(
            "Remove the cuda-compat folder from LD_LIBRARY_PATH and /etc/ld.so.conf.d, or uninstall the"
            " package cuda-compat: it works only with data-centre GPUs and drivers of older branches"
        ),
        LDCONFIG,
        "libcuda.so.1 in a folder named compat",
    ),
    "gpu-powered-off": Usual(
        by_hand(
            "Switch the GPU on: run sudo prime-select nvidia (Ubuntu) or supergfxctl -m Hybrid (ASUS), or"
            " uninstall the package bbswitch-dkms; then restart. With Bumblebee, start the program with"
            " optirun: it switches the GPU on for that program"
        ),
        "lspci -nnk -d 10de:",
        "the device is missing, or its line contains `rev ff`",
        lambda case, cure: run(SMI),
    ),
    "gpu-reserved": Usual(
        by_hand(
            "Give the GPU back to the host: remove its assignment to vfio-pci (from the kernel parameters and"
            " /etc/modprobe.d) and restart. If MIG mode is on, create an instance (nvidia-smi mig -cgi 0 -C)"
            " or turn MIG off"
        ),
        "lspci -nnk -d 10de:",
        "Kernel driver in use: vfio-pci",
    ),
    "gpu-hidden": Usual(
        visible,
        "echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES",
        "an empty value, -1, or an index that no GPU has",
        windows=(
            "python -c \"import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))\"",
            "an empty value, -1, or an index that no GPU has",
        ),
    ),
    "gpu-bad-state": Usual(
        by_hand(
            "End the programs that use the GPU and reload nvidia_uvm (sudo rmmod nvidia_uvm, then sudo"
            " modprobe nvidia_uvm), or restart the machine",
            "If the error comes back, check the kernel log for Xid errors, and the GPU's temperature and"
            " power",
        ),
        KERNEL_LOG,
        "lines with NVRM: Xid",
        windows=(SMI, "an error in place of the GPU's row"),
    ),
    "device-permission": Usual(
        by_hand(
            "Add your user to the group of the device nodes /dev/nvidia* (sudo usermod -aG video $USER, or"
            " the group that ls -l shows) and log in again. If nodes are missing, run sudo nvidia-modprobe -u"
            " -c=0. Into a container, pass the devices when you start it"
        ),
        "ls -l /dev/nvidia0 /dev/nvidiactl /dev/nvidia-uvm",
        "a node is missing, or this user may not open it",
    ),
    "container-no-gpu": Usual(
        lambda case: rare_steps.into_container(case),
        "nvidia-smi -L",
        "in the container, the command or the GPU is missing; on the host, both exist",
        lambda case, cure: containers.give_gpu(case)[1],
    ),
    "wsl-driver": Usual(
        by_hand(
            "Install the newest NVIDIA driver on Windows and run `wsl --update`; remove every NVIDIA driver"
            " package from the Linux inside WSL, and put /usr/lib/wsl/lib before other folders in the loader"
            " search path"
        ),
        "ls /usr/lib/wsl/lib",
        "no libcuda.so.1 in that folder, or the loader finds another copy first",
    ),
    "cuda-missing": Usual(
        libraries,
        LDCONFIG,
        "no libcudart in the loader's list, and no nvidia-cuda-runtime package in pip's list",
        windows=(CUDART, "no folder on PATH contains the file"),
    ),
    "cuda-version-mismatch": Usual(
        libraries,
        LDCONFIG,
        "libcudart from a release other than the one that the build loads",
        windows=(CUDART, "a file from a release other than the one that the build loads"),
    ),
    "cudnn-missing": Usual(
        cudnn,
        LDCONFIG,
        "no libcudnn in the loader's list, and no nvidia-cudnn package in pip's list",
        windows=(CUDNN, "no folder on PATH contains the file"),
    ),
    "cudnn-version-mismatch": Usual(
        cudnn,
        LDCONFIG,
        "libcudnn from a release other than the one that the build loads",
        windows=(CUDNN, "a file from a release other than the one that the build loads"),
    ),
    "library-path": Usual(
        lambda case: rare_steps.library_path(case),
        "python3 -c \"import ctypes; ctypes.CDLL('LIBRARY')\"",
        "the command fails although the file is on the disk",
    ),
    "library-broken": Usual(
        by_hand(
            "Reinstall the package of the library that does not load, and look for a second copy that the"
            " loader finds first"
        ),
        "python3 -c \"import ctypes; ctypes.CDLL('LIBRARY')\"",
        "an error other than `No such file`",
    ),
    "xla-toolchain-missing": Usual(
        by_hand(
            "Install ptxas and libdevice from the build's CUDA release (pip: nvidia-cuda-nvcc-cu12; conda:"
            " cuda-nvcc), and set the path to them: XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER"
        ),
        "ptxas --version",
        "the command is not found, or is from an older CUDA release",
        verify=runs,
    ),
    "tf-not-installed": Usual(
        lambda case: [
            shell(
                commands.pip(case, "install", "tensorflow"),
                "installs TensorFlow for the Python that runs the program",
            )
        ],
        LIST,
        "no package that contains TensorFlow",
        verify=imports,
    ),
    "tf-no-wheel": Usual(
        cures.another_build,
        'python3 -c "import sys, platform; print(sys.version, platform.machine())"',
        "a Python version or processor for which the release has no wheel",
    ),
    "tf-cpu-only": Usual(
        cures.another_build,
        'python3 -c "import tensorflow as tf; print(tf.test.is_built_with_cuda())"',
        "False",
    ),
    "tf-windows-native": Usual(
        cures.another_build,
        'python -c "import tensorflow as tf; print(tf.__version__)"',
        "a release after 2.10, on Windows without WSL2",
    ),
    "tf-conflicting-packages": Usual(
        lambda case: [
            shell(
                commands.uninstall_tensorflow(case),
                "removes all TensorFlow packages that share the folder `tensorflow`",
            ),
            *rare_steps.one_copy(case),
        ],
        LIST,
        "more than one package that contains TensorFlow",
    ),
    "tf-gpu-package-removed": Usual(
        lambda case: required(case, cures.another_build(case)), LIST, "tensorflow-gpu is requested by name"
    ),
    "tf-import-failed": Usual(
        by_hand(
            "If one of your own files is named tensorflow.py, rename it: Python imports that file instead",
            "Otherwise, create a new environment with a Python version and a TensorFlow release that work"
            " together (tfgpu-doctor plan lists them)",
        ),
        'python3 -c "import tensorflow"',
        "the import ends with an error that mentions no CUDA library",
        verify=imports,
    ),
    "cpu-no-avx": Usual(
        by_hand(
            "Use a TensorFlow build for processors without AVX (release 1.5, your own build or a"
            " distribution's), a processor with AVX, or a virtual machine that exposes the processor's AVX"
        ),
        "grep -c avx /proc/cpuinfo",
        "0",
        verify=imports,
    ),
    "python-dependency-conflict": Usual(
        lambda case: [
            shell(commands.pip(case, "check"), "lists the packages whose versions conflict"),
            manual("Install the versions that this TensorFlow release requires, in a separate environment"),
        ],
        "python3 -m pip check",
        "a package in a version that TensorFlow cannot use",
        verify=imports,
    ),
    "tf-addon-mismatch": Usual(
        lambda case: rare_steps.addon(case),
        LIST,
        "an add-on whose release does not match TensorFlow's",
        runs,
    ),
    "tf-api-version": Usual(
        lambda case: rare_steps.another_api(case),
        'python3 -c "import tensorflow as tf; print(tf.__version__)"',
        "a major release other than the one for which the code was written",
        verify=runs,
    ),
    "cudnn-init-oom": Usual(
        lambda case: rare_steps.growth(case),
        "TF_FORCE_GPU_ALLOW_GROWTH=true python3 program.py",
        "the program runs: TensorFlow's own pool had left no memory for cuDNN",
        verify=convolves,
    ),
    "gpu-memory-held": Usual(
        lambda case: rare_steps.held(case),
        SMI,
        "other processes hold GPU memory before the program starts",
        verify=lambda case, cure: run(SMI),
    ),
    "model-oom": Usual(
        by_hand(
            "Make the batch or the input smaller, use mixed precision, accumulate gradients, or use a GPU"
            " with more memory"
        ),
        GROWING,
        "with TF_FORCE_GPU_ALLOW_GROWTH=true set for the program, the used memory grows to the total before"
        " the program fails (without it, TensorFlow takes nearly all memory at its start)",
        verify=runs,
    ),
    "memory-leak": Usual(
        lambda case: rare_steps.leak(case),
        GROWING,
        "with TF_FORCE_GPU_ALLOW_GROWTH=true set for the program, the used memory grows from step to step",
        verify=runs,
    ),
    "memory-limit-misfit": Usual(
        by_hand(
            "Remove the memory limit or fraction from the program, or set it to more than the job needs and"
            " less than what is free"
        ),
        SMI,
        "free memory that does not fit the program's limit",
        verify=runs,
    ),
    "host-oom": Usual(
        by_hand(
            "Read the data in pieces (tf.data from files), lower shuffle and prefetch buffers and the number"
            " of workers, or give the process more memory (in Colab: Runtime, Change runtime type, High-RAM)",
            "Watch the memory while the program runs (in Colab and Kaggle, the notebook shows it); Colab"
            " writes the reason for a crash under Runtime, View runtime logs",
        ),
        "free -h",
        "no free memory on the host while the program runs",
        lambda case, cure: commands.memory(case),
        windows=(
            "systeminfo | findstr Memory",
            "little available physical memory while the program runs",
        ),
    ),
    "gpu-config-too-late": Usual(
        by_hand(
            "Move the GPU settings to the first lines of the program, before any tensor, model or device list"
        ),
        "tfgpu-doctor snippet memory-growth",
        "code to put first in the program; the program makes this setting after other calls",
        verify=runs,
    ),
    "gpu-config-conflict": Usual(
        by_hand(
            "Keep only one of the settings that contradict each other: memory growth (for every GPU) or a"
            " memory limit"
        ),
        "tfgpu-doctor snippet memory-limit",
        "code for one of the settings; the program makes two kinds of them",
        verify=runs,
    ),
    "op-no-gpu-kernel": Usual(
        lambda case: rare_steps.softly(case),
        "tfgpu-doctor snippet soft-placement",
        "code for this setting; the program pins the op to a GPU",
        verify=runs,
    ),
    "device-not-found": Usual(
        by_hand("Use a device from TensorFlow's list, or specify none: TensorFlow uses GPU:0 by default"),
        "python3 -c 'DEVICES'",
        "the device is not in the list",
        verify=runs,
    ),
    "gpu-renumbered": Usual(
        numbering,
        "tfgpu-doctor devices",
        "the order in which TensorFlow numbers the visible GPUs",
        lambda case, cure: run(SMI),
    ),
    "nccl-failure": Usual(
        by_hand(
            "Start the program with NCCL_DEBUG=INFO set: NCCL then prints the call that fails. Then try"
            " NCCL_P2P_DISABLE=1, and a single GPU"
        ),
        "nvidia-smi topo -m",
        "how the GPUs are connected",
        verify=runs,
    ),
    "known-release-bug": Usual(
        lambda case: rare_steps.beside(case),
        'python3 -c "import tensorflow as tf; print(tf.__version__)"',
        "a release for which others report the same fault",
        imports,
    ),
    "ptx-jit-or-kernel-crash": Usual(
        by_hand(
            "Run the program once with CUDA_LAUNCH_BLOCKING=1, so that the error names the op that"
            " fails; then try another release of TensorFlow or of the driver"
        ),
        "CUDA_LAUNCH_BLOCKING=1 python3 program.py",
        "the op that fails",
        windows=('cmd /c "set CUDA_LAUNCH_BLOCKING=1&& python program.py"', "the op that fails"),
        verify=runs,
    ),
}
"""The usual cure of each cause, by finding code."""


def test_of(code: str, case: Case) -> tuple[str, str]:
    """The command whose output confirms or excludes a cause, for the case's platform, and what it prints if
    this is the cause."""
    test, shows = USUAL[code].check(case)
    if test == "python3 -c 'DEVICES'":
        test = rendered(commands.list_gpus(case), case.platform or "linux")
    test = test.replace("LIBRARY", library(case, "cudnn" if code == "library-broken" else "cudart"))
    if test.startswith("python3 ") and commands.python_command(case) == ("python",):
        test = test.replace("python3", "python", 1)
    return test, shows
