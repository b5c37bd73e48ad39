"""Cases about the memory of the GPU and the host, and the settings that control it."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    created,
    cublas_failed,
    cudnn_failed,
    cuinit,
    form,
    found,
    loaded_cudnn,
    log,
    logged,
    opened,
    refused,
    versions,
)

DRIVER = "stream_executor/cuda/cuda_driver.cc"
BFC = "core/common_runtime/bfc_allocator.cc"
ALGORITHM = (
    "tensorflow.python.framework.errors_impl.UnknownError: Failed to get convolution algorithm. This is"
    " probably because cuDNN failed to initialize, so try looking to see if a warning log message was printed"
    " above. [Op:Conv2D]"
)


def oom(shape: str) -> str:
    return (
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with"
        f" shape[{shape}] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator"
        " GPU_0_bfc"
    )


FIRES = (
    Fires(
        "host-oom",
        "a title that leaves the device out",
        "OOM when allocating tensor with shape\n\nOOM when allocating tensor with shape[1,75,75,256] and type"
        " float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n",
        "by allocator cpu",
    ),
    Fires(
        "model-oom",
        "weights that no GPU holds, in TensorFlow 1",
        versions("1.9.0")
        + log(
            "1.9.0",
            logged(
                "W",
                "core/framework/op_kernel.cc",
                "OP_REQUIRES failed at constant_op.cc:75 : Resource exhausted: OOM when allocating tensor of"
                " shape [16777216,512] and type float",
                1318,
            ),
        ),
        "[16777216,512]",
        never=("tf.keras.mixed_precision",),
        words=("of shape [16777216,512]", "32.0 GiB"),
    ),
    Fires(
        "memory-leak",
        "the twelfth model of a search",
        "keras search on a Tesla T4: the 12th model dies with ResourceExhausted, whichever parameters it"
        " got\n",
        "12th model",
    ),
    Fires(
        "memory-leak",
        "so many trials in, and no memory",
        "Tuning a Keras model on a GTX 1080: 57 trials in, and it ended with no GPU memory left.\n",
        "57 trials in",
        says=("clear_session",),
    ),
    Fires(
        "host-oom",
        "TensorFlow's remark, and the end of the process in a sentence",
        "Allocation of 822083584 exceeds 10% of system memory.\nA minute later python got killed\n",
        "10% of system memory",
    ),
    Fires(
        "gpu-memory-held",
        "in Korean",
        "GPU 메모리 부족 에러가 나는데, nvidia-smi 로 보니 이전 파이썬 프로세스가 남아 있어서"
        " 종료했더니 해결\n",
        "프로세스",
    ),
    # --- cudnn-init-oom
    Fires(
        "cudnn-init-oom",
        "TensorFlow 1.13 on Linux",
        log(
            "1.13.1",
            versions("1.13.1"),
            found("GeForce RTX 2070", "7.5"),
            created("GeForce RTX 2070", "7.5", 7249),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
        "Could not create cudnn handle",
        says=("tf.ConfigProto()", "allow_growth = True"),
        never=("tf.config.", "list_physical_devices"),
        verify="tf.Session()",
    ),
    Fires(
        "cudnn-init-oom",
        "TensorFlow 2.2 and its experimental names",
        log(
            "2.2.0",
            versions("2.2.0"),
            created("GeForce GTX 1660", "7.5", 4630),
            cudnn_failed("CUDNN_STATUS_ALLOC_FAILED"),
            ALGORITHM,
        ),
        "Failed to get convolution algorithm",
        says=(
            "tf.config.list_physical_devices('GPU')",
            "set_memory_growth",
            "TF_FORCE_GPU_ALLOW_GROWTH=true",
        ),
        never=("ConfigProto",),
    ),
    Fires(
        "cudnn-init-oom",
        "cuBLAS that cannot start under 2.13",
        log(
            "2.13.0",
            versions("2.13.0"),
            created("NVIDIA GeForce RTX 3060", "8.6", 9900),
            cublas_failed,
            loaded_cudnn(8600),
        ),
        "failed to create cublas handle",
        says=("tf.config.list_physical_devices('GPU')",),
        never=("ConfigProto", "allow_growth"),
        verify="tf.matmul(",
    ),
    Fires(
        "cudnn-init-oom",
        "an absl line of 2.18",
        log(
            "2.18.0",
            versions("2.18.0"),
            created("NVIDIA GeForce RTX 4060", "8.9", 5592),
            loaded_cudnn(90300),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
        "CUDNN_STATUS_INTERNAL_ERROR",
        says=("set_memory_growth",),
    ),
    # --- gpu-memory-held
    Fires(
        "gpu-memory-held",
        "TensorFlow 1.3 finds a card with 150 MiB free",
        log(
            "1.3.0",
            found("GeForce GTX 1080", "6.1", total="7.92GiB", free="148.69MiB"),
            created("GeForce GTX 1080", "6.1", 0),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
        "Free memory: 148.69MiB",
        says=("nvidia-smi",),
        verify="nvidia-smi",
    ),
    Fires(
        "gpu-memory-held",
        "a context that does not fit",
        log(
            "2.3.0",
            found("Tesla V100-PCIE-16GB", "7.0", total="15.78GiB"),
            "tensorflow.python.framework.errors_impl.InternalError: CUDA runtime implicit initialization on"
            " GPU:0 failed. Status: out of memory",
            "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory"
            " reported: 16945512448",
        ),
        "cuDevicePrimaryCtxRetain",
    ),
    Fires(
        "gpu-memory-held",
        "a T4 with 400 MB left",
        log(
            "2.8.0",
            created("Tesla T4", "7.5", 400),
            "| 0%   41C    P0    27W /  70W |  14520MiB / 15109MiB |      0%      Default |",
            "|    0   N/A  N/A     20931      C   /opt/conda/bin/python           14117MiB |",
            "W tensorflow/core/kernels/conv_ops.cc failed: RESOURCE_EXHAUSTED",
        ),
        "with 400 MB memory",
    ),
    # --- model-oom
    Fires(
        "model-oom",
        "a batch that is too large",
        log(
            "2.4.1", created("GeForce RTX 2080", "7.5", 6680), opened("libcudnn.so.8"), oom("256,128,112,112")
        ),
        "OOM when allocating tensor",
        says=("batch",),
        never=("allow_growth", "set_memory_growth"),
        words=("256,128,112,112",),
    ),
    Fires(
        "model-oom",
        "a title that leaves the shape out",
        "OOM when allocating tensor with shape, with batch_size 1 too, on a Titan X\n",
        "OOM when allocating",
        words=("A tensor did not fit",),
    ),
    Fires(
        "model-oom",
        "XLA's words in 2.15",
        log(
            "2.15.0",
            created("NVIDIA GeForce RTX 3090", "8.6", 22100),
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Out of memory while trying to"
            " allocate 26843545744 bytes. [Op:__inference_train_step]",
        ),
        "Out of memory while trying to allocate",
    ),
    # --- memory-leak
    Fires(
        "memory-leak",
        "the third fold fails",
        "Memory keeps growing: the first folds train, the third fold ends with OOM.\n"
        + log("2.5.0", created("Tesla P100-PCIE-16GB", "6.0", 15224), oom("64,256,56,56")),
        "Memory keeps growing",
        says=("clear_session()", "its own process"),
    ),
    # --- memory-limit-misfit
    Fires(
        "memory-limit-misfit",
        "a tenth of the card in TensorFlow 1",
        log(
            "1.14.0",
            versions("1.14.0"),
            "gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.1)",
            created("GeForce GTX 1080 Ti", "6.1", 1118),
            oom("64,64,112,112"),
        ),
        "per_process_gpu_memory_fraction=0.1",
        says=("tf.ConfigProto()",),
        never=("tf.config.",),
    ),
    Fires(
        "memory-limit-misfit",
        "512 MiB in TensorFlow 2.10",
        log(
            "2.10.0",
            "tf.config.set_logical_device_configuration(gpus[0],"
            " [tf.config.LogicalDeviceConfiguration(memory_limit=512)])",
            created("NVIDIA GeForce RTX 3080", "8.6", 512),
            oom("128,64,64,64"),
        ),
        "memory_limit=512",
        says=("Or raise the limit",),
        never=("ConfigProto",),
    ),
    # --- host-oom
    Fires(
        "host-oom",
        "a data set that does not fit into RAM",
        "x = np.load('train.npy')\nnumpy.core._exceptions.MemoryError: Unable to allocate 37.4 GiB for an"
        " array with shape (50000, 256, 256, 3) and data type float32\n",
        "Unable to allocate 37.4 GiB",
        says=("tf.data",),
    ),
    Fires(
        "host-oom",
        "Slurm ends the job",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=8812.0. Some of your processes may have"
        " been killed by the cgroup out-of-memory handler.\n",
        "oom-kill event(s)",
    ),
    Fires(
        "host-oom",
        "killed, said in Chinese",
        log(
            "2.3.0",
            created("GeForce RTX 2080", "7.5", 6680),
            logged(
                "W",
                "core/framework/cpu_allocator_impl.cc",
                "Allocation of 6442450944 exceeds 10% of free system memory.",
            ),
            "已杀死",
        ),
        "已杀死",
    ),
    Fires(
        "host-oom",
        "Windows has no memory left to load a part of cuDNN",
        "Could not load library cudnn_adv_infer64_8.dll. Error code 1455\nPlease make sure"
        " cudnn_adv_infer64_8.dll is in your library path!\n",
        "Error code 1455",
    ),
    Fires(
        "host-oom",
        "the same in German",
        "OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuführen\n",
        "1455",
    ),
    # --- gpu-config-too-late
    Fires(
        "gpu-config-too-late",
        "memory growth after the first model",
        versions("2.6.0") + "\nRuntimeError: Physical devices cannot be modified after being initialized\n",
        "Physical devices cannot be modified",
        says=("tf.config.list_physical_devices('GPU')", "TF_FORCE_GPU_ALLOW_GROWTH"),
        never=("ConfigProto",),
    ),
    Fires(
        "gpu-config-too-late",
        "virtual devices in 2.1",
        versions("2.1.0") + "\nRuntimeError: Virtual devices cannot be modified after being initialized\n",
        "Virtual devices cannot be modified",
        says=("tf.config.list_physical_devices",),
    ),
    # --- gpu-config-conflict
    Fires(
        "gpu-config-conflict",
        "growth for one of two GPUs",
        versions("2.4.0")
        + "\ntf.config.experimental.set_memory_growth(gpus[0], True)\nValueError: Memory growth cannot differ"
        " between GPU devices\n",
        "Memory growth cannot differ",
        says=("for gpu in",),
    ),
    Fires(
        "gpu-config-conflict",
        "growth and a limit together",
        versions("2.9.0")
        + "\nValueError: Cannot set memory growth on device when virtual devices configured\n",
        "when virtual devices configured",
        words=("exclude each other",),
    ),
    Fires(
        "host-oom",
        "Slurm's words since release 21",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=81723.batch. Some of the step tasks have been"
        " OOM Killed.\n",
        "oom_kill event",
    ),
    Fires(
        "host-oom",
        "LSF's words",
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 1.\n",
        "TERM_MEMLIMIT",
    ),
    Fires(
        "model-oom",
        "a kernel of MLIR's, which says no more than this",
        "ResourceExhaustedError: {{function_node"
        " __wrapped__Mul_device_/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate memory"
        " [Op:Mul]\n",
        "failed to allocate memory",
    ),
    Fires(
        "cudnn-init-oom",
        "a title with only the name of cuBLAS's status, over a log in which every library opens",
        "Windows TensorFlow error: CUBLAS_STATUS_NOT_INITIALIZED\n\n"
        + log(
            "2.1.0",
            opened("cudart64_101.dll"),
            opened("cublas64_10.dll"),
            opened("cudnn64_7.dll"),
            created("GeForce RTX 2070", "7.5", 6700),
            windows=True,
        ),
        "CUBLAS_STATUS_NOT_INITIALIZED",
        says=("set_memory_growth",),
    ),
    Fires(
        "cudnn-init-oom",
        "a bare status of cuSOLVER in a German sentence",
        "Mit TensorFlow 2.4 auf der RTX 2070 kommt beim Training CUSOLVER_STATUS_NOT_INITIALIZED.\n",
        "CUSOLVER_STATUS_NOT_INITIALIZED",
        says=("set_memory_growth",),
    ),
    Fires(
        "disk-full",
        "a checkpoint that does not fit on the disk",
        log(
            "2.12.0",
            created("Tesla T4", "7.5", 13803),
            logged(
                "W",
                "core/framework/op_kernel.cc",
                "OP_REQUIRES failed at save_restore_v2_ops.cc:138 : RESOURCE_EXHAUSTED:"
                " /data/ckpt-12_temp/part-00000; No space left on device",
            ),
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:",
        ),
        "No space left on device",
        says=("df -h", "another disk"),
        never=("batch",),
        words=("GPU memory has nothing to do with it",),
        verify="df -h",
    ),
    Fires(
        "disk-full",
        "a quota, on which pip ends",
        "ERROR: Could not install packages due to an OSError: [Errno 122] Disk quota exceeded\n",
        "Disk quota exceeded",
        says=("TMPDIR",),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "model-oom",
        "a tensor in the host's memory, without the driver",
        "driver-missing",
        log(
            "2.4.1",
            refused("libcuda.so.1"),
            cuinit("UNKNOWN ERROR (303)"),
            "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512,64] and type float",
        ),
    ),
    NearMiss(
        "model-oom",
        "a smaller batch for another reason",
        "undetermined",
        "I reduced the batch size to 16, and my TensorFlow model learns better\n",
    ),
    NearMiss(
        "gpu-hidden",
        "the workers are to see no GPU, and the parent's crashes",
        "ptx-jit-or-kernel-crash",
        "Non-OK-status: GpuLaunchKernel(FillPhiloxRandomKernelLaunch<Distribution>, num_blocks) status:"
        " INTERNAL: an illegal memory access was encountered\ndef _worker():\n   "
        " os.environ['CUDA_VISIBLE_DEVICES'] = ''\nfailed call to cuInit: CUDA_ERROR_NO_DEVICE: no"
        " CUDA-capable device is detected\n",
    ),
    NearMiss(
        "gpu-memory-held",
        "a process that ends of itself",
        "undetermined",
        "训练的进程自己退出了，不知道为什么\n",
    ),
    NearMiss(
        "cudnn-init-oom",
        "the algorithm fails because another cuDNN is loaded",
        "cudnn-version-mismatch",
        log(
            "1.12.0",
            created("GeForce GTX 1080", "6.1", 7439),
            logged(
                "E",
                "stream_executor/cuda/cuda_dnn.cc",
                "Loaded runtime CuDNN library: 7.0.5 but source was compiled with: 7.2.1.  CuDNN library"
                " major and minor version needs to match.",
            ),
            ALGORITHM,
        ),
    ),
    NearMiss(
        "cudnn-init-oom",
        "the handle fails on a card that was full before",
        "gpu-memory-held",
        log(
            "1.10.0",
            found("GeForce GTX 1070", "6.1", total="7.93GiB", free="212.00MiB"),
            created("GeForce GTX 1070", "6.1", 82),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
    ),
    NearMiss(
        "gpu-memory-held",
        "a small pool on a card that is small",
        "cudnn-init-oom",
        log(
            "1.10.0",
            found("GeForce MX150", "6.1", total="2.00GiB", free="1.62GiB"),
            created("GeForce MX150", "6.1", 1391),
            cudnn_failed("CUDNN_STATUS_INTERNAL_ERROR"),
        ),
    ),
    NearMiss(
        "model-oom",
        "the hint that is not a failure",
        "benign-messages",
        log(
            "2.3.0",
            created("GeForce GTX 1050", "6.1", 1334),
            logged(
                "W",
                BFC,
                "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.05GiB with freed_by_count=0."
                " The caller indicates that this is not a failure, but may mean that there could be"
                " performance gains if more memory were available.",
            ),
            "Epoch 2/5",
        ),
    ),
    NearMiss(
        "model-oom",
        "the tensor that does not fit is the CPU's",
        "host-oom",
        "ResourceExhaustedError: OOM when allocating tensor with shape[60000,1024,1024] and type double on"
        " /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n",
    ),
    NearMiss(
        "memory-leak",
        "OOM in the first step",
        "model-oom",
        log("2.5.0", created("Tesla P100-PCIE-16GB", "6.0", 15224), oom("512,256,56,56")),
    ),
    NearMiss(
        "memory-limit-misfit",
        "a handle that fails, cured by a limit, after which the allocator only hints",
        "cudnn-init-oom",
        "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED\ncure:"
        " tf.GPUOptions(per_process_gpu_memory_fraction=0.3)\nnow it only warns: Allocator (GPU_0_bfc) ran"
        " out of memory trying to allocate 512.25MiB. The caller indicates that this is not a failure\n",
    ),
    NearMiss(
        "memory-limit-misfit",
        "a generous limit, and a model that is too large",
        "model-oom",
        log(
            "1.14.0",
            "config.gpu_options.per_process_gpu_memory_fraction = 0.9",
            created("GeForce GTX 1080", "6.1", 7299),
            oom("512,64,224,224"),
        ),
    ),
    NearMiss(
        "host-oom",
        "memory of the GPU runs out",
        "model-oom",
        log(
            "2.7.0",
            created("Tesla T4", "7.5", 13803),
            oom("32,3,2048,2048"),
            "Process finished with exit code 1",
        ),
    ),
    NearMiss(
        "host-oom",
        "a large tensor in RAM is only a hint",
        "benign-messages",
        log(
            "2.7.0",
            created("Tesla T4", "7.5", 13803),
            logged(
                "W",
                "core/framework/cpu_allocator_impl.cc",
                "Allocation of 617472000 exceeds 10% of free system memory.",
            ),
            "Epoch 3/10",
        ),
    ),
    NearMiss(
        "gpu-config-too-late",
        "settings that contradict each other, in time",
        "gpu-config-conflict",
        "ValueError: Memory growth cannot differ between GPU devices\n",
    ),
    NearMiss(
        "gpu-config-conflict",
        "the right settings, too late",
        "gpu-config-too-late",
        "RuntimeError: Visible devices cannot be modified after being initialized\n",
    ),
    NearMiss(
        "gpu-config-conflict",
        "gpus[0] of an empty list",
        "device-not-found",
        form(system="Ubuntu 20.04", tensorflow="2.9.0")
        + "\n    tf.config.experimental.set_memory_growth(gpus[0], True)\nIndexError: list index out of"
        " range\n",
    ),
    NearMiss(
        "cudnn-init-oom",
        "a log in which every library opens, and a sentence that denies the status",
        "healthy",
        "Here it runs without any CUBLAS_STATUS_NOT_INITIALIZED:\n\n"
        + log(
            "2.1.0",
            opened("cudart64_101.dll"),
            opened("cudnn64_7.dll"),
            created("GeForce RTX 2070", "7.5", 6700),
            windows=True,
        ),
    ),
    NearMiss(
        "ptx-jit-or-kernel-crash",
        "a status of CUDA that somebody asks about in case it occurs",
        "healthy",
        "What would I do if CUDA_ERROR_ILLEGAL_ADDRESS occurs?\n\n"
        + log("2.1.0", opened("libcudnn.so.7"), created("Tesla V100", "7.0", 14000)),
    ),
    NearMiss(
        "model-oom",
        "a full disk has the name of the error for a lack of memory",
        "disk-full",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: /data/ckpt-12_temp/part-00000;"
        " No space left on device [Op:SaveV2]\n",
    ),
    NearMiss(
        "disk-full",
        "GPU memory runs out, and so did shared memory for a worker",
        "model-oom",
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1f2e'\n" + oom("64,512,512") + "\n",
    ),
)
