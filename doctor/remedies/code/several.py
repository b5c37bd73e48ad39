"""Code for training on several GPUs of one machine and on several machines."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.remedies.code.eras import era


def multi_gpu(version: str | None = None, gpus: Sequence[int] = (), nccl: bool = True) -> str:
    """Code that trains one model on all GPUs of this machine, or only on `gpus`. If `nccl` is false, the GPUs
    exchange gradients without NCCL, by copying them."""
    arguments = [repr([f"/gpu:{index}" for index in gpus])] if gpus else []
    if not nccl:
        arguments.append("cross_device_ops=tf.distribute.HierarchicalCopyAllReduce()")
    layers = "tf.keras.Input((4,)), tf.keras.layers.Dense(1)"
    if era(version) != "keras-3":
        layers = "tf.keras.layers.Dense(1, input_shape=(4,))"
    return (
        "import tensorflow as tf\n"
        f"strategy = tf.distribute.MirroredStrategy({', '.join(arguments)})\n"
        "print(strategy.num_replicas_in_sync, 'GPUs')\n"
        "with strategy.scope():  # build and compile inside, fit outside\n"
        f"    model = tf.keras.Sequential([{layers}])\n"
        "    model.compile(optimizer='sgd', loss='mse')\n"
        "batch_size = 32 * strategy.num_replicas_in_sync  # every GPU gets 32 of each batch"
    )


def multi_worker(version: str | None = None, workers: Sequence[str] = (), index: int = 0) -> str:
    """Code that trains one model on several machines. The same program runs on each machine, with its own
    index."""
    workers = workers or ("host1:12345", "host2:12345")
    hosts = ", ".join(repr(worker) for worker in workers)
    head = (
        "import json\nimport os\n"
        "os.environ['TF_CONFIG'] = json.dumps({  # before TensorFlow is imported\n"
        f"    'cluster': {{'worker': [{hosts}]}},\n"
        f"    'task': {{'type': 'worker', 'index': {index}}},  # this machine's place in the list\n"
        "})\n"
        "import tensorflow as tf\n"
    )
    experimental = era(version) in ("1", "any", "2.0")
    strategy = f"tf.distribute.{'experimental.' if experimental else ''}MultiWorkerMirroredStrategy()"
    return (
        head + f"strategy = {strategy}  # waits until every worker has started\n"
        "with strategy.scope():\n"
        "    weights = tf.Variable(tf.ones([4, 1]))\n"
        "print(strategy.num_replicas_in_sync, 'replicas')"
    )
