"""Cases about the installation of TensorFlow itself."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss
from tests.rules.spelling import (
    created,
    form,
    found,
    log,
    no_cuda_drivers,
    opened,
    refused,
    skipped,
    versions,
)

REDIST = (
    "ImportError: Could not find the DLL(s) 'msvcp140_1.dll'. TensorFlow requires that these DLLs be"
    " installed in a directory that is named in your %PATH% environment variable. You may install these DLLs"
    ' by downloading "Microsoft C++ Redistributable for Visual Studio 2015, 2017 and 2019" for your'
    " platform from this URL:"
    " https://support.microsoft.com/help/2977003/the-latest-supported-visual-c-downloads"
)


def dll(words: str, python: str = "36") -> str:
    """Return the message about a native library that Windows cannot load, in the language of the system."""
    site = (
        f"C:\\Users\\mira\\AppData\\Local\\Programs\\Python\\Python{python}\\lib\\site-packages\\tensorflow"
    )
    return (
        "Traceback (most recent call last):\n"
        f'  File "{site}\\python\\pywrap_tensorflow.py", line 64, in <module>\n'
        "    from tensorflow.python._pywrap_tensorflow_internal import *\n"
        f"ImportError: DLL load failed: {words}\n\n"
        "Failed to load the native TensorFlow runtime.\n"
    )


FIRES = (
    Fires(
        "tf-no-wheel",
        "conda before 4.4 finds no such package",
        "PackageNotFoundError: Package missing in current linux-64 channels:\n  - tensorflow-gpu 1.2.0*",
        "Package missing in current",
    ),
    Fires(
        "python-dependency-conflict",
        "R calls every failed import a missing installation",
        "Error: Valid installation of TensorFlow not found.\n\nPython exception encountered:\n"
        " AssertionError: Duplicate registrations for type 'experimentalOptimizer'\n\nYou can install"
        " TensorFlow using the install_tensorflow() function.\n",
        "Duplicate registrations",
    ),
    Fires(
        "tf-addon-mismatch",
        "an installed package's library for an older TensorFlow",
        "tensorflow.python.framework.errors_impl.NotFoundError: /usr/lib64/python2.7/site-packages/nvidia/"
        "dali/plugin/libdali_tf.so: undefined symbol: _ZN9perftools8gputools6Stream18BlockHostUntilDoneEv\n",
        "libdali_tf.so",
        words=("libdali_tf.so",),
    ),
    Fires(
        "tf-addon-mismatch",
        "a plugin that says so",
        "tensorflow-gpu 1.8.0\nException: No matching DALI plugin found for installed TensorFlow version\n",
        "DALI plugin",
    ),
    Fires(
        "python-dependency-conflict",
        "packages that exclude each other",
        "ERROR: Cannot install -r requirements.txt (line 3) and keras==2.13.1 because these package versions"
        " have conflicting dependencies.\n\nThe conflict is caused by:\n    You want keras==2.13.1\n"
        "    tensorflow 2.10.1 depends on keras<2.11 and >=2.10.0\n",
        "conflicting dependencies",
        words=("keras<2.11",),
    ),
    Fires(
        "gpu-config-conflict",
        "an option that is set on the class",
        "config = tf.compat.v1.ConfigProto\nconfig.gpu_options.allow_growth = True\nAttributeError:"
        " 'google.protobuf.pyext._message.FieldProperty' object has no attribute 'allow_growth'\n",
        "FieldProperty",
        words=("parentheses",),
    ),
    Fires(
        "host-oom",
        "killed at the end of a progress bar",
        "Training on the CPU\n  0%|          | 0/3 [00:00<?, ?b/s]Killed\n",
        "Killed",
    ),
    Fires(
        "tf-import-failed",
        "a wheel for a Python 2 with wide characters",
        "ImportError: /srv/py27/lib/python2.7/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " undefined symbol: PyUnicodeUCS4_FromString\n",
        "PyUnicodeUCS4_FromString",
        says=("Py_UNICODE_SIZE", "that Python's own pip"),
        words=("a different Python", "cp27mu"),
    ),
    Fires(
        "tf-import-failed",
        "a wheel of Python 2 in a Python 3",
        "ImportError: /srv/api/runfiles/org_tensorflow/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " undefined symbol: PyClass_Type\n",
        "PyClass_Type",
        words=("PyClass_Type is a symbol of Python itself",),
    ),
    Fires(
        "tf-import-failed",
        "a file system that runs no programs",
        "ImportError:"
        " /mnt/scratch/venv/lib/python3.11/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so:"
        " failed to map segment from shared object\n",
        "failed to map segment",
        says=("findmnt -T /mnt/scratch", "ulimit -v"),
        words=("noexec",),
    ),
    Fires(
        "tf-import-failed",
        "TensorFlow's own library is not there",
        "ImportError: /usr/lib/python3/dist-packages/tensorflow/python/_pywrap_tensorflow_internal.so: cannot"
        " open shared object file: No such file or directory\n",
        "cannot open shared object file",
        says=("--force-reinstall",),
    ),
    Fires(
        "tf-cpu-only",
        "its own word against what is known of the release",
        "TensorFlow version: 2.16.1\nIs GPU available? []\nBuilt with CUDA?: False\n",
        "Built with CUDA",
    ),
    Fires(
        "tf-conflicting-packages",
        "a package that fetched the CPU build",
        "Since I installed your toolbox my network runs on the CPU only.\n"
        "You had tensorflow-gpu, and our setup.py drags in `tensorflow`, which is for the CPU.\n",
        "drags in",
        says=("uninstall -y tensorflow",),
    ),
    # --- tf-not-installed
    Fires(
        "tf-import-failed",
        "a package that lacks its own parts",
        '  File "/home/mira/tf/lib/python3.8/site-packages/tensorflow/__init__.py", line 41, in <module>\n '
        "   from tensorflow.python.tools import module_util as _module_util\nModuleNotFoundError: No module"
        " named 'tensorflow.python'\n",
        "No module named 'tensorflow.python'",
        says=("--force-reinstall",),
    ),
    Fires(
        "python-dependency-conflict",
        "a type of NumPy that TensorFlow's bindings do not know",
        '  File "train.py", line 1, in <module>\n    import tensorflow as tf\nTypeError: Unable to convert'
        " function return value to a Python type! The signature was\n\t() -> handle\n",
        "Unable to convert function return value",
    ),
    Fires(
        "tf-not-installed",
        "another Python runs the program",
        '$ python3 train.py\nTraceback (most recent call last):\n  File "train.py", line 1, in'
        " <module>\nModuleNotFoundError: No module named 'tensorflow'\n",
        "No module named 'tensorflow'",
        says=("sys.executable",),
        verify="tf.__version__",
    ),
    Fires(
        "tf-not-installed",
        "on Windows, where the CUDA extra has no wheels",
        form(system="Windows 11", tensorflow="", python="3.11")
        + "\nModuleNotFoundError: No module named 'tensorflow'\n",
        "No module named 'tensorflow'",
        says=("-m pip install",),
        never=("and-cuda",),
        verify="python -c",
    ),
    Fires(
        "tf-not-installed",
        "pip breaks off on Windows over long paths",
        "pip install tensorflow\nERROR: Could not install packages due to an OSError: [Errno 2] No such file"
        " or directory:"
        " 'C:\\\\Users\\\\mira\\\\AppData\\\\Roaming\\\\Python\\\\Python39\\\\site-packages\\\\tensorflow\\\\"
        "include\\\\external\\\\dlpack.h'\nHINT:"
        " This error might have occurred since this system does not have Windows Long Path support"
        " enabled.\n",
        "Long Path",
        says=("LongPathsEnabled", "install"),
        words=("260",),
    ),
    Fires(
        "tf-not-installed",
        "a shell that takes the brackets for a pattern",
        "% pip install tensorflow[and-cuda]\nzsh: no matches found: tensorflow[and-cuda]\n",
        "no matches found",
        words=("quotes",),
    ),
    Fires(
        "tf-import-failed",
        "a file of that name, recognised by its content",
        "ModuleNotFoundError: No module named 'tensorflow.keras'; 'tensorflow' is not a package\n",
        "is not a package",
        says=("Rename",),
    ),
    Fires(
        "tf-import-failed",
        "no room for thread-local variables of a library of the system",
        "Jetson Xavier NX, JetPack 4.6\nimport cv2\nimport tensorflow as tf\n"
        "ImportError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block\n",
        "static TLS",
        says=("Import TensorFlow (or the package that contains this library)",),
        never=("LD_PRELOAD",),
    ),
    Fires(
        "tf-import-failed",
        "no room for thread-local variables of a library of the environment",
        "import cv2\nimport tensorflow as tf\nImportError: /home/eva/tf/lib/python3.8/site-packages/"
        "scikit_learn.libs/libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block\n",
        "static TLS",
        says=(
            "LD_PRELOAD=/home/eva/tf/lib/python3.8/site-packages/scikit_learn.libs/libgomp-d22c30c5.so.1.0.0",
        ),
    ),
    Fires(
        "tf-conflicting-packages",
        "a folder without its files",
        "ImportError: cannot import name 'tf2' from 'tensorflow.python' (unknown location)\n",
        "unknown location",
    ),
    Fires(
        "tf-conflicting-packages",
        "both, in Korean",
        "tensorflow와 tensorflow-gpu를 둘 다 설치했는데 GPU를 안 씁니다\n",
        "둘 다",
    ),
    Fires(
        "python-dependency-conflict",
        "generated code newer than the protobuf that is there",
        "import tensorflow as tf\nTypeError: __init__() got an unexpected keyword argument"
        " 'serialized_options'\n",
        "serialized_options",
        says=("protobuf",),
    ),
    Fires(
        "tf-cpu-only",
        "an update that changed the build, in a sentence",
        "After conda update my GPU is no longer used: it replaced tensorflow, from the GPU build to the mkl"
        " one\n",
        "to the mkl",
    ),
    Fires(
        "tf-cpu-only",
        "the wrong build, in Japanese",
        "GPUが使われないと思ったら、CPU版がインストールされていました(tensorflow)\n",
        "CPU版",
    ),
    Fires(
        "tf-import-failed",
        "a runtime of Windows that is missing, in Chinese",
        "import tensorflow 报错 msvcp140_1.dll缺失\n",
        "msvcp140",
    ),
    Fires(
        "tf-import-failed",
        "Apple's plugin for a newer macOS",
        "tensorflow.python.framework.errors_impl.NotFoundError:"
        " dlopen(/Users/mira/venv/lib/python3.8/site-packages/tensorflow-plugins/libmetal_plugin.dylib, 6):"
        " Symbol not found: _OBJC_CLASS_$_MPSGraphCompilationDescriptor\n",
        "libmetal_plugin",
    ),
    Fires(
        "python-dependency-conflict",
        "an older NumPy that helped",
        "import tensorflow as tf failed for me, downgrading numpy to 1.26.4 fixed it\n",
        "downgrading numpy",
    ),
    Fires(
        "tf-cpu-only",
        "a card that no release serves: nothing is taken away",
        "01:00.0 VGA compatible controller: NVIDIA Corporation GF114 [GeForce GTX 560"
        " Ti]\ntf.test.is_built_with_cuda() False\nNo GPU found\n",
        "is_built_with_cuda() False",
        says=("No TensorFlow release",),
        never=("uninstall",),
    ),
    Fires(
        "tf-gpu-package-removed",
        "pip finds no tensorflow-gpu of any release, and nothing else explains it",
        "$ pip install tensorflow-gpu\nERROR: Could not find a version that satisfies the requirement"
        " tensorflow-gpu (from versions: none)\nERROR: No matching distribution found for tensorflow-gpu\n",
        "from versions: none",
    ),
    # --- tf-no-wheel
    Fires(
        "tf-no-wheel",
        "conda, which finds no build for the Python that is there",
        "UnsatisfiableError: The following specifications were found\nto be incompatible with the existing"
        " python installation in your environment:\n\nSpecifications:\n\n  - tensorflow-gpu ->"
        " python[version='3.5.*|3.6.*|3.7.*']\n\nYour python: python=3.10\n",
        "tensorflow-gpu -> python",
    ),
    Fires(
        "tf-no-wheel",
        "an environment file of another platform",
        "ResolvePackageNotFound:\n  - cudnn=7.6.5=cuda10.1_0\n  - tensorflow-gpu=2.1.0=h0d30ee6_0\n",
        "ResolvePackageNotFound",
    ),
    Fires(
        "tf-no-wheel",
        "mamba's words",
        "nothing provides it: package tensorflow-2.4.1-gpu_py37h requires python >=3.7,<3.8.0a0\n",
        "requires python",
    ),
    Fires(
        "tf-no-wheel",
        "Python 3.14",
        "Python 3.14.0\n$ pip install tensorflow\nERROR: Could not find a version that satisfies the"
        " requirement tensorflow (from versions: none)\nERROR: No matching distribution found for"
        " tensorflow\n",
        "Could not find a version that satisfies",
        says=("uv venv --python 3.1",),
        words=("3.14",),
    ),
    Fires(
        "tf-no-wheel",
        "an old pip, an old release and a newer Python",
        "Python 3.9.2\n$ pip install tensorflow==1.15.0\nERROR: Could not find a version that satisfies the"
        " requirement tensorflow==1.15.0 (from versions: 2.5.0, 2.5.1)\n",
        "tensorflow==1.15.0 (from versions",
        says=("conda create -y -n tf-gpu python=3.7", "tensorflow==1.15.0"),  # uv has no such old Python
        words=("3.9",),
    ),
    Fires(
        "tf-no-wheel",
        "pip's list reveals the Python that nobody stated",
        "ERROR: Could not find a version that satisfies the requirement tensorflow==2.4.0 (from versions:"
        " 2.8.0rc0, 2.8.0rc1, 2.8.0, 2.8.1, 2.8.2, 2.8.3, 2.8.4, 2.9.0rc0, 2.9.0rc1, 2.9.0rc2, 2.9.0, 2.9.1,"
        " 2.9.2, 2.9.3, 2.10.0rc0, 2.10.0)\n",
        "tensorflow==2.4.0 (from versions",
        says=("uv venv --python 3.8", "tensorflow==2.4.0"),
        words=(
            "the releases with wheels for Python 3.10",
            "2.4.0 is not among them: it has wheels for Python 3.6, 3.7, 3.8",
        ),
    ),
    Fires(
        "tf-no-wheel",
        "a list of pip's that was cut",
        "ERROR: Could not find a version that satisfies the requirement tensorflow==2.4.0 (from versions:"
        " 2.8.0, 2.9.3, 2.1\n",
        "tensorflow==2.4.0 (from versions",
        words=("pip lists tensorflow 2.8.0 to 2.9.3 here. TensorFlow 2.4.0",),
    ),
    Fires(
        "tf-no-wheel",
        "a release that has a wheel for this Python, and pip sees none at all",
        "Ubuntu 20.04, Python 3.8.10, pip 18.1\nERROR: Could not find a version that satisfies the"
        " requirement tensorflow==2.9.0 (from versions: none)\n",
        "tensorflow==2.9.0 (from versions",
        says=("install --upgrade pip", "pip config list"),
        words=("has a wheel for Python 3.8 on linux-x86_64",),
    ),
    Fires(
        "tf-no-wheel",
        "Apple silicon, which nobody named, and a release from before its wheels",
        "macOS 13.2, Python 3.9.6\nERROR: Could not find a version that satisfies the requirement"
        " tensorflow==2.9.0 (from versions: none)\n",
        "tensorflow==2.9.0 (from versions",
        says=("tensorflow==2.13.1",),
        words=("2.13.0 is the first release with wheels",),
    ),
    Fires(
        "tf-no-wheel",
        "a Python for Intel on a Mac, and a release without wheels for it",
        "error: Distribution `tensorflow==2.19.0 @ registry+https://index.example/simple` can't be installed"
        " because it doesn't have a source distribution or wheel for the current platform\nhint: You're on"
        " macOS (`macosx_14_0_x86_64`), but `tensorflow` (v2.19.0) only has wheels for the following"
        " platforms: `manylinux_2_17_x86_64`, `macosx_12_0_arm64`, `win_amd64`\n",
        "can't be installed because",
        says=("tensorflow==2.16.2", "the Python is an Intel build that Rosetta translates"),
        never=("tensorflow-gpu",),
        words=("has no wheel for macos-x86_64; 2.16.2 is the newest",),
    ),
    Fires(
        "tf-no-wheel",
        "32-bit Python on Windows",
        "Python 3.7.0 (v3.7.0:1bf9cc5093, Jun 27 2018, 04:06:47) [MSC v.1914 32 bit (Intel)] on"
        " win32\nC:\\Users\\mira> pip install tensorflow\nCould not find a version that satisfies the"
        " requirement tensorflow (from versions: )\n",
        "Could not find a version",
        says=("64-bit Python",),
    ),
    Fires(
        "tf-no-wheel",
        "uv and its own words",
        "$ uv pip install tensorflow==2.18.0 --python 3.13\n  × No solution found when resolving"
        " dependencies:\n  ╰─▶ Because tensorflow==2.18.0 has no wheels with a matching Python ABI tag (e.g.,"
        " `cp313`), we can conclude that tensorflow==2.18.0 cannot be used.\n",
        "has no wheels with a matching",
    ),
    Fires(
        "tf-no-wheel",
        "the address of a wheel that was never put there",
        "$ pip install --upgrade"
        " https://storage.googleapis.com/tensorflow/mac/cpu/tensorflow-1.2.0-cp37-cp37m-"
        "macosx_10_11_x86_64.whl\n"
        "  HTTP error 404 while getting"
        " https://storage.googleapis.com/tensorflow/mac/cpu/tensorflow-1.2.0-cp37-cp37m-"
        "macosx_10_11_x86_64.whl\n",
        "HTTP error 404",
        words=("a wheel that does not exist",),
    ),
    # --- tf-gpu-package-removed
    Fires(
        "tf-gpu-package-removed",
        "the stub and its message",
        "$ pip install tensorflow-gpu\nCollecting tensorflow-gpu\n  Downloading tensorflow-gpu-2.12.0.tar.gz"
        ' (2.6 kB)\n  error: subprocess-exited-with-error\n      The "tensorflow-gpu" package has been'
        ' removed! Please install "tensorflow" instead.\n',
        "has been removed!",
        says=("tensorflow[and-cuda]",),
        never=("install tensorflow-gpu", "'tensorflow-gpu"),
    ),
    Fires(
        "tf-gpu-package-removed",
        "the stub on Windows, which dies in setuptools",
        "C:\\Users\\mira> pip install tensorflow-gpu\n  Using cached tensorflow-gpu-2.12.0.tar.gz (2.6 kB)\n "
        " setuptools.extern.packaging.requirements.InvalidRequirement: Expected end or semicolon (after name"
        ' and no valid version specifier)\n    python_version>"3.7"\n',
        'python_version>"3.7"',
        says=("tensorflow==2.10.1", "conda create"),
        never=("and-cuda",),
    ),
    Fires(
        "tf-gpu-package-removed",
        "pip builds it from source, which only the stub has",
        "Collecting tensorflow-gpu\n  Preparing metadata (setup.py): started\n  Building wheel for"
        " tensorflow-gpu (setup.py): finished with status 'error'\n",
        "finished with status 'error'",
    ),
    # --- tf-cpu-only
    Fires(
        "tf-cpu-only",
        "conda's mkl build",
        "(base) $ conda list | grep tensorflow\ntensorflow                2.4.1          "
        " mkl_py38hb2083e0_0\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "mkl_py38hb2083e0_0",
        verify="is_built_with_cuda",
    ),
    Fires(
        "tf-cpu-only",
        "the package tensorflow of 1.14 on Linux",
        ">>> import tensorflow as tf\n>>> tf.__version__\n'1.14.0'\n>>>"
        " tf.test.is_built_with_cuda()\nFalse\n",
        "is_built_with_cuda",
        never=("pip install tensorflow==1.14",),
    ),
    Fires(
        "tf-cpu-only",
        "tensorflow-cpu beside a wish for the GPU",
        "$ pip list\ntensorflow-cpu            2.11.0\n>>>"
        " tf.config.list_physical_devices('GPU')\n[]\nTensorFlow does not use my GPU.\n",
        "tensorflow-cpu            2.11.0",
        # 2.11 may run in Python 3.7 or 3.8, for which the recommended release has no wheel
        says=("uv venv",),
    ),
    Fires(
        "tf-cpu-only",
        "conda's build, quoted in a sentence",
        "conda gave me tensorflow 2.9.1 mkl_py39hc9ebea8_0 and the GPU is not used at all\n",
        "mkl_py39",
    ),
    # --- tf-windows-native
    Fires(
        "tf-windows-native",
        "2.15 on Windows and an empty list",
        form(system="Windows 11", tensorflow="2.15.0", python="3.10", cuda="12.2 / 8.9", gpu="RTX 4060")
        + "\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "TensorFlow version",
        says=("wsl --install -d Ubuntu", "Start Ubuntu", "tensorflow==2.10.1", "cudatoolkit=11.2 cudnn=8.1"),
        verify="tf-gpu/bin/python",
    ),
    Fires(
        "tf-windows-native",
        "2.20 says it itself",
        "2025-08-20 10:00:00.000001: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2342] TensorFlow GPU"
        " support is not available on native Windows for TensorFlow >= 2.11. Even if CUDA/cuDNN are"
        " installed, GPU will not be used. Please use WSL2 or the TensorFlow-DirectML plugin.\n",
        "GPU support is not available on native Windows",
        says=("wsl --install",),
    ),
    Fires(
        "tf-windows-native",
        "the package that the Windows wheels come as, and no release named",
        "pip install tensorflow only ever brings me tensorflow-intel, and my GTX 1660 is not detected\n",
        "tensorflow-intel",
    ),
    # --- tf-conflicting-packages
    Fires(
        "tf-conflicting-packages",
        "tensorflow and tensorflow-gpu in one environment",
        "$ pip list | grep -i tensorflow\ntensorflow                2.3.1\ntensorflow-gpu           "
        " 2.3.0\n>>> tf.config.list_physical_devices('GPU')\n[]\n",
        "tensorflow-gpu            2.3.0",
        says=("uninstall -y tensorflow tensorflow-gpu",),
    ),
    Fires(
        "tf-conflicting-packages",
        "a hollow folder",
        "$ pip uninstall tensorflow-gpu\n>>> import tensorflow as tf\n>>> tf.__version__\nAttributeError:"
        " module 'tensorflow' has no attribute '__version__'\n",
        "has no attribute '__version__'",
    ),
    # --- tf-import-failed
    Fires(
        "tf-import-failed",
        "the Visual C++ runtime is missing",
        form(system="Windows 10", tensorflow="2.1.0", python="3.7") + "\n" + REDIST + "\n",
        "msvcp140_1.dll",
        says=("VCRedist",),
        verify="tf.__version__",
    ),
    Fires(
        "tf-import-failed",
        "in German",
        dll("Das angegebene Modul wurde nicht gefunden."),
        "DLL load failed",
        says=("VCRedist",),
    ),
    Fires(
        "tf-import-failed",
        "in Chinese, brackets of full width",
        dll("动态链接库（DLL）初始化例程失败。", "37"),
        "DLL load failed",
        says=("VCRedist",),
    ),
    Fires(
        "tf-import-failed",
        "in Spanish",
        dll("No se puede encontrar el módulo especificado.", "38"),
        "DLL load failed",
    ),
    Fires(
        "tf-import-failed",
        "glibc of CentOS 7",
        "ImportError: /lib64/libm.so.6: version `GLIBC_2.27' not found (required by"
        " /home/mira/env/lib/python3.9/site-packages/tensorflow/python/_pywrap_tensorflow_internal.so)\n",
        "GLIBC_2.27",
        words=("GLIBC_2.27",),
        says=("newer distribution",),
    ),
    Fires(
        "tf-import-failed",
        "a file of one's own called tensorflow.py",
        '  File "/home/mira/work/tensorflow.py", line 1, in <module>\n    import tensorflow as'
        " tf\nAttributeError: partially initialized module 'tensorflow' has no attribute 'constant' (most"
        " likely due to a circular import)\n",
        "most likely due to a circular import",
        says=("Rename",),
    ),
    Fires(
        "tf-import-failed",
        "the last line alone, as releases for Python 3.5 end",
        "Windows 7, pip install tensorflow==1.4\nModuleNotFoundError: No module named"
        " '_pywrap_tensorflow_internal'\n",
        "No module named",
        says=("VCRedist",),
    ),
    Fires(
        "tf-import-failed",
        "a traceback that is cut before its last line",
        ">>> import tensorflow\nTraceback (most recent call last):\n  File"
        ' "D:\\py35\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow_internal.py", line 18, in'
        " swig_import_helper\n    return importlib.import_mod",
        "swig_import_helper",
    ),
    Fires(
        "tf-import-failed",
        "the runtime's file named in the reporter's order of words",
        "- OS: Windows 10\nimport tensorflow fails on the new PC, MSVCP140.dll was missing there\n",
        "MSVCP140.dll was missing",
    ),
    # --- cpu-no-avx
    Fires(
        "cpu-no-avx",
        "a virtual machine that hides AVX",
        "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your"
        " machine.\nAborted (core dumped)\n",
        "compiled to use AVX instructions",
        says=("/proc/cpuinfo",),
    ),
    Fires(
        "cpu-no-avx",
        "an illegal instruction by its Windows number, after which the import looks elsewhere",
        '  File "C:\\Python36\\lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow_internal.py", line'
        " 24, in swig_import_helper\nImportError: DLL load failed with error code"
        " -1073741795\nModuleNotFoundError: No module named 'tensorflow'\n",
        "-1073741795",
    ),
    Fires(
        "cpu-no-avx",
        "an illegal instruction, in Chinese",
        "$ python3 -c 'import tensorflow'\n非法指令 (核心已转储)\n",
        "非法指令",
    ),
    Fires(
        "cpu-no-avx",
        "an illegal instruction, in German",
        "$ python3 -c 'import tensorflow'\nUngültiger Maschinenbefehl (Speicherabzug geschrieben)\n",
        "Ungültiger Maschinenbefehl",
    ),
    Fires(
        "cpu-no-avx",
        "the reporter's own suspicion",
        "Pentium G4400, Windows 10\nsomeone says that AVX support is needed\n" + dll("DLL load failed"),
        "AVX support is needed",
        words=("instruction set",),
    ),
    # --- python-dependency-conflict
    Fires(
        "python-dependency-conflict",
        "NumPy 2 under TensorFlow 2.16",
        versions("2.16.1", "3.11.8")
        + "\nA module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.1 as it may"
        " crash.\nAttributeError: _ARRAY_API not found\n",
        "_ARRAY_API not found",
        says=("numpy<2",),
    ),
    Fires(
        "python-dependency-conflict",
        "protobuf 4 under TensorFlow 2.8",
        versions("2.8.0", "3.9.7") + "\nTypeError: Descriptors cannot not be created directly.\n",
        "Descriptors cannot not be created directly",
        says=("protobuf",),
    ),
    Fires(
        "python-dependency-conflict",
        "h5py 3 under TensorFlow 1.15",
        versions("1.15.0", "3.7.9")
        + "\n    original_keras_version = f.attrs['keras_version'].decode('utf8')\nAttributeError: 'str'"
        " object has no attribute 'decode'\n",
        "'str' object has no attribute 'decode'",
        says=("h5py<3",),
    ),
    # --- tf-api-version
    Fires(
        "tf-api-version",
        "code of TensorFlow 1 under 2.4",
        versions("2.4.0") + "\nAttributeError: module 'tensorflow' has no attribute 'ConfigProto'\n",
        "has no attribute 'ConfigProto'",
        says=("tensorflow.compat.v1", "set_memory_growth"),
    ),
    Fires(
        "tf-api-version",
        "contrib is gone",
        versions("2.9.0") + "\nModuleNotFoundError: No module named 'tensorflow.contrib'\n",
        "tensorflow.contrib",
    ),
    Fires(
        "tf-api-version",
        "code of TensorFlow 2 under 1.12",
        versions("1.12.0") + "\nAttributeError: module 'tensorflow' has no attribute 'GradientTape2'\n",
        "GradientTape2",
        never=("compat.v1",),
        words=("1.12.0",),
    ),
    Fires(
        "tf-api-version",
        "a placeholder, and the release that somebody installed as a workaround",
        "AttributeError: module 'tensorflow' has no attribute 'placeholder'\n\n"
        "I got around it with `pip install tensorflow==1.15.2`\n",
        "has no attribute 'placeholder'",
        says=("sys.executable",),
        words=("loads TensorFlow 2",),
    ),
    Fires(
        "tf-api-version",
        "contrib is missing beside a stated release of TensorFlow 1",
        "tensorflow-gpu 1.14.0, Python 3.8\nAttributeError: module 'tensorflow' has no attribute 'contrib'\n",
        "has no attribute 'contrib'",
        says=("sys.executable", "1.15.5"),
        words=("loads TensorFlow 2",),
    ),
    Fires(
        "tf-api-version",
        "a missing name in a Spanish sentence",
        "Con TensorFlow 2.3 el script dice que el módulo tensorflow no tiene ningún atributo ConfigProto.\n",
        "atributo ConfigProto",
        says=("tensorflow.compat.v1", "set_memory_growth"),
    ),
    Fires(
        "tf-api-version",
        "a missing name in a Korean sentence",
        "TensorFlow 2.4에서 tf.contrib 를 쓰면 그런 속성이 없다고 나옵니다.\n",
        "속성이 없다고",
        says=("tf_slim",),
    ),
    Fires(
        "tf-addon-mismatch",
        "an op that looks for TensorFlow's library under its old name",
        "    module = tf.load_op_library('./roi_pooling.so')\n"
        "tensorflow.python.framework.errors_impl.NotFoundError: libtensorflow_framework.so: cannot open"
        " shared object file: No such file or directory\n",
        "NotFoundError",
        says=("get_compile_flags",),
        words=("1.4 to 1.13",),
    ),
)

NEAR_MISSES = (
    NearMiss(
        "tf-import-failed",
        "a symbol that only begins as Python's do",
        "tf-conflicting-packages",
        "ImportError: /srv/lib/python3.8/site-packages/tensorflow/python/_pywrap_tfe.so: undefined symbol:"
        " PythonTensorHandle\n",
    ),
    NearMiss(
        "tf-import-failed",
        "another program's library that cannot be mapped",
        "undetermined",
        "ImportError: /mnt/scratch/lib/libavcodec.so.58: failed to map segment from shared object\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "a switch to the GPU package",
        "undetermined",
        "We switched from the CPU build to tensorflow-gpu last week. How do I draw the loss of a TensorFlow"
        " model?\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "another number of Windows: a DLL's start-up failed",
        "tf-import-failed",
        "import tensorflow as tf\nImportError: DLL load failed with error code -1073741502\n",
    ),
    NearMiss(
        "tf-no-wheel",
        "a Python that is too new for something else",
        "undetermined",
        "python版本太新了，我的爬虫跑不了\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "no code for a new card is not no code for any",
        "gpu-arch-too-new",
        versions("2.20.0")
        + "\nWARNING: TensorFlow was not built with CUDA kernel binaries compatible with compute capability"
        " 12.0. CUDA kernels will be jit-compiled from PTX\n",
    ),
    NearMiss(
        "python-dependency-conflict",
        "an older NumPy that somebody has",
        "undetermined",
        "import tensorflow works, and I have numpy 1.26.4. Should I downgrade it?\n",
    ),
    NearMiss(
        "tf-windows-native",
        "a release and Windows in one sentence",
        "undetermined",
        "Ich habe TensorFlow 2.11 unter Windows, und wie speichert man ein Modell?\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "a change from one GPU build to another",
        "undetermined",
        "After conda update my GPU works, and tensorflow went from the GPU build of 2.4 to the GPU build of"
        " 2.5\n",
    ),
    NearMiss(
        "tf-not-installed",
        "the same brackets in quotes",
        "undetermined",
        "% pip install 'tensorflow[and-cuda]'\nzsh: no matches found: data/*.csv\n",
    ),
    NearMiss(
        "tf-import-failed",
        "a folder that is no package of a user's own",
        "undetermined",
        "ModuleNotFoundError: No module named 'tools.data'; 'tools' is not a package\n",
    ),
    NearMiss(
        "tf-import-failed",
        "no memory at all, and no thread-local variables",
        "host-oom",
        "OSError: [Errno 12] Cannot allocate memory\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "a name that this release does not have",
        "tf-api-version",
        versions("2.9.0")
        + "\nImportError: cannot import name 'multi_gpu_model' from 'tensorflow.keras.utils'"
        " (/opt/venv/lib/python3.9/site-packages/keras/api/__init__.py)\n",
    ),
    NearMiss(
        "tf-conflicting-packages",
        "a reader who asks which of the two to take",
        "undetermined",
        "tensorflow和tensorflow-gpu有什么区别？\n",
    ),
    NearMiss(
        "tf-windows-native",
        "the same package in a list, where nobody asks for a GPU",
        "undetermined",
        "Successfully installed tensorflow-intel and 30 others, the notebook runs, how do I plot the loss?\n",
    ),
    NearMiss(
        "tf-import-failed",
        "the same traceback, whose last line names a CUDA library",
        "cuda-missing",
        "Traceback (most recent call last):\n  File"
        ' "/opt/py36/lib/python3.6/site-packages/tensorflow/python/pywrap_tensorflow_internal.py", line 24,'
        " in swig_import_helper\n    _mod = imp.load_module('_pywrap_tensorflow_internal', fp, pathname,"
        " description)\nImportError: libcublas.so.9.0: cannot open shared object file: No such file or"
        " directory\n",
    ),
    NearMiss(
        "tf-not-installed",
        "a module inside TensorFlow that this release no longer has",
        "tf-api-version",
        versions("2.3.0") + "\nModuleNotFoundError: No module named 'tensorflow.contrib'\n",
    ),
    NearMiss(
        "tf-no-wheel",
        "pip finds no tensorflow-gpu 2.15: that package has ended",
        "tf-gpu-package-removed",
        "Python 3.10.12\nERROR: Could not find a version that satisfies the requirement"
        " tensorflow-gpu==2.15.0 (from versions: 2.8.0, 2.11.0, 2.12.0)\nERROR: No matching distribution"
        " found for tensorflow-gpu==2.15.0\n",
    ),
    NearMiss(
        "tf-gpu-package-removed",
        "pip finds no tensorflow-gpu for a Python for which there was one: the platform or a 32-bit Python",
        "tf-no-wheel",
        "Python 3.8.10 on macOS\nERROR: Could not find a version that satisfies the requirement"
        " tensorflow-gpu (from versions: none)\n",
    ),
    NearMiss(
        "tf-gpu-package-removed",
        "tensorflow-gpu 1.15 for a Python that it has no wheel for",
        "tf-no-wheel",
        "Python 3.8.10\nERROR: Could not find a version that satisfies the requirement tensorflow-gpu==1.15.0"
        " (from versions: 2.2.0, 2.3.0)\n",
    ),
    NearMiss(
        "tf-cpu-only",
        "a GPU build whose libraries do not open",
        "cuda-missing",
        log(
            "2.13.0",
            "tensorflow-cpu was what I had before.",
            versions("2.13.0"),
            no_cuda_drivers,
            found("Tesla T4", "7.5"),
            skipped,
        ),
    ),
    NearMiss(
        "tf-cpu-only",
        "conda's gpu build that works",
        "healthy",
        "tensorflow                2.4.1           gpu_py38h8a7d6ce_0\n"
        + log("2.4.1", opened("libcudnn.so.8"), created("Tesla T4", "7.5", 13803)),
    ),
    NearMiss(
        "tf-windows-native",
        "2.10 on Windows, where the GPU is supported",
        "cuda-missing",
        log(
            "2.10.0",
            form(system="Windows 11", tensorflow="2.10.0", python="3.9", gpu="RTX 3060"),
            opened("nvcuda.dll"),
            refused("cudart64_110.dll"),
            skipped,
            windows=True,
        ),
    ),
    NearMiss(
        "tf-windows-native",
        "2.15 in WSL2 on Windows 11",
        "cuda-missing",
        log(
            "2.15.0",
            "Windows 11 with WSL2, Ubuntu 22.04 inside",
            "5.15.133.1-microsoft-standard-WSL2",
            versions("2.15.0"),
            no_cuda_drivers,
            found("NVIDIA RTX A2000", "8.6"),
            skipped,
        ),
    ),
    NearMiss(
        "tf-conflicting-packages",
        "tensorflow and tensorflow-estimator are one family",
        "cuda-missing",
        "tensorflow                2.4.1\ntensorflow-estimator      2.4.0\n"
        + log(
            "2.4.1",
            opened("libcuda.so.1"),
            found("Tesla T4", "7.5"),
            refused("libcudart.so.11.0", "libcudnn.so.8"),
            skipped,
        ),
    ),
    NearMiss(
        "tf-import-failed",
        "the import fails for want of a CUDA library",
        "cuda-missing",
        versions("1.5.0", "3.6.4")
        + "\nImportError: libcublas.so.9.0: cannot open shared object file: No such file or directory\nFailed"
        " to load the native TensorFlow runtime.\n",
    ),
    NearMiss(
        "cpu-no-avx",
        "AVX2 is there and not used: a notice",
        "healthy",
        log(
            "2.1.0",
            "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
            created("Tesla T4", "7.5", 14221),
        ),
    ),
    NearMiss(
        "python-dependency-conflict",
        "an attribute of tensorflow, not of NumPy, is missing",
        "tf-api-version",
        versions("2.5.0") + "\nAttributeError: module 'tensorflow' has no attribute 'placeholder'\n",
    ),
    NearMiss(
        "tf-api-version",
        "an attribute that every release has: the package is hollow",
        "tf-conflicting-packages",
        "AttributeError: module 'tensorflow' has no attribute 'constant'\n",
    ),
    NearMiss(
        "tf-api-version",
        "a placeholder of a package that has no version either",
        "tf-conflicting-packages",
        "AttributeError: module 'tensorflow' has no attribute '__version__'\n"
        "AttributeError: module 'tensorflow' has no attribute 'placeholder'\n",
    ),
    NearMiss(
        "tf-api-version",
        "an attribute that a placeholder has",
        "undetermined",
        "In TensorFlow 2.3 hat jeder placeholder ein Attribut shape. Das ist kein Fehler, oder?\n",
    ),
    NearMiss(
        "tf-addon-mismatch",
        "the import itself, which does not find TensorFlow's library",
        "tf-import-failed",
        "ImportError: libtensorflow_framework.so.2: cannot open shared object file: No such file or"
        " directory\n",
    ),
)
