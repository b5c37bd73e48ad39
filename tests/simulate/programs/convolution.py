import sys

import numpy as np
import tensorflow as tf

if "growth" in sys.argv:
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
history = model.fit(np.zeros((32, 28, 28, 1), "float32"), np.zeros(32, "int32"), epochs=1, batch_size=8, verbose=2)
print("epochs:", len(history.history["loss"]))
