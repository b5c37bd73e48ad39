"""The same script with the mistake corrected: the GPU is set up before any operation runs."""

import tensorflow as tf

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

features = tf.random.normal([64, 8])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(features, tf.zeros([64, 1]), verbose=2)
