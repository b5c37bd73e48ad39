# ruff: noqa
# mypy: ignore-errors
# Lets TensorFlow allocate its memory, waits for a line on stdin, and runs a convolution, for which cuDNN must
# create its handle. This script is appended to _guard.py. argv: cookie, lines of Python that configure
# TensorFlow.
import traceback

CONFIGURE = sys.argv[2]
try:
    import tensorflow as tf

    say("imported", version=tf.__version__)
    exec(CONFIGURE)
    if not tf.config.list_physical_devices("GPU"):
        say("failed", error="TensorFlow lists no GPU")
        os._exit(1)
    with tf.device("/GPU:0"):
        # create cuBLAS's handle now, so that only cuDNN can lack memory later
        say("started", device=tf.matmul(tf.ones([256, 256]), tf.ones([256, 256])).device)
    heard()
    images, filters = tf.ones([4, 32, 32, 8]), tf.ones([3, 3, 8, 16])
    begin = time.time()
    with tf.device("/GPU:0"):
        result = tf.nn.conv2d(images, filters, 1, "SAME")
        result.numpy()
    say("passed", device=result.device, seconds=time.time() - begin)
except BaseException as error:
    traceback.print_exc()
    sys.stderr.flush()
    say("failed", error="%s: %s" % (type(error).__name__, str(error)[:2000]))
sys.stdout.flush()
os._exit(0)
