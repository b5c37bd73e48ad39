# ruff: noqa
# mypy: ignore-errors
# The Python under examination (3.6 or later) runs this script, which reports what TensorFlow itself does.
# Each stage prints one JSON object between cookies as soon as it has finished, so that after a crash or a
# hang it is known how far the script got. argv[1] is the cookie.
import json
import os
import sys
import time
import traceback

COOKIE = sys.argv[1]
sys.path[:] = [entry for entry in sys.path if entry]  # not the current folder: its files may shadow modules


def say(stage, **answer):
    answer["stage"] = stage
    sys.stdout.write(COOKIE + json.dumps(answer, default=str) + COOKIE + "\n")
    sys.stdout.flush()


def mapped():
    """NVIDIA's libraries in this process's memory."""
    stems = ("libcu", "libnv", "libnccl", "libcupti")
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if "/" in line}
    except OSError:
        return []
    return sorted(path for path in paths if os.path.basename(path).startswith(stems) and ".so" in path)


def failed(stage, **more):
    kind, value, _ = sys.exc_info()
    traceback.print_exc()
    sys.stderr.flush()
    say(stage, error="%s: %s" % (kind.__name__, str(value)[:2000]), **more)


say("started", pid=os.getpid())
start = time.time()
try:
    import tensorflow as tf

    say("imported", version=tf.__version__, seconds=round(time.time() - start, 2), file=tf.__file__)
except BaseException:
    failed("import")
    sys.exit(0)

try:
    build = dict(tf.sysconfig.get_build_info())
except Exception:
    build = {}
try:
    say("build", cuda=bool(tf.test.is_built_with_cuda()), info={str(k): str(v) for k, v in build.items()})
except Exception:
    failed("build")


def devices_of_2():
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:  # otherwise TensorFlow takes nearly all memory of a GPU that others may be using
        tf.config.experimental.set_memory_growth(gpu, True)
    details = []
    for gpu in gpus:
        try:
            details.append(tf.config.experimental.get_device_details(gpu))
        except Exception:
            details.append({})
    return [
        {
            "name": gpu.name,
            "device": details[i].get("device_name"),
            "capability": ".".join(map(str, details[i].get("compute_capability") or ())) or None,
        }
        for i, gpu in enumerate(gpus)
    ]


def examine(index, op, expected, compute):
    """Run one operation and report whether all its values equal the expected one. compute: returns the values
    and the name of their device."""
    begin = time.time()
    try:
        values, device = compute()
        right = bool(
            abs(float(values.min()) - expected) < 0.01 and abs(float(values.max()) - expected) < 0.01
        )
        seconds = round(time.time() - begin, 3)
        say("operation", gpu=index, op=op, device=device, right=right, seconds=seconds)
    except BaseException:
        failed("operation", gpu=index, op=op)


def work_of_2(index):
    """Run a matmul and a convolution of ones in TensorFlow 2, because their results are known."""

    def values_of(result):
        return result.numpy(), result.device

    with tf.device("/GPU:%d" % index):
        examine(
            index, "matmul", 64.0, lambda: values_of(tf.linalg.matmul(tf.ones([64, 64]), tf.ones([64, 64])))
        )
        examine(
            index,
            "convolution",
            36.0,
            lambda: values_of(tf.nn.conv2d(tf.ones([1, 16, 16, 4]), tf.ones([3, 3, 4, 8]), 1, "VALID")),
        )
    try:
        say("memory", gpu=index, peak=tf.config.experimental.get_memory_info("GPU:%d" % index)["peak"])
    except Exception:
        pass


def devices_of_1(session):
    found = [device.name for device in session.list_devices() if device.device_type == "GPU"]
    return [{"name": name, "device": None, "capability": None} for name in found]


def work_of_1(session, index):
    v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
    with tf.device("/gpu:%d" % index):
        ones = tf.ones([64, 64])
        product = tf.matmul(ones, ones)
        convolved = v1.nn.conv2d(tf.ones([1, 16, 16, 4]), tf.ones([3, 3, 4, 8]), [1, 1, 1, 1], "VALID")
    examine(index, "matmul", 64.0, lambda: (session.run(product), product.device))
    examine(index, "convolution", 36.0, lambda: (session.run(convolved), convolved.device))


try:
    if int(tf.__version__.split(".")[0]) >= 2:
        found = devices_of_2()
        say("devices", gpus=found)
        for index in range(len(found)):
            work_of_2(index)
    else:
        v1 = tf.compat.v1 if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf
        config = v1.ConfigProto(allow_soft_placement=False)
        config.gpu_options.allow_growth = True
        with v1.Session(config=config) as session:
            found = devices_of_1(session)
            say("devices", gpus=found)
            for index in range(len(found)):
                work_of_1(session, index)
except BaseException:
    failed("devices")
say("mapped", files=mapped())
say("done", seconds=round(time.time() - start, 2))
