# ruff: noqa
# mypy: ignore-errors
# Times operations. This file is appended to doctor/subprocesses/_guard.py. argv: the cookie, "tensorflow" or
# "numpy", and the plan as JSON: {"matmul": [sizes], "convolution": [sizes], "repeats": N, "seconds": S,
# "budget": S, "growth": code}
import traceback

PLAN = json.loads(sys.argv[3])
BATCH, CHANNELS, FILTER = 8, 16, 3
CLOCK = time.perf_counter
BEGIN = CLOCK()


def flop(op, size):
    """Return the number of floating-point operations, counting a multiplication and an addition for each
    product."""
    if op == "matmul":
        return 2 * size**3
    return 2 * BATCH * size * size * CHANNELS * CHANNELS * FILTER * FILTER


def timed(call):
    """Return the time that a call takes, in seconds."""
    begin = CLOCK()
    call()
    return CLOCK() - begin


def measure(op, size, device, transfer, call):
    """Time the first call (with allocation, compilation and autotuning), two warm-up calls, and the repeats.
    Report the first call and the repeats, and return the median of the repeats in seconds."""
    first = timed(call)
    for _ in range(2):
        timed(call)
    times, begin = [], CLOCK()
    while len(times) < PLAN["repeats"] and (len(times) < 3 or CLOCK() - begin < PLAN["seconds"]):
        times.append(timed(call))
    say(
        "measured",
        op=op,
        size=size,
        device=device,
        transfer=transfer,
        first=first,
        times=times,
        flop=flop(op, size),
    )
    return sorted(times)[len(times) // 2]


def grow(op, device, transfers, prepare):
    """Measure growing sizes until a size takes too long. transfers: for each size, one measurement for each
    of these values (see Measurement). prepare: makes the function to time."""
    for size in PLAN[op]:
        if CLOCK() - BEGIN > PLAN["budget"]:
            say(
                "stopped",
                op=op,
                size=size,
                device=device,
                why="the time limit for the whole measurement was reached",
            )
            return
        slowest = 0.0
        for transfer in transfers:
            try:
                slowest = max(
                    slowest, measure(op, size, device, transfer, prepare(op, size, device, transfer))
                )
            except Exception as error:
                traceback.print_exc()
                say(
                    "stopped",
                    op=op,
                    size=size,
                    device=device,
                    why="%s: %s" % (type(error).__name__, str(error)[:300]),
                )
                return
        if slowest > PLAN["seconds"] / 3.0:
            if size != PLAN[op][-1]:
                say("stopped", op=op, size=size, device=device, why="larger sizes would take too long")
            return


def with_numpy():
    try:
        import numpy
    except ImportError:
        say("absent")
        return

    def prepare(op, size, device, transfer):
        a = numpy.random.default_rng(1).standard_normal((size, size), dtype="float32")
        return lambda: a @ a

    say("ready", name="NumPy", version=numpy.__version__, gpu=None)
    grow("matmul", "CPU", [False], prepare)


def with_tensorflow():
    import numpy
    import tensorflow as tf

    exec(PLAN["growth"])
    gpus = tf.config.list_physical_devices("GPU")
    name = None
    if gpus:
        try:
            name = tf.config.experimental.get_device_details(gpus[0]).get("device_name")
        except Exception:
            pass
    say("ready", name="TensorFlow", version=tf.__version__, gpu=(name or "GPU:0") if gpus else None)
    synchronise = getattr(getattr(tf.test, "experimental", None), "sync_devices", None)
    chance = numpy.random.default_rng(1)

    def prepare(op, size, device, transfer):
        place = "/%s:0" % device
        if op == "matmul":
            arrays = [chance.standard_normal((size, size), dtype="float32") for _ in range(2)]
            function = tf.matmul
        else:
            arrays = [
                chance.standard_normal((BATCH, size, size, CHANNELS), dtype="float32"),
                chance.standard_normal((FILTER, FILTER, CHANNELS, CHANNELS), dtype="float32"),
            ]
            function = lambda a, b: tf.nn.conv2d(a, b, 1, "SAME")
        if transfer:  # to the GPU and back, as in a program that keeps its data in the host's memory

            def there_and_back():
                with tf.device(place):
                    function(*[tf.constant(array) for array in arrays]).numpy()

            return there_and_back
        with tf.device(place):
            there = [tf.identity(tf.constant(array)) for array in arrays]

        def stays():
            with tf.device(place):
                result = function(*there)
            if synchronise is not None:  # a GPU continues to work after the call returns
                synchronise()
            elif device == "GPU":
                result[(0,) * len(result.shape)].numpy()

        return stays

    for op in ("matmul", "convolution"):
        grow(op, "CPU", [False], prepare)
        if gpus:
            grow(op, "GPU", [False, True], prepare)


try:
    with_numpy() if sys.argv[2] == "numpy" else with_tensorflow()
    say("done")
except BaseException as error:
    traceback.print_exc()
    sys.stderr.flush()
    say("failed", error="%s: %s" % (type(error).__name__, str(error)[:1000]))
sys.stdout.flush()
os._exit(0)
