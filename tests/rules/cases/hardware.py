"""Cases about the GPU, the driver, containers and WSL."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    NO_DEVICE,
    cpu_features,
    created,
    cudnn_failed,
    cuinit,
    diagnosed,
    form,
    found,
    ignore_cudart,
    log,
    logged,
    no_cuda_drivers,
    no_module,
    numa,
    opened,
    refused,
    skipped,
    versions,
)

GPU_DEVICE = "core/common_runtime/gpu/gpu_device.cc"


def ignored(card: str, capability: str, minimum: str) -> str:
    return (
        f"Ignoring visible gpu device (device: 0, name: {card}, pci bus id: 0000:01:00.0, compute capability:"
        f" {capability}) with Cuda compute capability {capability}. The minimum required Cuda capability is"
        f" {minimum}."
    )


def smi(driver: str, cuda: str, card: str, used: int = 5, total: int = 8192, process: str = "") -> str:
    """Return the table that nvidia-smi prints with drivers from version 400 on."""
    rule = "+-----------------------------------------------------------------------------+"
    rows = [
        rule,
        f"| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: {cuda}     |",
        "|-------------------------------+----------------------+----------------------+",
        f"|   0  {card:<19} Off  | 00000000:01:00.0 Off |                  N/A |",
        f"| 30%   36C    P8     9W / 215W |  {used:>5}MiB / {total:>5}MiB |      0%      Default |",
        rule,
    ]
    rows += [process, rule] if process else []
    return "\n".join(rows)


def wrapped_by_docker(reason: str) -> str:
    """Return the message with which docker reports that the NVIDIA runtime hook failed."""
    return (
        "docker: Error response from daemon: failed to create task for container: failed to create shim"
        " task: OCI runtime create failed: runc create failed: unable to start container process: error"
        " during container init: error running prestart hook #0: exit status 1, stdout: , stderr:"
        f" Auto-detected mode as 'legacy'\nnvidia-container-cli: {reason}"
    )


FIRES = (
    *(
        Fires(
            "gpu-bad-state",
            f"the kernel cannot wake the GPU: {words}",
            f"[   93.1] nvidia 0000:01:00.0: {words}\n",
            "change power state",
        )
        for words in (
            "can't change power state from D3cold to D0 (config space inaccessible)",
            "Unable to change power state from D3cold to D0, device inaccessible",
            "Refused to change power state, currently in D3",
        )
    ),
    Fires(
        "gpu-arch-too-old",
        "several cards share the name, and all of them are old",
        "I have a GeForce GT 730. Each run ends with RuntimeError: CUDA error: no kernel image is available"
        " for execution on the device",
        "no kernel image",
    ),
    Fires(
        "container-no-gpu",
        "the image contains a driver, over which the toolkit cannot mount the host's",
        "$ docker run --rm --gpus all my/tf:2.10 nvidia-smi\nnvidia-container-cli: mount error: file creation"
        " failed: /var/lib/docker/overlay2/0d2a/merged/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file"
        " exists: unknown.",
        "mount error",
        says=("Dockerfile",),
        never=("nvidia-container-toolkit",),
        words=("cannot mount the host's driver over them",),
    ),
    Fires(
        "benign-messages",
        "two GPUs without direct access to one another work all the same",
        "tensorflow/core/common_runtime/gpu/gpu_init.cc:45] cannot enable peer access from device ordinal 0"
        " to device ordinal 2",
        "peer access",
    ),
    Fires(
        "gpu-bad-state",
        "a worker that was forked after CUDA was in use",
        log(
            "2.14.0",
            "data loader: 4 workers",
            cuinit("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
            skipped,
        ),
        "CUDA_ERROR_NOT_INITIALIZED",
        says=('if __name__ == "__main__":', 'set_start_method("spawn", force=True)'),
        never=("rmmod", "ldconfig"),
        words=("forked",),
    ),
    Fires(
        "gpu-hidden",
        "the first GPU is named, the driver is in order, and the process is shown none",
        "export CUDA_VISIBLE_DEVICES=0\n"
        + log(
            "2.6.0",
            cuinit("CUDA_ERROR_NO_DEVICE", NO_DEVICE),
            diagnosed("kernel version seems to match DSO: 460.39.0"),
        ),
        "CUDA_VISIBLE_DEVICES=0",
        words=("sets later",),
    ),
    Fires(
        "ptx-jit-or-kernel-crash",
        "a routine of cuBLAS that has its handle and fails",
        log(
            "1.14.0",
            logged(
                "E",
                "stream_executor/cuda/cuda_blas.cc",
                "failed to run cuBLAS routine: CUBLAS_STATUS_EXECUTION_FAILED",
                428,
            ),
        ),
        "CUBLAS_STATUS_EXECUTION_FAILED",
        says=("tfgpu-doctor tables gpu", "TF_FORCE_GPU_ALLOW_GROWTH"),
    ),
    Fires(
        "gpu-bad-state",
        "NVIDIA's own sample after a night's sleep",
        "deviceQuery Starting...\n CUDA Device Query (Runtime API) version (CUDART static"
        " linking)\ncudaGetDeviceCount returned 999\n-> unknown error\nResult = FAIL\n",
        "returned 999",
    ),
    Fires(
        "driver-too-old",
        "a driver below the CUDA, in a sentence",
        "The highest CUDA version supported by your driver is 12.2, while CUDA 12.8 is what you installed."
        " Hence no GPU in TensorFlow.\n",
        "supported by your driver",
    ),
    Fires(
        "driver-missing",
        "conda, which sees no driver",
        "Could not solve for environment specs\n  - nothing provides __cuda needed by"
        " tensorflow-2.9.1-cuda112py310he87a039_0\n",
        "nothing provides __cuda",
        says=("CONDA_OVERRIDE_CUDA=11.2",),
        words=("conda",),
    ),
    Fires(
        "gpu-hidden",
        "the variable in a sentence",
        'When CUDA_VISIBLE_DEVICES is "-1", the program ends:\n    gpu = gpu_devices[i]\nIndexError: list'
        " index out of range\n",
        '"-1"',
    ),
    # --- gpu-absent
    Fires(
        "gpu-absent",
        "a login node of a cluster",
        log(
            "2.11.0",
            "[mira@login02 jobs]$ python train.py",
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            no_module("login02"),
        ),
        "host (login02)",
        says=("srun --gres=gpu:1", "to use the CPU, you need not install anything else"),
        verify="lspci",
    ),
    Fires(
        "gpu-absent",
        "a laptop with Intel graphics on Windows",
        log(
            "2.9.1",
            form(system="Windows 10", tensorflow="2.9.1", gpu="Intel(R) UHD Graphics 620"),
            refused("cudart64_110.dll"),
            ignore_cudart,
            refused("nvcuda.dll"),
            cuinit("UNKNOWN ERROR (303)"),
            windows=True,
        ),
        "Intel(R) UHD Graphics",
        verify="nvidia-smi",
    ),
    Fires(
        "gpu-absent",
        "a code space in the cloud",
        log(
            "2.12.0",
            "(venv) dev@codespaces-3fa91c:~$ python -c 'import tensorflow'",
            cuinit("UNKNOWN ERROR (303)"),
            no_module("codespaces-3fa91c"),
        ),
        "failed call to cuInit",
        words=("cloud workspace",),
    ),
    # --- gpu-arch-too-old
    Fires(
        "gpu-arch-too-old",
        "a Kepler card that TensorFlow 1.15 leaves out",
        log(
            "1.15.0",
            versions("1.15.0", "3.7.6"),
            found("GeForce GT 730", "3.0"),
            opened("libcudart.so.10.0", "libcudnn.so.7"),
            logged("I", GPU_DEVICE, ignored("GeForce GT 730", "3.0", "3.5")),
        ),
        "The minimum required Cuda capability is 3.5",
        words=("3.0", "3.5"),
    ),
    Fires(
        "gpu-arch-too-old",
        "a K520 and TensorFlow 0.12",
        log(
            "0.12.1",
            opened("libcublas.so.8.0", "libcudnn.so.5"),
            logged(
                "I",
                GPU_DEVICE,
                "Ignoring gpu device (device: 0, name: GRID K520, pci bus id: 0000:00:03.0) with Cuda compute"
                " capability 3.0. The minimum required Cuda capability is 3.5.",
            ),
        ),
        "GRID K520",
    ),
    Fires(
        "gpu-arch-too-old",
        "a small second card",
        log(
            "2.4.1",
            logged(
                "I",
                GPU_DEVICE,
                "Ignoring visible gpu device (device: 1, name: Quadro P400, pci bus id: 0000:02:00.0, compute"
                " capability: 6.1) with core count: 2. The minimum required count is 8. You can adjust this"
                " requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT.",
            ),
        ),
        "with core count: 2",
        says=("export TF_MIN_GPU_MULTIPROCESSOR_COUNT=2",),
    ),
    # --- gpu-arch-too-new
    Fires(
        "gpu-arch-too-new",
        "a Blackwell card and kernels compiled from PTX that the driver refuses",
        log(
            "2.19.0",
            versions("2.19.0", "3.12.3"),
            logged(
                "W",
                GPU_DEVICE,
                "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0."
                " CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",
            ),
            created("NVIDIA GeForce RTX 5070", "12.0", 9621),
            "tensorflow.python.framework.errors_impl.InternalError: {{function_node __wrapped__Mul}}"
            " 'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'",
        ),
        "not built with CUDA kernel binaries",
        words=("12.0",),
    ),
    Fires(
        "gpu-arch-too-new",
        "an Ampere card under TensorFlow 1.15",
        log(
            "1.15.0",
            versions("1.15.0", "3.7.10"),
            found("GeForce RTX 3080", "8.6"),
            opened("libcudart.so.10.0", "libcublas.so.10.0", "libcudnn.so.7"),
            created("GeForce RTX 3080", "8.6", 8988),
            "tensorflow.python.framework.errors_impl.InternalError: Blas GEMM launch failed : a.shape=(64,"
            " 784), b.shape=(784, 512), m=64, n=512, k=784",
        ),
        "Blas GEMM launch failed",
        words=("8.6", "CUDA 10"),
        never=("allow_growth",),
    ),
    # --- driver-missing
    Fires(
        "driver-missing",
        "a card that nouveau controls",
        "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation TU106 [GeForce RTX 2070] [10de:1f02]\n"
        "\tKernel driver in use: nouveau\n\tKernel modules: nouveau\nTensorFlow 2.16.1, no GPU\n",
        "Kernel driver in use: nouveau",
        words=("nouveau controls the card",),
    ),
    Fires(
        "driver-missing",
        "a Linux desktop with a GPU and no driver",
        log(
            "2.8.0",
            form(system="Linux Ubuntu 20.04", tensorflow="2.8.0", gpu="RTX 2070"),
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            no_module("workbench"),
            "$ nvidia-smi",
            "bash: nvidia-smi: command not found",
        ),
        "'libcuda.so.1'",
        says=("sudo ubuntu-drivers install", "sudo reboot"),
        never=("tensorflow-gpu",),
        verify="nvidia-smi",
    ),
    Fires(
        "driver-missing",
        "Windows without nvcuda.dll",
        log(
            "1.14.0",
            form(system="Windows 10", tensorflow="1.14.0", gpu="GTX 1050"),
            "ImportError: Could not find 'nvcuda.dll'. TensorFlow requires that this DLL be installed in a"
            " directory that is named in your %PATH% environment variable. Typically it is installed in"
            " 'C:\\Windows\\System32'. If it is not present, ensure that you have a CUDA-capable GPU with the"
            " correct driver installed.",
            windows=True,
        ),
        "Could not find 'nvcuda.dll'",
        says=("on Windows",),
        never=("apt",),
    ),
    Fires(
        "driver-missing",
        "a page's list of devices above the reader's own log",
        "it should say [PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\nmine:\n2022-03-01"
        " 10:00:00.000001: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load"
        " dynamic library 'nvcuda.dll'; dlerror: nvcuda.dll not found\n2022-03-01 10:00:00.000002: W"
        " tensorflow/stream_executor/cuda/cuda_driver.cc:269] failed call to cuInit: UNKNOWN ERROR (303)\n",
        "dlerror: nvcuda.dll not found",
    ),
    # --- driver-libcuda-missing
    Fires(
        "driver-libcuda-missing",
        "nvidia-smi runs in a container and gets no answer about CUDA",
        "docker run --gpus all -it tensorflow/tensorflow:2.4.0-gpu bash\nroot@1f2e3d4c5b6a:/# nvidia-smi\n"
        + smi("460.91.03", "ERR!", "GeForce GTX 1080"),
        "ERR!",
        says=("NVIDIA_DRIVER_CAPABILITIES=compute,utility",),
    ),
    Fires(
        "driver-libcuda-missing",
        "a container with utility but not compute",
        log(
            "2.5.0",
            "NVIDIA_DRIVER_CAPABILITIES=utility",
            smi("460.91.03", "N/A", "Tesla V100-SXM2"),
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            diagnosed("kernel reported version is: 460.91.3"),
        ),
        "'libcuda.so.1'",
        says=("NVIDIA_DRIVER_CAPABILITIES=compute,utility",),
        verify="libcuda.so.1",
    ),
    Fires(
        "driver-libcuda-missing",
        "a server with the kernel module and without libcuda",
        log(
            "1.12.0",
            form(system="CentOS 7", tensorflow="1.12.0"),
            refused("libcuda.so.1", path="/opt/cuda/lib64"),
            cuinit("CUDA_ERROR_NO_DEVICE"),
            diagnosed(
                "libcuda reported version is: Not found: was unable to find libcuda.so DSO loaded into this"
                " program"
            ),
            diagnosed("kernel reported version is: 418.67.0"),
        ),
        "kernel reported version is",
        says=("dnf install nvidia-driver-cuda-libs", "ldconfig"),
    ),
    # --- driver-not-loaded
    Fires(
        "driver-not-loaded",
        "after a kernel upgrade",
        log(
            "2.3.0",
            form(system="Ubuntu 18.04", tensorflow="2.3.0", gpu="GTX 1080"),
            "$ nvidia-smi",
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the"
            " latest NVIDIA driver is installed and running.",
            opened("libcuda.so.1"),
            cuinit(*NO_DEVICE),
            no_module("workbench"),
        ),
        "couldn't communicate with the NVIDIA driver",
        says=("dkms autoinstall", "mokutil --sb-state"),
        verify="nvidia-smi",
    ),
    Fires(
        "driver-not-loaded",
        "Secure Boot refuses the module",
        "Ubuntu 22.04, GeForce RTX 3060\n$ sudo modprobe nvidia\nmodprobe: ERROR: could not insert 'nvidia':"
        " Required key not available\n",
        "Required key not available",
        words=("refused",),
    ),
    Fires(
        "driver-not-loaded",
        "Ubuntu's closed modules under a Blackwell card",
        "RTX 5090, Ubuntu 24.04, apt install nvidia-driver-570; nvidia-smi says: No devices were found\n",
        "No devices were found",
        says=("nvidia-driver-570-open",),
        words=("open kernel modules",),
    ),
    Fires(
        "driver-not-loaded",
        "the open modules under a card before Turing",
        "GTX 1080 Ti\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"
        "$ nvidia-smi\nNo devices were found\n",
        "Open Kernel Module",
        says=("closed (proprietary) kernel modules",),
    ),
    # --- driver-library-mismatch
    Fires(
        "driver-library-mismatch",
        "libraries upgraded under a running module",
        log(
            "1.4.0",
            cuinit("CUDA_ERROR_NO_DEVICE"),
            diagnosed("libcuda reported version is: 384.90.0"),
            diagnosed("kernel reported version is: 375.66.0"),
            logged(
                "E",
                "stream_executor/cuda/cuda_diagnostics.cc",
                "kernel version 375.66.0 does not match DSO version 384.90.0 -- cannot find working devices"
                " in this configuration",
            ),
        ),
        "does not match DSO version",
        says=("sudo reboot",),
        words=("375.66", "384.90"),
        verify="nvidia-smi",
    ),
    Fires(
        "driver-library-mismatch",
        "nvidia-smi says it",
        "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version:"
        " 535.154\n",
        "Driver/library version mismatch",
        says=("sudo reboot",),
    ),
    # --- driver-too-old
    Fires(
        "driver-too-old",
        "CUDA 10.1 on a driver of the 390s",
        log(
            "2.1.0",
            versions("2.1.0", "3.7.4"),
            smi("390.116", "9.1", "GeForce GTX 1060"),
            opened("libcuda.so.1", "libcudart.so.10.1"),
            "tensorflow.python.framework.errors_impl.InternalError: cudaGetDevice() failed. Status: CUDA"
            " driver version is insufficient for CUDA runtime version",
        ),
        "CUDA driver version is insufficient",
        words=("390.116",),
        verify="nvidia-smi",
    ),
    Fires(
        "driver-too-old",
        "a container that asks for a newer CUDA",
        wrapped_by_docker(
            "requirement error: unsatisfied condition: cuda>=12.2, please update your driver to a newer"
            " version, or use an earlier cuda container: unknown"
        ),
        "unsatisfied condition: cuda>=12.2",
    ),
    # --- cuda-compat-package
    Fires(
        "cuda-compat-package",
        "a compat folder on the path of a GeForce machine",
        log(
            "2.5.0",
            "$ export LD_LIBRARY_PATH=/usr/local/cuda-11.2/compat:/usr/local/cuda-11.2/lib64",
            opened("libcuda.so.1"),
            cuinit(
                "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
                "forward compatibility was attempted on non supported HW",
            ),
        ),
        "forward compatibility was attempted",
        says=("grep -v compat",),
    ),
    Fires(
        "cuda-compat-package",
        "an image whose libcuda is older than the host's module",
        log(
            "2.5.0",
            "root@4be1907cd2a5:/app# python train.py",
            opened("libcuda.so.1"),
            cuinit(*NO_DEVICE),
            logged(
                "E",
                "stream_executor/cuda/cuda_diagnostics.cc",
                "kernel version 470.82.1 does not match DSO version 460.73.1 -- cannot find working devices"
                " in this configuration",
            ),
        ),
        "does not match DSO version",
        words=("460.73.1", "470.82"),
    ),
    Fires(
        "device-permission",
        "TensorFlow does not find the node of a driver that answers with an unknown error",
        log(
            "0.12.0",
            opened("libcudnn.so", "libcuda.so.1"),
            cuinit("CUDA_ERROR_UNKNOWN"),
            diagnosed("no NVIDIA GPU device is present: /dev/nvidia0 does not exist"),
        ),
        "/dev/nvidia0 does not exist",
        says=("nvidia-modprobe",),
    ),
    Fires(
        "gpu-arch-too-new",
        "an AMD card that a build for ROCm leaves out",
        "2024-03-06 07:01:26.857236: I tensorflow/core/common_runtime/gpu/gpu_device.cc:2266] Ignoring"
        " visible gpu device (device: 0, name: Radeon RX 7600, pci bus id: 0000:03:00.0) with AMDGPU version"
        " : gfx1102. The supported AMDGPU versions are gfx1030, gfx900.\n[]\n",
        "gfx1102",
    ),
    Fires(
        "gpu-arch-too-new",
        "the nvcc of an older toolkit",
        "RTX 3090\nnvcc fatal   : Value 'sm_86' is not defined for option 'gpu-architecture'\n",
        "sm_86",
    ),
    # --- gpu-hidden
    Fires(
        "gpu-hidden",
        "an empty CUDA_VISIBLE_DEVICES",
        log(
            "2.6.0",
            "import os",
            "os.environ['CUDA_VISIBLE_DEVICES'] = ''",
            cuinit(*NO_DEVICE),
            diagnosed("kernel version seems to match DSO: 470.57.2"),
        ),
        "os.environ",
        says=("In the code, remove the line that sets CUDA_VISIBLE_DEVICES",),
        never=("unset",),
        words=('""',),
    ),
    Fires(
        "gpu-hidden",
        "both versions are shown, and the line that says that they agree is cut off",
        log(
            "2.4.0",
            cuinit(*NO_DEVICE),
            diagnosed("hostname: lab3"),
            diagnosed("libcuda reported version is: 440.100.0"),
            diagnosed("kernel reported version is: 440.100.0"),
        ),
        "kernel reported version is",
        says=("unset CUDA_VISIBLE_DEVICES",),
    ),
    Fires(
        "gpu-hidden",
        "TensorFlow 2.21 names the variable itself",
        log(
            "2.21.0",
            cuinit("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
            logged("I", "stream_executor/cuda/cuda_diagnostics.cc", 'env: CUDA_VISIBLE_DEVICES="-1"'),
            logged(
                "I",
                "stream_executor/cuda/cuda_diagnostics.cc",
                "CUDA_VISIBLE_DEVICES is set to -1 - this hides all GPUs from CUDA",
            ),
        ),
        "this hides all GPUs from CUDA",
        says=("unset CUDA_VISIBLE_DEVICES",),
    ),
    Fires(
        "gpu-hidden",
        "a Windows prompt with -1",
        log(
            "2.10.0",
            "C:\\Users\\mira> set CUDA_VISIBLE_DEVICES=-1",
            "C:\\Users\\mira> python train.py",
            opened("cudart64_110.dll", "nvcuda.dll"),
            cuinit(*NO_DEVICE),
            windows=True,
        ),
        "set CUDA_VISIBLE_DEVICES=-1",
        says=("set CUDA_VISIBLE_DEVICES=",),
        never=("unset",),
    ),
    # --- gpu-bad-state
    Fires(
        "gpu-bad-state",
        "after suspend",
        log(
            "2.4.1",
            "It stopped after the laptop woke up from suspend.",
            opened("libcuda.so.1"),
            cuinit("CUDA_ERROR_UNKNOWN", "unknown error"),
            diagnosed("kernel version seems to match DSO: 460.39.0"),
        ),
        "CUDA_ERROR_UNKNOWN",
        says=("rmmod nvidia_uvm",),
    ),
    Fires(
        "gpu-bad-state",
        "a card that fell off the bus",
        "$ dmesg | tail\n[ 8123.5] NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has"
        " fallen off the bus.\n$ nvidia-smi\nUnable to determine the device handle for GPU 0000:02:00.0: GPU"
        " is lost.  Reboot the system to recover this GPU\n",
        "GPU is lost",
        says=("dmesg",),
    ),
    Fires(
        "gpu-bad-state",
        "NVSwitch without its fabric manager",
        log(
            "2.10.0",
            opened("libcuda.so.1"),
            cuinit("CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"),
        ),
        "system not yet initialized",
        says=("nvidia-fabricmanager",),
    ),
    # --- device-permission
    Fires(
        "device-permission",
        "closed device nodes",
        "$ python -c 'import tensorflow'\nNVIDIA: could not open the device file /dev/nvidia0 (Permission"
        " denied)\nfailed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error\n",
        "/dev/nvidia0",
        says=("usermod -aG video", "nvidia-modprobe"),
        verify="/dev/nvidia",
    ),
    Fires(
        "device-permission",
        "a container that lost its cgroup after a reload",
        "# after systemctl daemon-reload, inside the running container\nroot@5c1d2e3f4a6b:/#"
        " nvidia-smi\nFailed to initialize NVML: Unknown Error\n",
        "Unknown Error",
        says=("Restart the container",),
    ),
    # --- container-no-gpu
    Fires(
        "container-no-gpu",
        "docker without the toolkit",
        "$ docker run --gpus all tensorflow/tensorflow:2.11.0-gpu nvidia-smi\n"
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n',
        "could not select device driver",
        says=("nvidia-container-toolkit", "docker run --rm --gpus all"),
        verify="--gpus all",
    ),
    Fires(
        "container-no-gpu",
        "started without --gpus",
        log(
            "2.7.0",
            "$ docker run -it tensorflow/tensorflow:2.7.0-gpu python train.py",
            refused("libcuda.so.1", path="/usr/local/nvidia/lib:/usr/local/nvidia/lib64"),
            cuinit("UNKNOWN ERROR (303)"),
            no_module("4be1907cd2a5"),
        ),
        "'libcuda.so.1'",
        words=("Installing a driver in the image does not help",),
    ),
    Fires(
        "container-no-gpu",
        "Apptainer without --nv",
        log(
            "2.9.0",
            "$ apptainer exec tf.sif python train.py",
            refused("libcuda.so.1", path="/.singularity.d/libs"),
            cuinit("UNKNOWN ERROR (303)"),
        ),
        "'libcuda.so.1'",
        says=("--nv",),
    ),
    Fires(
        "container-no-gpu",
        "a Kubernetes cluster without free GPUs",
        "$ kubectl describe pod train-0\n  Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient"
        " nvidia.com/gpu.\n",
        "Insufficient nvidia.com/gpu",
        says=("nvidia.com/gpu: 1",),
    ),
    # --- wsl-driver
    Fires(
        "wsl-driver",
        "WSL2 without the Windows driver's libcuda",
        log(
            "2.10.0",
            "Linux version 5.15.90.1-microsoft-standard-WSL2",
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            no_module("DESKTOP-7QK2M4X"),
        ),
        "'libcuda.so.1'",
        says=("wsl --update", "restart Windows. Install no Linux driver inside WSL", "apt remove --purge"),
        never=("ubuntu-drivers", "^nvidia-.*"),
        verify="nvidia-smi",
    ),
    Fires(
        "gpu-absent",
        "a function in the cloud, whose host looks like a container",
        "2021-06-09 10:25:20.595244: W tensorflow/stream_executor/cuda/cuda_driver.cc:326] failed call to"
        " cuInit: UNKNOWN ERROR (303)\nkernel driver does not appear to be running on this host"
        " (6c02c8600b47): /proc/driver/nvidia/version does not exist\nEND RequestId:"
        " 5b6e2d10-6e0f-4c1c-9c57-0d5b1c0b7a11\n",
        "UNKNOWN ERROR (303)",
    ),
    Fires(
        "gpu-absent",
        "an app that somebody hosts, and a release that only says that it found no drivers",
        "2024-03-02 08:14:11.402117: I tensorflow/tsl/cuda/cudart_stub.cc:28] Could not find cuda drivers on"
        ' your machine, GPU will not be used.\n  File "/mount/src/leaf-app/app.py", line 12, in <module>\n',
        "Could not find cuda drivers",
    ),
    Fires(
        "container-no-gpu",
        "Apptainer without --nv, and the one line that tells it",
        "$ apptainer exec tensorflow.sif python -c 'import tensorflow as tf;"
        " print(tf.config.list_physical_devices())'\nlibcuda reported version is: NOT_FOUND: was unable to"
        " find libcuda.so DSO loaded into this program\n",
        "unable to find libcuda.so",
    ),
    Fires(
        "driver-too-new",
        "a kernel module that leaves an old GPU to the legacy driver",
        "NVRM: The NVIDIA GeForce GTX 680 GPU installed in this system is supported through the NVIDIA 470.xx"
        " Legacy drivers. Please\nNo devices were found\n",
        "470.xx",
        says=("470",),
    ),
    Fires(
        "gpu-powered-off",
        "a laptop whose GPU bbswitch switched off",
        "[   12.345678] bbswitch: disabling discrete graphics\nfailed call to cuInit: CUDA_ERROR_NO_DEVICE:"
        " no CUDA-capable device is detected\n",
        "bbswitch",
        says=("ON",),
    ),
    Fires(
        "gpu-reserved",
        "a GPU that is passed to a virtual machine",
        "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3080] [10de:2206]\n"
        "\tKernel driver in use: vfio-pci\nnvidia-smi: No devices were found\n",
        "vfio-pci",
        says=("virtual machine",),
    ),
    Fires(
        "tf-addon-mismatch",
        "Horovod that was built for another TensorFlow",
        "horovod.common.exceptions.HorovodVersionMismatchError: Framework tensorflow installed with version"
        " 2.1.0 but found version 2.3.0.\n",
        "HorovodVersionMismatchError",
        says=("horovod",),
    ),
    Fires(
        "gpu-bad-state",
        "cuInit takes no number of a device",
        "failed call to cuInit: CUDA_ERROR_INVALID_DEVICE\nlibcuda reported version is: 470.74.0\n",
        "INVALID_DEVICE",
    ),
    Fires(
        "cpu-no-avx",
        "a program that looks for AVX itself",
        "deepfake-tool: AVX not detected, exiting\n",
        "AVX not detected",
        says=("/proc/cpuinfo",),
    ),
    Fires(
        "gpu-reserved",
        "MIG mode without instances, from the kernel's log beside a cuInit that fails",
        "[  123.4] NVRM: kchannelConstruct_IMPL: Channel allocation not allowed when MIG is enabled without"
        " GPU instancing\n"
        + log(
            "2.8.0",
            cuinit("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
            diagnosed("kernel reported version is: 510.47.3"),
        ),
        "kchannelConstruct_IMPL",
        says=("-cgi", "-mig"),
    ),
    Fires(
        "container-no-gpu",
        "mamba, while an image is built",
        "Step 4/7 : RUN mamba install -y tensorflow-gpu\nEncountered problems while solving:\n  - nothing"
        " provides __cuda needed by tensorflow-2.7.0-cuda102py310hcf4adbc_0\n",
        "nothing provides",
        says=("CONDA_OVERRIDE_CUDA=10.2",),
        never=("ubuntu-drivers",),
    ),
    Fires(
        "gpu-absent",
        "mamba on a login node",
        "On the login node of our cluster:\n  - nothing provides __cuda needed by"
        " tensorflow-2.7.0-cuda112py310he87a039_0\n",
        "__cuda",
        says=("CONDA_OVERRIDE_CUDA=11.2", "srun"),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "gpu-bad-state",
        "a program that loses sight of a GPU that answers",
        "undetermined",
        "After the import of keras_nlp access to the GPU is lost.\n",
    ),
    NearMiss(
        "device-not-found",
        "code that would raise the error, beside a GPU that is there",
        "healthy",
        log("1.13.1", created("Tesla T4", "7.5", 14000))
        + "\nHow can I see whether it uses the GPU? My script has this:\n"
        "if tf.test.gpu_device_name() != '/device:GPU:0':\n  raise SystemError('GPU device not found')",
    ),
    NearMiss(
        "gpu-hidden",
        "the first GPU is named, and the node has none",
        "gpu-absent",
        "export CUDA_VISIBLE_DEVICES=0\n"
        + log(
            "1.9.0",
            cuinit("CUDA_ERROR_NO_DEVICE"),
            diagnosed("no NVIDIA GPU device is present: /dev/nvidia0 does not exist"),
        ),
    ),
    NearMiss(
        "driver-libcuda-missing",
        "cuInit is answered, and only the diagnosis overlooks the file that answers",
        "gpu-hidden",
        "export CUDA_VISIBLE_DEVICES=-1\n"
        + log(
            "2.14.0",
            cuinit("CUDA_ERROR_NO_DEVICE", NO_DEVICE),
            diagnosed(
                "libcuda reported version is: NOT_FOUND: was unable to find libcuda.so DSO loaded into this"
                " program"
            ),
            diagnosed("kernel reported version is: 525.105.17"),
        ),
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "a routine of cuBLAS fails after its handle was refused",
        "cudnn-init-oom",
        log(
            "1.14.0",
            logged(
                "E",
                "stream_executor/cuda/cuda_blas.cc",
                "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED",
                238,
            ),
            logged(
                "E",
                "stream_executor/cuda/cuda_blas.cc",
                "failed to run cuBLAS routine: CUBLAS_STATUS_EXECUTION_FAILED",
                428,
            ),
        ),
    ),
    NearMiss(
        "gpu-bad-state",
        "a count of devices that succeeded",
        "undetermined",
        "cudaGetDeviceCount returned 0\nThere are no available device(s) that support CUDA\n",
    ),
    NearMiss(
        "healthy",
        "the libraries open, and CUDA itself does not start",
        "gpu-bad-state",
        log("1.8.0", opened("libcudnn.so.7", "libcuda.so.1"), cuinit("CUDA_ERROR_UNKNOWN")),
    ),
    NearMiss(
        "gpu-hidden",
        "the variable in a sentence, with a card's number",
        "undetermined",
        'When CUDA_VISIBLE_DEVICES is "1", the program ends:\n    gpu = devices[i]\nIndexError: list index'
        " out of range\n",
    ),
    NearMiss(
        "driver-missing",
        "another package that conda has nowhere",
        "undetermined",
        "  - nothing provides libfoo >=2 needed by bar-1.0-py39_0\n",
    ),
    NearMiss(
        "gpu-absent",
        "NO_DEVICE, but the driver's versions agree",
        "gpu-hidden",
        log("2.4.0", cuinit(*NO_DEVICE), diagnosed("kernel version seems to match DSO: 460.32.3")),
    ),
    NearMiss(
        "gpu-arch-too-old",
        "an old card that this build does serve",
        "healthy",
        log("1.12.0", found("Tesla K40m", "3.5"), created("Tesla K40m", "3.5", 10763)),
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a failing BLAS call on a card that CUDA 10 knows",
        "cudnn-init-oom",
        log(
            "1.15.0",
            versions("1.15.0"),
            found("GeForce GTX 1070", "6.1"),
            created("GeForce GTX 1070", "6.1", 7600),
            "tensorflow.python.framework.errors_impl.InternalError: Blas GEMM launch failed : a.shape=(64,"
            " 784), b.shape=(784, 512), m=64, n=512, k=784",
        ),
    ),
    NearMiss(
        "driver-missing",
        "nvidia-smi that answers beside a missing libcuda",
        "driver-libcuda-missing",
        log(
            "2.5.0",
            smi("460.91.03", "N/A", "Tesla T4"),
            refused("libcuda.so.1"),
            diagnosed("kernel reported version is: 460.91.3"),
        ),
    ),
    NearMiss(
        "driver-missing",
        "cuDNN that looks for the plain name libcuda.so in WSL",
        "library-broken",
        log(
            "2.10.0",
            "$ uname -r",
            "5.15.90.1-microsoft-standard-WSL2",
            created("NVIDIA GeForce RTX 3070", "8.6", 5955),
            "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object"
            " file: No such file or directory",
        ),
    ),
    NearMiss(
        "driver-libcuda-missing",
        "no libcuda and no kernel module either",
        "driver-missing",
        log(
            "2.8.0",
            form(system="Ubuntu 20.04", tensorflow="2.8.0", gpu="GTX 1660"),
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
        ),
    ),
    NearMiss(
        "driver-not-loaded",
        "modules that support the card",
        "gpu-bad-state",
        "RTX 4090, nvidia-driver-570\n$ nvidia-smi\nNo devices were found\n",
    ),
    NearMiss(
        "driver-not-loaded",
        "the same words inside a container",
        "container-no-gpu",
        log(
            "2.7.0",
            "$ docker run tensorflow/tensorflow:2.7.0-gpu python train.py",
            cuinit("UNKNOWN ERROR (303)"),
            no_module("4be1907cd2a5"),
        ),
    ),
    NearMiss(
        "driver-not-loaded",
        "the same words in WSL",
        "wsl-driver",
        log(
            "2.10.0",
            "5.15.90.1-microsoft-standard-WSL2",
            opened("libcuda.so.1"),
            cuinit(*NO_DEVICE),
            no_module("DESKTOP-7QK2M4X"),
        ),
    ),
    NearMiss(
        "driver-library-mismatch",
        "an older library inside an image, over a newer module",
        "cuda-compat-package",
        log(
            "2.5.0",
            "root@4be1907cd2a5:/app# python train.py",
            cuinit(*NO_DEVICE),
            logged(
                "E",
                "stream_executor/cuda/cuda_diagnostics.cc",
                "kernel version 470.82.1 does not match DSO version 460.73.1 -- cannot find working devices"
                " in this configuration",
            ),
        ),
    ),
    NearMiss(
        "driver-too-old",
        '"possibly insufficient driver version" beside a handle that fails',
        "cudnn-init-oom",
        log(
            "1.12.0",
            created("GeForce GTX 1080", "6.1", 7439),
            cudnn_failed("CUDNN_STATUS_NOT_INITIALIZED", "396.54.0"),
        ),
    ),
    NearMiss(
        "driver-too-old",
        "driver 535 under TensorFlow 2.20: minor versions of CUDA 12 are compatible",
        "healthy",
        log(
            "2.20.0",
            versions("2.20.0", "3.11.9"),
            smi("535.183.01", "12.2", "NVIDIA A30"),
            created("NVIDIA A30", "8.0", 22110),
            "1563/1563 [==============================] - 9s 5ms/step - loss: 1.5127",
        ),
    ),
    NearMiss(
        "cuda-compat-package",
        "804 with no compat folder anywhere",
        "driver-library-mismatch",
        log(
            "2.4.0",
            form(system="Ubuntu 20.04", tensorflow="2.4.0", gpu="GTX 1650"),
            opened("libcuda.so.1"),
            cuinit(
                "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
                "forward compatibility was attempted on non supported HW",
            ),
        ),
    ),
    NearMiss(
        "gpu-hidden",
        "CUDA_VISIBLE_DEVICES=0 and a CUDA library that does not open",
        "cuda-missing",
        log(
            "2.6.0",
            "CUDA_VISIBLE_DEVICES=0 python train.py",
            opened("libcuda.so.1"),
            found("Tesla T4", "7.5"),
            refused("libcudart.so.11.0"),
            skipped,
        ),
    ),
    NearMiss(
        "gpu-hidden",
        "CUDA_VISIBLE_DEVICES=1 and the GPU works as GPU:0",
        "gpu-renumbered",
        log(
            "2.6.0",
            "CUDA_VISIBLE_DEVICES=1 python train.py",
            created("Tesla T4", "7.5", 13803, physical=0, bus="0000:02:00.0"),
        ),
    ),
    NearMiss(
        "gpu-bad-state",
        "CUDA_ERROR_UNKNOWN for a user only, root works",
        "device-permission",
        "As my user: failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error\nIt works fine with sudo.\n",
    ),
    NearMiss(
        "device-permission",
        "sudo that installs a package, and memory that is full",
        "cudnn-init-oom",
        log(
            "2.3.0",
            "sudo apt install nvidia-driver-455 worked",
            created("GeForce RTX 2060", "7.5", 4901),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
    ),
    NearMiss(
        "container-no-gpu",
        "a container in which a CUDA library is missing",
        "cuda-missing",
        log(
            "2.6.0",
            "$ docker run --gpus all -it ml-base:latest python train.py",
            opened("libcuda.so.1"),
            found("Tesla T4", "7.5"),
            numa,
            refused("libcudart.so.11.0", path="/usr/local/nvidia/lib:/usr/local/nvidia/lib64"),
            skipped,
        ),
    ),
    NearMiss(
        "container-no-gpu",
        "a container whose driver is too old for it",
        "driver-too-old",
        wrapped_by_docker(
            "requirement error: unsatisfied condition: cuda>=11.2, please update your driver to a newer"
            " version: unknown"
        ),
    ),
    NearMiss(
        "wsl-driver",
        "a host called DESKTOP-… on native Windows",
        "driver-missing",
        log(
            "2.6.0",
            form(system="Windows 10", tensorflow="2.6.0", gpu="GTX 1050 Ti"),
            cpu_features,
            refused("nvcuda.dll"),
            cuinit("UNKNOWN ERROR (303)"),
            diagnosed("retrieving CUDA diagnostic information for host: DESKTOP-7QK2M4X"),
            windows=True,
        ),
    ),
    NearMiss(
        "wsl-driver",
        "WSL whose driver answers; only the CUDA libraries are missing",
        "cuda-missing",
        log(
            "2.15.0",
            "5.15.133.1-microsoft-standard-WSL2",
            versions("2.15.0"),
            no_cuda_drivers,
            "$ nvidia-smi",
            smi("546.17", "12.3", "RTX 3060"),
            skipped,
        ),
    ),
    NearMiss(
        "driver-too-new",
        "a branch that still serves the GPU",
        "driver-not-loaded",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the"
        " latest NVIDIA driver is installed and running.\nii  nvidia-driver-550  550.90.07\nNVIDIA"
        " Corporation GP104 [GeForce GTX 1080] [10de:1b80]\n",
    ),
    NearMiss(
        "gpu-powered-off",
        "a GPU that answers on the bus",
        "driver-not-loaded",
        "01:00.0 3D controller: NVIDIA Corporation TU117M [GeForce GTX 1650 Mobile] (rev a1)\nNVIDIA-SMI has"
        " failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA"
        " driver is installed and running.\n",
    ),
    NearMiss(
        "gpu-reserved",
        "a GPU that the NVIDIA driver has",
        "gpu-hidden",
        "Kernel driver in use: nvidia\nCUDA_VISIBLE_DEVICES=-1\nfailed call to cuInit: CUDA_ERROR_NO_DEVICE:"
        " no CUDA-capable device is detected\n",
    ),
    NearMiss(
        "tf-addon-mismatch",
        "a library of CUDA itself that misses a symbol",
        "library-broken",
        "ImportError: /usr/lib/x86_64-linux-gnu/libcudnn_cnn_infer.so.8: undefined symbol:"
        " _ZN5cudnn3cnn5infer, version libcudnn_ops_infer.so.8\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "AVX2, which the wheels do not need",
        "undetermined",
        "Error: AVX2 not detected, using SSE. TensorFlow 2.4 on Linux\n",
    ),
)
