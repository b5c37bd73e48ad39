"""Reports from the issue trackers of programs that are built on TensorFlow, whose users seldom know how
TensorFlow works."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import created, cuinit, log, opened, refused, skipped

NOT_FOUND = "tensorflow.python.framework.errors_impl.NotFoundError: "

PIP = "ERROR: Could not find a version that satisfies the requirement "
UP_TO_1_14 = (
    "0.12.1, 1.0.0, 1.0.1, 1.1.0, 1.2.0, 1.2.1, 1.3.0, 1.4.0, 1.4.1, 1.5.0, 1.5.1, 1.6.0, 1.7.0, 1.7.1,"
    " 1.8.0, 1.9.0, 1.10.0, 1.10.1, 1.11.0, 1.12.0, 1.12.2, 1.12.3, 1.13.1, 1.13.2, 1.14.0"
)
ON_INTEL_MACS = (
    "2.8.0, 2.8.1, 2.8.2, 2.8.3, 2.8.4, 2.9.0, 2.9.1, 2.9.2, 2.9.3, 2.10.0, 2.10.1, 2.11.0, 2.11.1, 2.12.0,"
    " 2.12.1, 2.13.0, 2.13.1, 2.14.0, 2.14.1, 2.15.0, 2.15.1, 2.16.1, 2.16.2"
)

IDLE = log("2.7.0", created("GeForce RTX 2070", "7.5", 6000))
ADDON = (
    "Error: The specified module could not be"
    " found.\n\\\\?\\C:\\app\\node_modules\\@tensorflow\\tfjs-node-gpu\\lib\\napi-v8\\tfjs_binding.node\n"
)

FIRES = (
    Fires(
        "host-oom",
        "a server that fills the memory until it is killed, which its heading calls the GPU's",
        "# gpu is out of memory\nThe server takes all the memory, nearly 40GB, and is killed at last.\n",
        "is killed at last",
    ),
    Fires(
        "model-oom",
        "no room for a single number",
        "ResourceExhaustedError: OOM when allocating tensor of shape [] and type float\n\t [[{{node stddev}}"
        " = Const[dtype=DT_FLOAT]()]]\n",
        "OOM when allocating tensor of shape []",
        says=("nvidia-smi",),
    ),
    Fires(
        "tf-not-installed",
        "R, which finds none in any of the Pythons",
        "> tf$constant(1)\nError: Valid installation of TensorFlow not found.\n\nPython environments searched"
        " for 'tensorflow' package:\n /usr/bin/python3.6\n",
        "installation of TensorFlow not found",
    ),
    Fires(
        "driver-libcuda-missing",
        "what Nix built, which searches no folder of the system",
        '$ nix-shell -p "python3.withPackages (p: [p.tensorflowWithCuda])"\n'
        + log("2.4.0", refused("libcuda.so.1"), cuinit("UNKNOWN ERROR (303)")),
        "nix-shell",
        says=("/run/opengl-driver/lib", "nixglhost"),
        never=("ubuntu-drivers", "ldconfig"),
    ),
    Fires(
        "undetermined",
        "a GPU of low use, with nothing that fails",
        "Training is slow. watch nvidia-smi says that GPU-Util is only 10%, and all cores of the CPU are"
        " busy.\n",
        "GPU-Util",
        says=("prefetch",),
    ),
    Fires(
        "undetermined",
        "the same in Chinese",
        "训练很慢，发现GPU的利用率不超过30%，CPU占满\n",
        "利用率",
        says=("prefetch",),
    ),
    Fires(
        "cuda-missing",
        "an image that Singularity runs, of a release with an official image",
        "$ singularity exec --nv mine.sif python3 train.py\ntensorflow==2.9.1\n"
        + log("2.9.1", refused("libcudart.so.11.0"), skipped),
        "libcudart.so.11.0",
        says=("singularity exec --nv docker://tensorflow/tensorflow:2.9.1-gpu",),
        never=("docker run",),
    ),
    Fires(
        "tf-cpu-only",
        "Node's package for the CPU",
        "const tf = require('@tensorflow/tfjs-node')\n\nIt only uses the CPU on my machine with an RTX"
        " 3060.\n",
        "tfjs-node",
        says=("npm install @tensorflow/tfjs-node-gpu",),
        never=("pip",),
        verify="nvidia-smi",
    ),
    Fires(
        "tf-cpu-only",
        "Java's artifact for the CPU",
        "implementation 'org.tensorflow:tensorflow-core-platform:0.4.1'\nThe GPU is not used.\n",
        "tensorflow-core-platform",
        says=("tensorflow-core-platform-gpu",),
    ),
    Fires(
        "healthy",
        "a GPU that is registered and has little to do, on Windows",
        f"C:\\Users\\me>python train.py\nThe GPU stays idle, says the Task Manager.\n{IDLE}",
        "stays idle",
        says=("Cuda or Compute", "utilization.gpu", "prefetch"),
        words=("the program is usually the reason",),
    ),
    Fires(
        "healthy",
        "a GPU that is registered, and nobody complains about it",
        IDLE,
        "Created device",
        never=("prefetch",),
        words=("registered a GPU",),
    ),
    Fires(
        "tf-import-failed",
        "Node finds no library beside the addon",
        ADDON,
        "could not be found",
        says=("tensorflow.dll", 'npm rebuild "@tensorflow/tfjs-node-gpu"'),
        never=("pip install", "VCRedist"),
        verify="node -e",
    ),
    Fires(
        "cuda-missing",
        "a library of CUDA 7.5 that Julia's package wants",
        'julia> Pkg.build("TensorFlow")\nlibcudart.so.7.5: cannot open shared object file: No such file or'
        " directory\n",
        "libcudart.so.7.5",
        says=("CUDA 7.5",),
        never=("uv ", "pip "),
        verify="nvidia-smi",
    ),
    Fires(
        "cudnn-init-oom",
        "C# in place of Python",
        "ConfigProto options = new ConfigProto();\nFailed to create cublas handle:"
        " CUBLAS_STATUS_ALLOC_FAILED\n",
        "CUBLAS_STATUS_ALLOC_FAILED",
        says=("TF_FORCE_GPU_ALLOW_GROWTH",),
        never=("import tensorflow",),
        verify="nvidia-smi",
    ),
    Fires(
        "tf-cpu-only",
        "the package of .NET for the CPU",
        "With SciSharp.TensorFlow.Redist I get the CPU version of TensorFlow, and no GPU is seen.\n",
        "CPU version",
        says=("SciSharp.TensorFlow.Redist-Windows-GPU",),
        never=("pip",),
    ),
    Fires(
        "cuda-missing",
        "R, which runs Python's TensorFlow",
        "> library(keras)\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0:"
        " cannot open shared object file: No such file or directory\n",
        "libcudart.so.11.0",
        says=("pip install",),
    ),
    Fires(
        "tf-no-wheel",
        "a pip that does not know the names of newer wheels",
        f"{PIP}tensorflow==1.15.0 (from versions: {UP_TO_1_14})\n",
        "tensorflow==1.15.0",
        says=("install --upgrade pip", "install tensorflow==1.15.0"),
        never=("create", "uv "),
        words=("manylinux2010", "this pip is older"),
    ),
    Fires(
        "tf-no-wheel",
        "a list that ends where Intel Macs do, though the Python has newer wheels elsewhere",
        f"{PIP}tensorflow==2.18.0 (from versions: {ON_INTEL_MACS})\n",
        "tensorflow==2.18.0",
        says=("tensorflow==2.16.2",),
        never=("and-cuda",),
        words=("Python 3.10 on Intel Macs", "2.16.2 is the newest"),
    ),
    Fires(
        "tf-addon-mismatch",
        "an op compiled with C++'s old strings",
        f"{NOT_FOUND}/home/eva/net/ops/roi_align.so: undefined symbol:"
        " _ZN10tensorflow12OpDefBuilder4AttrESs\n",
        "roi_align.so",
        says=("get_compile_flags", "without -D_GLIBCXX_USE_CXX11_ABI=0"),
        never=("--force-reinstall",),
        words=("old C++ string ABI",),
        verify="load_op_library('./roi_align.so')",
    ),
    Fires(
        "tf-addon-mismatch",
        "an op compiled with C++'s new strings",
        f"{NOT_FOUND}./knn.so: undefined symbol:"
        " _ZN10tensorflow12OpDefBuilder5InputENSt7__cxx1112basic_stringIcEE\n",
        "knn.so",
        says=("with -D_GLIBCXX_USE_CXX11_ABI=0",),
        words=("new C++ string ABI",),
    ),
    Fires(
        "tf-addon-mismatch",
        "an op that the nvcc of a newer CUDA compiled, in a folder that a project keeps them in",
        f"tensorflow-gpu==1.14.0\n{NOT_FOUND}/home/eva/net/_cudacache/upfirdn_2d.so: undefined symbol:"
        " __cudaPopCallConfiguration\n",
        "upfirdn_2d.so",
        says=("delete the folder _cudacache", "CUDA 10.0"),
        words=("nvcc of one CUDA",),
    ),
    Fires(
        "tf-addon-mismatch",
        "an op of another release",
        f"TensorFlow version: 1.4.0\n{NOT_FOUND}ops/crf.so: undefined symbol: _ZTIN10tensorflow8OpKernelE\n",
        "crf.so",
        says=("get_include",),
        never=("get_compile_flags",),
    ),
    Fires(
        "nccl-failure",
        "Horovod on two GPUs, which says already what NCCL does",
        "# two GPUs hang\n\nhorovodrun -np 2 -x NCCL_DEBUG=INFO python train.py\n",
        "two GPUs hang",
        says=("NCCL_SOCKET_IFNAME", "NCCL_P2P_DISABLE"),
        never=("MirroredStrategy", "NCCL_DEBUG=INFO"),
        verify="horovodrun",
    ),
    Fires(
        "nccl-failure",
        "TensorFlow's own strategy on two GPUs",
        "Training on two GPUs hangs with TensorFlow 2.12.\n",
        "two GPUs hangs",
        says=("NCCL_DEBUG=INFO", "HierarchicalCopyAllReduce"),
        verify="all_reduce",
    ),
    Fires(
        "gpu-hidden",
        "a script that is shown no GPU, where nothing tells of the driver's versions",
        "The machine has one Quadro P4000.\n"
        + log("1.12.0", cuinit("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")),
        "CUDA_ERROR_NO_DEVICE",
        words=("the machine has a GPU",),
    ),
    Fires(
        "cuda-version-mismatch",
        "a nightly build by its date, on the reporter's own Windows after days on Colab",
        "Until now this ran on colab.\nI have an RTX 3070 and CUDA 11.1. The environment has tf-nightly-gpu"
        " '2.5.0-dev20210112', as tensorflow 2.0 knows no such card.\n"
        + log("2.4.0", refused("cusolver64_10.dll"), opened("cusparse64_11.dll", "cudnn64_8.dll"), skipped),
        "Could not load dynamic library",
        never=("restart the runtime", "wsl"),
        words=("CUDA 11.1 is installed",),
    ),
    Fires(
        "memory-leak",
        "a search that needs more and more RAM",
        "Each trial of the search uses more and more RAM, and after a night the machine has to be switched"
        " off.\n",
        "more and more RAM",
        verify="free -m",
    ),
    Fires(
        "memory-leak",
        "RAM that is not given back",
        "The RAM of one model is not given back before the next one starts.\n",
        "given back",
    ),
    Fires(
        "memory-leak",
        "so much more for every epoch",
        "It consumes about 300 MB more every epoch on my laptop with Keras.\n",
        "every epoch",
    ),
    Fires(
        "memory-leak",
        "a title on RAM",
        "# RAM usage increases during the search\n\nThe tuner of Keras has run for an hour.\n",
        "RAM usage",
    ),
    Fires(
        "host-oom",
        "a title that names the script",
        "# convert_model.py killed\n\nIt loads a model of 2 GB on my board.\n",
        "killed",
    ),
    Fires(
        "host-oom",
        "a process that is getting killed",
        "While the second epoch runs, the process is getting killed. No message at all.\n",
        "getting killed",
    ),
    Fires(
        "tf-windows-native",
        "the highest release for Windows",
        "On Windows the tensorflow for the GPU must not be newer than 2.10, it took me a day to learn"
        " that.\n",
        "newer than 2.10",
    ),
    Fires(
        "tf-conflicting-packages",
        "a dependency beside the package for the GPU",
        "The setup of the plugin downloads tensorflow when tensorflow-gpu is there already, and then it runs"
        " on the CPU.\n",
        "downloads tensorflow",
    ),
    Fires(
        "cudnn-version-mismatch",
        "a mismatch that somebody names",
        "The wrapper loads on the GPU, and then there is a cuDNN mismatch in its log.\n",
        "cuDNN mismatch",
    ),
    Fires(
        "container-no-gpu",
        "docker run, and the driver's library in the reporter's words",
        "docker run -it tensorflow/tensorflow:0.12.0-gpu bash\nthe demo ends with something like \"can't open"
        ' CUDA library libcuda.so" and so on\n',
        "libcuda.so",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "driver-libcuda-missing",
        "a driver that is not there in a Nix shell either",
        "driver-missing",
        "$ nix-shell\n$ nvidia-smi\nnvidia-smi: command not found\n"
        + log("2.4.0", refused("libcuda.so.1"), cuinit("UNKNOWN ERROR (303)")),
    ),
    NearMiss(
        "tf-cpu-only",
        "Node's package for the GPU beside the other",
        "undetermined",
        "npm uninstall @tensorflow/tfjs-node\nnpm install @tensorflow/tfjs-node-gpu\n\nThe GPU is not"
        " used.\n",
    ),
    NearMiss(
        "model-oom",
        "what it has nothing to do with",
        "undetermined",
        "Training on the GPU stops after a minute without a word. It has nothing to do with OOM, the batch is"
        " tiny.\n",
    ),
    NearMiss(
        "model-oom",
        "what it is not",
        "undetermined",
        "The training on the GPU stops, and it is not an OOM: half of the memory is free.\n",
    ),
    NearMiss(
        "memory-leak",
        "a need that does not grow",
        "undetermined",
        "The model takes 300 MB of the GPU for each process that I start.\n",
    ),
    NearMiss(
        "host-oom",
        "a script that its author ended",
        "undetermined",
        "The GPU was idle, so I had train_all.py killed by me after an hour.\n",
    ),
)
