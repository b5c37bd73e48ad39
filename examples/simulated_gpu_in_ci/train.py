"""A training script with a mistake in its GPU set-up: it turns on memory growth after the GPU is in use."""

import tensorflow as tf

features = tf.random.normal([64, 8])  # the first operation starts every GPU
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(features, tf.zeros([64, 1]), verbose=2)
