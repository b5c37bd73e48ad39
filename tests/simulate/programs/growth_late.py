import tensorflow as tf

total = tf.constant(1.0) + 1.0
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
print(total)
