#!/bin/sh
# Collect what tfgpu-doctor needs to explain why TensorFlow does not use this machine's GPU, on a machine without a
# Python that can run tfgpu-doctor. Any /bin/sh works. The script changes nothing, needs no administrator rights and no
# network, and prints a report:
#   sh collect.sh > report.txt          then, elsewhere: tfgpu-doctor explain report.txt
# Set PYTHON to the Python that has TensorFlow (default: python3 or python). TensorFlow runs for at most a minute to list
# the GPUs, and the report contains what it prints. Set ROOT to a folder to read that folder instead of /.
# Read the report before you pass it on: it contains the environment variables and paths that are listed below.
LC_ALL=C
export LC_ALL
root=${ROOT:-}

# Print a command as a person would type it, then its output.
show() {
    echo "\$ $*"
    if command -v "$1" >/dev/null 2>&1; then
        "$@" 2>&1 </dev/null
    else
        echo "sh: $1: command not found"
    fi
    echo
}

# Print the first lines of a file if it exists.
file() {
    if [ -r "$root$1" ]; then
        echo "\$ cat $1"
        head -n "${2:-20}" "$root$1" 2>&1
        echo
    fi
}

# Run a command for at most the given number of seconds; without timeout(1), a background process ends it.
limited() {
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then
        timeout "$seconds" "$@" </dev/null 2>&1
        return
    fi
    "$@" </dev/null 2>&1 &
    child=$!
    (
        sleep "$seconds"
        kill "$child"
    ) >/dev/null 2>&1 &
    watcher=$!
    wait "$child"
    kill "$watcher" 2>/dev/null
}

# Print the display controllers on the PCI bus in the format of lspci -nn, which is not installed everywhere.
gpus() {
    [ -d "$root/sys/bus/pci/devices" ] || return
    echo '$ lspci -nnk'
    none=unknown
    for device in "$root"/sys/bus/pci/devices/*; do
        [ -r "$device/class" ] && [ -r "$device/vendor" ] || continue
        read -r class <"$device/class"
        read -r vendor <"$device/vendor"
        read -r number <"$device/device"
        [ "$none" != unknown ] || none=yes
        case $class in
            0x0300*) kind='VGA compatible controller [0300]' ;;
            0x0302*) kind='3D controller [0302]' ;;
            0x0380*) kind='Display controller [0380]' ;;
            *) continue ;;
        esac
        case $vendor in
            0x10de) maker='NVIDIA Corporation Device' none=no ;;
            0x1002) maker='Advanced Micro Devices, Inc. [AMD/ATI] Device' ;;
            0x8086) maker='Intel Corporation Device' ;;
            *) maker='Device' ;;
        esac
        echo "${device##*/} $kind: $maker [${vendor#0x}:${number#0x}]"
        driver=$(readlink "$device/driver" 2>/dev/null)
        [ -z "$driver" ] || echo "	Kernel driver in use: ${driver##*/}"
    done
    echo
    if [ "$none" = yes ] && [ ! -e "$root/dev/dxg" ]; then # in WSL the GPU is /dev/dxg, not on the bus
        echo 'lspci | grep -i nvidia shows nothing'
        echo
    fi
}

# Print what TensorFlow itself reports: its release, the GPUs that it finds, and its messages.
tensorflow() {
    python=${PYTHON:-}
    for name in python3 python; do
        [ -n "$python" ] || ! command -v "$name" >/dev/null 2>&1 || python=$name
    done
    if [ -z "$python" ]; then
        echo '$ python3 --version'
        echo 'sh: python3: command not found'
        echo
        return
    fi
    echo "\$ $python --version"
    limited 20 "$python" --version
    echo
    echo "\$ $python -m pip list"
    limited 30 "$python" -m pip list 2>/dev/null |
        grep -i -E '^(tensorflow|tf-|tf_|nvidia-|keras|numpy|protobuf|jax|torch|cuda)'
    echo
    echo "\$ $python gpus.py"
    limited 60 "$python" -c '
import tensorflow as tf
print("TensorFlow version: " + tf.__version__)
try:
    print("Built with CUDA: " + str(tf.test.is_built_with_cuda()))
    found = getattr(tf.config, "list_physical_devices", None) or tf.config.experimental.list_physical_devices
    print("tf.config.list_physical_devices(\"GPU\")")
    print(found("GPU"))
except AttributeError:
    from tensorflow.python.client import device_lib
    print(device_lib.list_local_devices())
'
    echo
}

echo '# Collected for tfgpu-doctor explain'
echo
show uname -srm
file /etc/os-release 4
file /proc/driver/nvidia/version
gpus
show nvidia-smi
if [ -d "$root/proc/driver/nvidia" ] || [ -e "$root/dev/nvidiactl" ]; then
    echo '$ ls -l /dev/nvidia*'
    ls -l "$root"/dev/nvidia* 2>&1
    echo
fi
if command -v ldconfig >/dev/null 2>&1 && [ -z "$root" ]; then
    echo '$ ldconfig -p | grep -E "libcu|libnv|nccl|nvidia"'
    ldconfig -p 2>/dev/null | grep -E 'libcu(da|dart|dnn|blas|fft|rand|solver|sparse)|libnvidia-ml|libnccl'
    echo
fi
for name in CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES LD_LIBRARY_PATH CUDA_HOME XLA_FLAGS TF_FORCE_GPU_ALLOW_GROWTH; do
    eval "value=\${$name-}; is=\${$name+set}"
    [ -z "$is" ] || echo "$name=$value"
done
tensorflow
