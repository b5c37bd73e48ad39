"""Statements about what was wrong or what helped, like answers in a thread: one or two sentences without a
log."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import cuinit, log

FIRES = (
    Fires(
        "cuda-version-mismatch",
        "two releases in one breath",
        "On my box was CUDA 9.2, TF 1.8 needs 9.0. Thanks all!\n",
        "CUDA 9.2",
    ),
    Fires(
        "cuda-version-mismatch",
        "what is wanted first",
        "tensorflow 2.0 wants CUDA 10.0, but the cluster has 10.1 only\n",
        "wants CUDA",
    ),
    Fires(
        "cuda-version-mismatch",
        "another CUDA in its place",
        "I removed CUDA 10.2 and installed 10.1 for the GPU.\n",
        "removed CUDA",
    ),
    Fires(
        "cuda-version-mismatch",
        "a wheel that is asked for",
        "Has anybody a wheel that is compiled against CUDA 9.1?\n",
        "compiled against",
    ),
    Fires(
        "cuda-version-mismatch",
        "a title that names both",
        "# ImportError with CUDA 9.2\n\nTensorFlow version: 1.7.0\nCUDA/cuDNN version: 9.2 / 7.1\n",
        "# ImportError",
    ),
    Fires(
        "cudnn-version-mismatch",
        "compiled with another",
        "my cuDNN was 7.1, the wheel is compiled with 7.4\n",
        "compiled with",
    ),
    Fires(
        "library-path",
        "the variable that was not set",
        "LD_LIBRARY_PATH wasn't set in that service. Now the GPU does its work.\n",
        "wasn't set",
    ),
    Fires("library-path", "ldconfig", "A plain `sudo ldconfig` fixed it here\n", "ldconfig"),
    Fires(
        "library-path",
        "Windows' list of folders",
        "I put the bin folder of CUDA to my Path, and that solved it\n",
        "bin folder",
    ),
    Fires(
        "library-path",
        "files that are there and are not found",
        "The dlls are in a folder that the path has, but they are not found by tensorflow\n",
        "The dlls",
    ),
    Fires(
        "library-path",
        "one shell and another",
        "It works in the terminal, but not in Spyder: ImportError libcublas.so.9.0 : cannot open shared"
        " object file\n",
        "not in Spyder",
    ),
    Fires(
        "library-broken",
        "a DLL that cuDNN asks for",
        "With cuDNN 8.4 one has to install zlibwapi.dll too.\n",
        "zlibwapi",
    ),
    Fires(
        "tf-windows-native",
        "the last release",
        "As 2.10 was the last version with a GPU on Windows, I stay with it\n",
        "last version",
    ),
    Fires("driver-too-old", "two branches", "The driver was 396, tensorflow needs 410 or more\n", "was 396"),
    Fires(
        "driver-missing",
        "a driver that was forgotten",
        "Stupid, I forgot to install the NVIDIA driver on the new machine\n",
        "I forgot",
    ),
    Fires(
        "gpu-hidden",
        "a variable that was taken away",
        "I removed CUDA_VISIBLE_DEVICES from ~/.bashrc and it works\n",
        "I removed",
    ),
    Fires(
        "gpu-arch-too-new", "code that is asked for", "Which release brings kernels for sm_120?\n", "sm_120"
    ),
    Fires(
        "container-no-gpu",
        "a flag that was forgotten",
        "I forgot `--gpus all`, sorry for the noise\n",
        "I forgot",
    ),
    Fires(
        "container-no-gpu",
        "the container and the host",
        "Inside the container it prints False, on the host it prints True, so the GPU is there\n",
        "Inside",
    ),
    Fires(
        "gpu-absent", "another maker's card", "This laptop has only an AMD Radeon RX 5500M\n", "AMD Radeon"
    ),
    Fires(
        "tf-cpu-only",
        "the wrong one of two",
        "I installed tensorflow instead of tensorflow-gpu, no wonder\n",
        "instead of",
    ),
    Fires(
        "tf-conflicting-packages",
        "both of them",
        "I had both the CPU and the GPU version installed.\n",
        "both the CPU",
    ),
    Fires(
        "tf-no-wheel",
        "a Python that is too new",
        "Python 3.9 is not supported by tensorflow 2.3\n",
        "not supported",
    ),
    Fires(
        "tf-gpu-package-removed",
        "a name that went",
        "tensorflow-gpu was removed in December 2022\n",
        "was removed",
    ),
    Fires(
        "tf-import-failed",
        "a script of that name",
        "my own script was called tensorflow.py, so it imported itself\n",
        "called tensorflow.py",
    ),
    Fires(
        "python-dependency-conflict",
        "a pin that helped",
        "after that I did pip install protobuf==3.20.3 and it works\n",
        "protobuf",
    ),
    Fires("tf-api-version", "a name that is gone", "tf.placeholder was removed in 2.0\n", "tf.placeholder"),
    Fires(
        "cudnn-init-oom",
        "growth that helped",
        "Setting allow_growth solved it on my RTX 2060 as well\n",
        "allow_growth",
    ),
    Fires(
        "gpu-memory-held",
        "a notebook that was left open",
        "an old notebook still held nearly all memory of the GPU\n",
        "old notebook",
    ),
    Fires("memory-leak", "a loop", "It seems that model.fit in a loop leaks memory\n", "leaks memory"),
    Fires(
        "memory-limit-misfit",
        "a share in words",
        "gpu_memory_fraction was 0.2, with 0.8 there is no OOM\n",
        "was 0.2",
    ),
    Fires(
        "gpu-config-conflict",
        "one GPU of several",
        "turn on memory growth for every GPU, not only for the first\n",
        "every GPU",
    ),
    Fires(
        "op-no-gpu-kernel",
        "soft placement",
        "with allow_soft_placement=True it works\n",
        "allow_soft_placement",
    ),
    Fires(
        "op-no-gpu-kernel",
        "an op without a kernel",
        "that operation has no GPU kernel yet\n",
        "has no GPU kernel",
    ),
    Fires("device-not-found", "one GPU only", "/gpu:1 cannot be there, I have only one GPU\n", "/gpu:1"),
    Fires("xla-toolchain-missing", "a tool off the path", "ptxas was not on my PATH\n", "ptxas"),
    Fires(
        "known-release-bug",
        "a release and the next",
        "That is a bug in TF 2.3.0, fixed since 2.3.1\n",
        "a bug in",
    ),
    Fires(
        "cuda-version-mismatch",
        "a move to another CUDA",
        "Went from 9.2 and downgraded to CUDA==9.0. It works now.\n",
        "downgraded to",
    ),
    Fires(
        "library-path",
        "a folder that was not on the list",
        "The cuDNN folder isn't in PATH, so it cannot be used\n",
        "isn't in PATH",
    ),
    Fires(
        "library-path",
        "pip's libraries, release unknown",
        "After pip install 'tensorflow[and-cuda]' it can't find my GPU\n",
        "and-cuda",
    ),
    Fires(
        "driver-too-old",
        "what the driver serves",
        "The driver supports CUDA 11.4 only, and your TensorFlow wants 12.2\n",
        "supports CUDA",
    ),
    Fires(
        "container-no-gpu",
        "the runtime of all containers",
        "You have to make nvidia the default runtime in daemon.json\n",
        "default runtime",
    ),
    Fires(
        "gpu-absent",
        "a card without CUDA",
        "It has an Intel UHD 620, which doesn't support CUDA at all\n",
        "Intel UHD",
    ),
    Fires(
        "nccl-failure", "the firmware's setting", "With MirroredStrategy I had to disable IOMMU\n", "IOMMU"
    ),
    Fires(
        "tf-conflicting-packages",
        "one over the other",
        "that requirement overwrites tensorflow-gpu, which had found the GPU\n",
        "overwrites",
    ),
    Fires(
        "tf-cpu-only",
        "what the solver took",
        "conda picked the CPU build of tensorflow and not the GPU build\n",
        "picked the CPU build",
    ),
    Fires(
        "model-oom",
        "a question about size",
        "My network runs out of GPU memory: a smaller network or a bigger GPU?\n",
        "smaller network",
    ),
    Fires(
        "memory-leak", "folds", "In cross validation I run out of memory with the third\n", "cross validation"
    ),
    Fires("memory-leak", "memory that stays", "GPU memory isn't freed until Python ends\n", "isn't freed"),
    Fires("gpu-memory-held", "somebody else", "Somebody else is using all the GPU memory\n", "Somebody else"),
    Fires(
        "cudnn-init-oom",
        "growth in code",
        "The convolution works for me with tf.config.experimental.set_memory_growth(g[0], True)\n",
        "set_memory_growth",
    ),
    Fires(
        "tf-windows-native",
        "since when",
        "TF does not support the GPU on native Windows since 2.11\n",
        "since 2.11",
    ),
    Fires(
        "cuda-version-mismatch",
        "a major alone",
        "TensorFlow version: 1.12.0\nCUDA/cuDNN version: 10\n\nMy tensorflow-gpu stopped working\n",
        "CUDA/cuDNN version: 10",
    ),
    Fires(
        "cuda-version-mismatch",
        "a release for a CUDA",
        "Solved, I installed the release that works with CUDA 9.0\n",
        "works with",
    ),
    Fires(
        "cuda-version-mismatch",
        "one that failed and another",
        "I tried CUDA 11.2 and got errors; CUDA 11.0 is what TF 2.4 runs with\n",
        "I tried",
    ),
    Fires(
        "library-path",
        "a variable to look at",
        "I forgot that LD_LIBRARY_PATH has to contain the CUDA folder\n",
        "I forgot",
    ),
    Fires(
        "tf-cpu-only",
        "advice on the package",
        "You have to use the tensorflow-gpu package, not the regular tensorflow\n",
        "not the regular",
    ),
    Fires(
        "gpu-memory-held",
        "a kernel to end",
        "Restart the kernel of the other notebook, that gives the GPU's memory back\n",
        "Restart",
    ),
)

NEAR_MISSES = (
    NearMiss(
        "library-path",
        "what was tried and did not help",
        "cudnn-missing",
        "TensorFlow 2.10 on Ubuntu. I ran sudo ldconfig and libcudnn.so.8 is not found, it doesn't"
        " work.\nCould not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared"
        " object file: No such file or directory\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the release that is wanted is there",
        "undetermined",
        "I have CUDA 9.0 and TF 1.8 needs 9.0, so why is that?\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "one CUDA in place of the same",
        "undetermined",
        "I removed CUDA 10.1 and installed 10.1 again\n",
    ),
    NearMiss(
        "cuda-version-mismatch",
        "the pair of a title goes together",
        "undetermined",
        "# ImportError with CUDA 9.0\n\nTensorFlow version: 1.7.0\n",
    ),
    NearMiss(
        "cudnn-version-mismatch",
        "the same twice",
        "undetermined",
        "TF 1.4 requires cuDNN 6 and I have 6 installed\n",
    ),
    NearMiss(
        "library-path", "a variable that is set", "undetermined", "LD_LIBRARY_PATH is set as the guide says\n"
    ),
    NearMiss(
        "driver-too-old",
        "a driver that is new enough",
        "undetermined",
        "The driver is 470, tensorflow needs 450 or more\n",
    ),
    NearMiss(
        "gpu-arch-too-old",
        "capability enough",
        "undetermined",
        "The card has compute capability 6.1 and tensorflow needs 3.5 at least\n",
    ),
    NearMiss(
        "gpu-hidden",
        "a variable that did not help",
        "undetermined",
        "I removed CUDA_VISIBLE_DEVICES from ~/.bashrc, to no avail\n",
    ),
    NearMiss(
        "gpu-absent",
        "another maker's processor",
        "undetermined",
        "This laptop has only an Intel Core i5 of 2015\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "one of two",
        "tf-cpu-only",
        "I installed tensorflow instead of tensorflow-gpu, no wonder\n",
    ),
    NearMiss(
        "cudnn-init-oom",
        "growth beside a driver's failure",
        "gpu-bad-state",
        log("2.4.0", cuinit("CUDA_ERROR_UNKNOWN", "unknown error"))
        + "memory_growth helped nobody so far, it worked last week\n",
    ),
    NearMiss(
        "gpu-memory-held", "memory that nobody holds", "undetermined", "the notebook uses little memory\n"
    ),
    NearMiss(
        "device-not-found",
        "two of them",
        "undetermined",
        "/gpu:1 is the one that I use, the other is for the screen\n",
    ),
    NearMiss(
        "known-release-bug",
        "no release named",
        "undetermined",
        "That is a bug in your script, fixed it for you\n",
    ),
    NearMiss(
        "tf-gpu-package-removed", "taken off by its owner", "undetermined", "So I removed tensorflow-gpu\n"
    ),
    NearMiss(
        "driver-too-old",
        "the same CUDA",
        "undetermined",
        "The driver supports CUDA 12.4 only, and you use 12.2\n",
    ),
    NearMiss(
        "driver-too-old", "back to an older driver", "undetermined", "I replaced nvidia-410 by nvidia-390\n"
    ),
    NearMiss(
        "memory-leak", "memory that is given back", "undetermined", "GPU memory is freed when Python ends\n"
    ),
    NearMiss("model-oom", "smaller without memory", "undetermined", "A smaller model is slower on my GPU\n"),
    NearMiss("tf-cpu-only", "a build that is right", "undetermined", "conda picks the right build\n"),
    NearMiss(
        "cuda-version-mismatch",
        "a major alone that fits",
        "undetermined",
        "TensorFlow version: 1.14.0\nCUDA/cuDNN version: 10\n\ntensorflow-gpu doesn't work\n",
    ),
    NearMiss(
        "cuda-missing",
        "an installation that is done",
        "undetermined",
        "I have installed CUDA 9.0 from NVIDIA's site\n",
    ),
    NearMiss(
        "gpu-arch-too-new",
        "a CUDA that serves the series",
        "undetermined",
        "CUDA 11 can serve the 30 series\n",
    ),
    NearMiss(
        "gpu-memory-held",
        "a kernel of another kind",
        "undetermined",
        "Restart the computer to take the new kernel of Linux\n",
    ),
    NearMiss(
        "cudnn-init-oom",
        "growth that works, and nothing that it cured",
        "undetermined",
        "Memory growth works here, but I want a hard limit on my GPU\n",
    ),
    NearMiss(
        "gpu-memory-held", "somebody who looks", "undetermined", "Somebody of the GPU group will see to it\n"
    ),
    NearMiss(
        "cuda-missing",
        "what a build needs",
        "undetermined",
        "Do I need to install CUDA to build it from source?\n",
    ),
)
