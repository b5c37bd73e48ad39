"""Messages from container runtimes, NVIDIA's images and schedulers about the host's driver and its GPUs."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import log, no_module, opened

REFUSED = (
    "docker: Error response from daemon: OCI runtime create failed: error running hook: exit status 1,"
    " stdout: , stderr: "
)

FIRES = (
    Fires(
        "container-no-gpu",
        "a Dockerfile whose base image contains a CPU build",
        "FROM tensorflow/tensorflow:2.15.0\nCOPY train.py .\n",
        "FROM tensorflow",
        says=("Write FROM tensorflow/tensorflow:2.15.0-gpu",),
        never=("nvidia-ctk",),
    ),
    Fires(
        "container-no-gpu",
        "the older wrapper that was not used",
        "TensorFlow in Docker does not see my GPU.\nYou must start it with nvidia-docker instead of docker,"
        " otherwise there is no GPU in it.\n",
        "nvidia-docker instead of docker",
    ),
    Fires(
        "cpu-no-avx",
        "a Jetson, whose processor has no AVX to lack",
        "Jetson Nano, JetPack 4.5\n>>> import tensorflow\nIllegal instruction (core dumped)\n",
        "Illegal instruction",
        says=("OPENBLAS_CORETYPE",),
    ),
    Fires(
        "tf-not-installed",
        "R's reticulate looked for it",
        "> reticulate::py_config()\npython:         C:\\Users\\anna\\Anaconda3\\python.exe\nnumpy_version: "
        " 1.15.4\ntensorflow:     [NOT FOUND]\n",
        "[NOT FOUND]",
    ),
    Fires(
        "container-no-gpu",
        "a toolkit that cannot read what the image requires",
        f"{REFUSED}nvidia-container-cli: requirement error: invalid expression: unknown.\n",
        "invalid expression",
    ),
    Fires(
        "container-no-gpu",
        "podman passes no driver in, so the image has no nvidia-smi",
        "$ podman run --rm docker.io/tensorflow/tensorflow:2.13.0-gpu nvidia-smi\nError: crun: executable"
        " file `nvidia-smi` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a"
        " command that was not found\n",
        "crun: executable file",
    ),
    Fires(
        "gpu-hidden",
        "the code gives TensorFlow an empty list",
        "TensorFlow does not use the GPU, though nvidia-smi shows it.\n\nimport tensorflow as"
        " tf\ntf.config.set_visible_devices([], 'GPU')\n",
        "set_visible_devices([]",
        says=("from the code",),
    ),
    Fires(
        "gpu-hidden",
        "the code of a session asks for no GPU",
        "TensorFlow does not use the GPU, though nvidia-smi shows it.\n\nconfig ="
        " tf.ConfigProto(device_count={'GPU': 0, 'CPU': 4})\n",
        "device_count=",
    ),
    Fires(
        "driver-missing",
        "an upgrade took the driver away",
        "After last night's upgrade of my VM the NVIDIA drivers are gone.\nTensorFlow does not use the GPU"
        " any more.\n",
        "drivers are gone",
    ),
    Fires(
        "driver-not-loaded",
        "the container toolkit gets no answer from the host's driver",
        f"$ docker run --gpus all tensorflow/tensorflow:2.9.1-gpu\n{REFUSED}nvidia-container-cli:"
        " initialization error: driver error: failed to process request: unknown.\n",
        "failed to process request",
        says=("dkms autoinstall",),
        verify="nvidia-smi",
    ),
    Fires(
        "driver-not-loaded",
        "NVML says it to the container toolkit",
        f"$ docker run --gpus all tensorflow/tensorflow:2.9.1-gpu\n{REFUSED}nvidia-container-cli:"
        " initialization error: nvml error: driver not loaded: unknown.\n",
        "driver not loaded",
    ),
    Fires(
        "driver-not-loaded",
        "the host of the containers lost its module",
        "[root@gpu3 ~]# docker run --rm --gpus all nvidia/cuda:11.2.2-base nvidia-smi\n[root@gpu3 ~]#"
        " modprobe nvidia\nmodprobe: FATAL: Module nvidia not found in directory"
        " /lib/modules/4.18.0-348.el8.x86_64\n",
        "Module nvidia not found",
    ),
    Fires(
        "device-permission",
        "the container toolkit may not open the nodes",
        f"$ docker run --gpus all tensorflow/tensorflow:2.9.1-gpu\n{REFUSED}nvidia-container-cli:"
        " initialization error: nvml error: insufficient permissions: unknown.\n",
        "insufficient permissions",
        says=("nvidia-modprobe -u -c=0",),
    ),
    Fires(
        "device-permission",
        "nvidia-docker finds no nvidia-uvm",
        "$ nvidia-docker run --rm tensorflow/tensorflow:1.0.0-gpu python -c 'import"
        " tensorflow'\nnvidia-docker | 2017/03/02 10:11:12 Error: Could not load UVM kernel module. Is"
        " nvidia-modprobe installed?\n",
        "UVM kernel module",
        says=("nvidia-modprobe -u -c=0",),
    ),
    Fires(
        "driver-too-old",
        "an image that was built for a later driver",
        "================\n== TensorFlow ==\n================\nERROR: This container was built for NVIDIA"
        " Driver Release 455.32 or later, but\n       version 440.33.01 was detected and compatibility mode"
        " is UNAVAILABLE.\n",
        "built for NVIDIA Driver Release",
    ),
    Fires(
        "driver-too-old",
        "nvidia-docker compares driver and image",
        "nvidia-docker | 2016/09/02 10:11:12 Error: unsupported CUDA version: driver 7.5 < image 8.0\n",
        "unsupported CUDA version",
    ),
    Fires(
        "container-no-gpu",
        "an image that sees no driver at all",
        "ERROR: This container was built for NVIDIA Driver Release 515.48 or later, but\n       version  was"
        " detected and compatibility mode is UNAVAILABLE.\n",
        "built for NVIDIA Driver Release",
    ),
    Fires(
        "container-no-gpu",
        "the toolkit is too old for cgroup v2",
        f"{REFUSED}nvidia-container-cli: container error: cgroup subsystem devices not found: unknown.\n",
        "cgroup subsystem devices not found",
        says=("nvidia-container-toolkit",),
    ),
    Fires(
        "gpu-hidden",
        "the container asks for a second GPU where there is one",
        f"$ docker run --gpus 2 tensorflow/tensorflow:2.9.1-gpu\n{REFUSED}nvidia-container-cli: device error:"
        " 1: unknown device: unknown.\n",
        "device error: 1",
        says=("nvidia-smi -L",),
    ),
    Fires(
        "gpu-hidden",
        "a scheduler that empties the list of GPUs",
        "TensorFlow in the worker does not see the GPU: there CUDA_VISIBLE_DEVICES is set to an empty"
        " string.\n",
        "empty string",
        words=("Ray",),
    ),
    Fires(
        "gpu-hidden",
        "the error without its call, and who caused it",
        "The trial throws CUDA_ERROR_NO_DEVICE\nIt seems that the runner overwrites $CUDA_VISIBLE_DEVICES"
        " when it starts a worker.\n",
        "CUDA_ERROR_NO_DEVICE",
    ),
    Fires(
        "gpu-bad-state",
        "the toolkit's helper process gets no answer in time",
        f"{REFUSED}nvidia-container-cli: initialization error: driver rpc error: timed out: unknown.\n",
        "driver rpc error",
    ),
    Fires(
        "gpu-bad-state",
        "an image whose start script tries CUDA",
        "WARNING: The NVIDIA Driver is present, but CUDA failed to initialize.  GPU functionality will not be"
        " available.\n   [[ Initialization error (error 3) ]]\n",
        "(error 3)",
    ),
    Fires(
        "wsl-driver",
        "nvidia-smi in WSL is kept out by Windows",
        "Windows 11, Ubuntu 22.04 in WSL2\n$ nvidia-smi\nFailed to initialize NVML: GPU access blocked by the"
        " operating system\n",
        "blocked by the operating system",
        says=("wsl --update", "wsl --shutdown"),
    ),
    Fires(
        "driver-missing",
        "a check that fails with the stub's own number",
        "E tensorflow/stream_executor/cuda/cuda_driver.cc:404] Check failed: CUDA_SUCCESS =="
        " cuDevicePrimaryCtxGetState(device, &flags, &active) (0 vs. 303)\n",
        "(0 vs. 303)",
    ),
    Fires(
        "gpu-arch-too-new",
        "an image older than the GPU",
        "root@4be1907cd2a5:/workspace#\nWARNING: Detected NVIDIA GeForce RTX 4060 GPU, which is not yet"
        " supported in this version of the container\nERROR: No supported GPU(s) detected to run this"
        " container\n",
        "not yet supported",
        says=("newer tag of the image",),
    ),
    Fires(
        "gpu-arch-too-old",
        "an image that has dropped the GPU",
        "ERROR: Detected Quadro M1200 GPU, which is not supported by this container\nERROR: No supported"
        " GPU(s) detected to run this container\n",
        "is not supported by this container",
        words=("Quadro M1200",),
    ),
    Fires(
        "container-no-gpu",
        "no driver library in an old image, and cuDNN not where its loader looks",
        "docker run tensorflow/tensorflow:0.9.0-gpu\nI tensorflow/stream_executor/dso_loader.cc:105]"
        " successfully opened CUDA library libcublas.so locally\nI"
        " tensorflow/stream_executor/dso_loader.cc:99] Couldn't open CUDA library libcudnn.so."
        " LD_LIBRARY_PATH: \nI tensorflow/stream_executor/dso_loader.cc:99] Couldn't open CUDA library"
        " libcuda.so.1. LD_LIBRARY_PATH: \nI tensorflow/stream_executor/cuda/cuda_diagnostics.cc:121]"
        " hostname: 4be1907cd2a5\n",
        "library libcuda.so.1",
    ),
    Fires(
        "cuda-missing",
        "a library that Java loads wants CUDA",
        "java.lang.UnsatisfiedLinkError: /tmp/tf/libtensorflow_jni.so: libcudart.so.9.0: cannot open shared"
        " object file: No such file or directory\n",
        "libcudart.so.9.0",
    ),
    Fires(
        "driver-too-old",
        "two drivers in one sentence, the one that is there and the one that is needed",
        "We want TensorFlow 1.14 on the cluster. It needs driver 418 at least, and the nodes have driver"
        " 390.46.\n",
        "390.46",
    ),
    Fires(
        "gpu-renumbered",
        "a question about numbers in a container",
        "Do the GPU numbers always start from 0 in a container, whichever GPUs it was given?\n",
        "start from 0",
    ),
    Fires(
        "tf-not-installed",
        "TensorBoard without TensorFlow",
        "$ tensorboard --logdir logs\nTensorFlow installation not found - running with reduced feature"
        " set.\n",
        "reduced feature set",
    ),
    Fires(
        "tf-conflicting-packages",
        "one command that installs both",
        "I typed pip install tensorflow-gpu tensorflow keras, and now it is the CPU that works.\n",
        "pip install tensorflow-gpu tensorflow",
    ),
    Fires(
        "host-oom",
        "RAM and swap fill up until the process is killed",
        "First the RAM fills up, then the swap, and in the end the process gets killed. The GPU has memory"
        " left.\n",
        "RAM fills up",
    ),
    Fires(
        "gpu-bad-state",
        "in words: after the laptop slept",
        "Since the laptop woke up from suspend cuInit gives CUDA_ERROR_UNKNOWN, nvidia-smi is fine.\n",
        "CUDA_ERROR_UNKNOWN",
        says=("nvidia_uvm",),
    ),
    Fires(
        "device-permission",
        "device files that are for one group only",
        "$ ls -l /dev/nvidia0\ncrw-rw---- 1 root render 195, 0 Mar  3 10:11 /dev/nvidia0\nTensorFlow finds no"
        " GPU as my user\n",
        "crw-rw----",
        says=("usermod",),
    ),
    Fires(
        "gpu-absent",
        "the bus shows no card of NVIDIA",
        "lspci | grep -i nvidia shows nothing on this virtual machine\nfailed call to cuInit: UNKNOWN ERROR"
        " (303)\n",
        "shows nothing",
    ),
    Fires(
        "gpu-absent",
        "the only card is another maker's",
        "The card is an AMD Radeon RX 580, and tensorflow finds no GPU. Does it work with it at all?\n",
        "Radeon RX 580",
    ),
    Fires(
        "driver-missing",
        "in words: no driver installed so far",
        "There is a GeForce GTX 1080 in the machine, but no NVIDIA driver is installed, and TensorFlow runs"
        " on the CPU.\n",
        "no NVIDIA driver is installed",
    ),
    Fires(
        "driver-not-loaded",
        "lsmod does not list it",
        "The GPU is not used. lsmod | grep nvidia gives no output, Secure Boot is on.\n",
        "gives no output",
    ),
    Fires(
        "container-no-gpu",
        "the flag that was forgotten",
        "In the docker container TensorFlow did not see the GPU: I forgot `--gpus all`.\n",
        "--gpus all",
    ),
    Fires(
        "container-no-gpu",
        "no nvidia-smi inside a container",
        "$ docker run -it tensorflow/tensorflow:2.4.1-gpu bash\nroot@4be1907cd2a5:/# nvidia-smi\nbash:"
        " nvidia-smi: command not found\n",
        "command not found",
    ),
    Fires(
        "wsl-driver",
        "WSL 1 by the form",
        "### Are you using WSL 1 or WSL 2?\n\n- [ ] WSL 2\n- [x] WSL 1\n\nTensorFlow finds no GPU\n",
        "[x] WSL 1",
    ),
    Fires(
        "gpu-arch-too-old",
        "a card of Fermi and no log",
        "name: GeForce GTX 480, compute capability: 2.0\nTensorFlow does not use the GPU\n",
        "GTX 480",
    ),
    Fires(
        "cuda-compat-package",
        "a GeForce card under an image's own libcuda",
        "docker run --gpus all nvcr.io/nvidia/tensorflow:21.06-tf2-py3\nNVIDIA GeForce RTX 2070, driver"
        " 450.80.02\ncuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was attempted"
        " on non supported HW\n",
        "COMPAT_NOT_SUPPORTED",
    ),
    Fires(
        "gpu-hidden",
        "a job that Slurm gave no GPU",
        "In the job TensorFlow sees no GPU. CUDA_VISIBLE_DEVICES=NoDevFiles\n",
        "NoDevFiles",
    ),
    Fires(
        "driver-too-old",
        "in words, and in Chinese",
        "显卡驱动版本过低，更新驱动以后 tensorflow 就能用GPU了\n",
        "驱动版本过低",
    ),
    Fires(
        "driver-missing",
        "in Chinese",
        "没有安装显卡驱动，tensorflow 检测不到GPU\n",
        "没有安装显卡驱动",
    ),
    Fires(
        "container-no-gpu",
        "in Chinese",
        "docker容器里 tensorflow 检测不到GPU，启动容器的时候没有加 --gpus all\n",
        "--gpus all",
    ),
    Fires(
        "gpu-absent",
        "a Kaggle notebook for which no accelerator was chosen",
        "/kaggle/working/models\nE external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed"
        " call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)\n",
        "UNKNOWN ERROR (303)",
        says=("on Kaggle under Settings, Accelerator",),
        never=("ubuntu-drivers",),
    ),
    Fires(
        "gpu-absent",
        "Colab's limit",
        "You cannot currently connect to a GPU due to usage limits in Colab.\n",
        "usage limits",
    ),
    Fires(
        "nccl-failure",
        "Horovod stands still once the ring is made",
        "node1:25:223 [0] NCCL INFO Ring 00 : 0 -> 1 [send] via NET/Socket/0\nFrom here on the training"
        " hangs, every GPU at 100 %.\n",
        "hangs",
    ),
    Fires(
        "cpu-no-avx",
        "a container that ends at once",
        "The serving container exited with code 132 at once, without a word.\n",
        "code 132",
    ),
    Fires(
        "cpu-no-avx",
        "a core dump and a processor of the Atom kind",
        "import tensorflow ends in a core dump. The CPU is a Celeron J1900 without AVX.\n",
        "core dump",
    ),
    Fires(
        "gpu-renumbered",
        "two orders of the same cards",
        "nvidia-smi lists the cards in an order that differs from what TensorFlow says.\n",
        "order that differs",
    ),
    Fires(
        "gpu-bad-state",
        "a context that the driver does not make",
        "InternalError: failed initializing StreamExecutor for CUDA device ordinal 0: Internal: failed call"
        " to cuDevicePrimaryCtxRetain: CUDA_ERROR_UNKNOWN: unknown error\n",
        "cuDevicePrimaryCtxRetain",
    ),
    Fires(
        "gpu-bad-state",
        "properties that the runtime does not get",
        "E tensorflow/core/grappler/clusters/utils.cc:87] Failed to get device properties, error code: 30\n",
        "error code: 30",
    ),
    Fires(
        "tf-cpu-only",
        "an op of cuDNN in a process without a GPU",
        "InvalidArgumentError: No OpKernel was registered to support Op 'CudnnRNN' used by {{node"
        " lstm/CudnnRNN}} with these attrs: [seed=0]\nRegistered devices: [CPU, XLA_CPU]\n",
        "Op 'CudnnRNN'",
    ),
    Fires(
        "nccl-failure",
        "a build without NCCL's ops",
        "NotFoundError: Op type not registered 'NcclAllReduce' in binary running on node1\n",
        "NcclAllReduce",
    ),
    Fires(
        "cudnn-init-oom",
        "the handle of cuBLASLt",
        "E tensorflow/stream_executor/cuda/cuda_blas.cc:218] failed to create cublasLt handle:"
        " CUBLAS_STATUS_NOT_INITIALIZED\n",
        "cublasLt handle",
    ),
    Fires(
        "cuda-missing",
        "a loader's words in another language's panic",
        "panic: libcudart.so.11.0: cannot open shared object file: No such file or directory\n\ngoroutine 1"
        " [running]:\nmain.main() tensorflow\n",
        "libcudart.so.11.0",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "container-no-gpu",
        "a question about the older wrapper",
        "undetermined",
        "What is nvidia-docker, and how does it differ from docker?\n",
    ),
    NearMiss(
        "gpu-absent",
        "a notebook that runs elsewhere, and a machine without a driver here",
        "driver-missing",
        "The same notebook trains fine on Colab. On my PC it says:\nE"
        " external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed call to cuInit: INTERNAL:"
        " CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)\n",
    ),
    NearMiss(
        "gpu-hidden",
        "the code takes one GPU of several",
        "undetermined",
        "TensorFlow does not use the GPU, though nvidia-smi shows it.\n\nimport tensorflow as"
        " tf\ntf.config.set_visible_devices(gpus[1:], 'GPU')\n",
    ),
    NearMiss(
        "driver-not-loaded",
        "the same words from inside a container without the driver",
        "container-no-gpu",
        log(
            "2.7.0",
            "root@4be1907cd2a5:/app# python train.py",
            "2022-02-03 10:11:12.131415: W tensorflow/stream_executor/platform/default/dso_loader.cc:64]"
            " Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object"
            " file: No such file or directory",
            no_module("4be1907cd2a5"),
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        ),
    ),
    NearMiss(
        "device-permission",
        "nvidia-uvm cannot load where no module of the driver does",
        "driver-not-loaded",
        "nvidia-docker | 2017/03/02 10:11:12 Error: Could not load UVM kernel module\n$ nvidia-smi\nmodprobe:"
        " FATAL: Module nvidia not found.\n",
    ),
    NearMiss(
        "driver-too-old",
        "an older driver that the image's compatibility package serves",
        "undetermined",
        "NOTE: Legacy NVIDIA Driver detected.  Compatibility mode ENABLED.\nTensorFlow finds no GPU\n",
    ),
    NearMiss(
        "wsl-driver",
        "ldconfig's remark on the file that Windows mounts",
        "benign-messages",
        "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link\n",
    ),
    NearMiss(
        "gpu-hidden",
        "a sentence that goes on after a colon",
        "gpu-renumbered",
        "I tried CUDA_VISIBLE_DEVICES: with 1 it still uses GPU:0\n",
    ),
    NearMiss(
        "gpu-absent",
        "an integrated graphics device beside a card of NVIDIA",
        "undetermined",
        "Intel UHD Graphics 630 and NVIDIA GeForce RTX 2060, Windows 10. TensorFlow does not detect the"
        " GPU.\n",
    ),
    NearMiss(
        "device-permission",
        "device files that everybody may use",
        "undetermined",
        "crw-rw-rw- 1 root root 195, 0 Mar  3 10:11 /dev/nvidia0\nTensorFlow does not detect the GPU\n",
    ),
    NearMiss(
        "nccl-failure",
        "no InfiniBand in a run that goes on",
        "undetermined",
        "node1:25:223 [0] misc/ibvwrap.cu:63 NCCL WARN Failed to open libibverbs.so[.1]\nstep 100 loss"
        " 0.31\n",
    ),
    NearMiss(
        "gpu-bad-state",
        "Windows that leaves the compiling to the driver",
        "benign-messages",
        "Internal: Invoking GPU asm compilation is supported on Cuda non-Windows platforms only\nRelying on"
        " driver to perform ptx compilation. \n",
    ),
    NearMiss(
        "nccl-failure",
        "NCCL that says how it is built up, and a run that goes on",
        "undetermined",
        "node1:25:223 [0] NCCL INFO Ring 00 : 0 -> 1 [send] via NET/Socket/0\nstep 100 loss 0.31\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "instructions that this build leaves out",
        "benign-messages",
        "I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports instructions that this"
        " TensorFlow binary was not compiled to use: AVX2 FMA\n",
    ),
    NearMiss(
        "driver-too-old",
        "a driver that is only asked for",
        "undetermined",
        "TensorFlow 1.14 does not find the GPU. Somebody wrote that it needs driver 384.81 or later, is that"
        " so?\n",
    ),
    NearMiss(
        "gpu-renumbered",
        "epochs that start from 0",
        "undetermined",
        "The GPU is slow, and when I start again the epochs start from 0.\n",
    ),
    NearMiss(
        "host-oom",
        "a GPU whose memory fills up",
        "model-oom",
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512,32] and type float on"
        " /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\nMy machine has 64 GB of RAM\n",
    ),
    NearMiss(
        "wsl-driver",
        "a GPU that works in WSL",
        "healthy",
        log(
            "2.10.0",
            "5.15.90.1-microsoft-standard-WSL2",
            opened("libcuda.so.1", "libcudart.so.11.0"),
            "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]",
        ),
    ),
)
