import tensorflow as tf

gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=128)])
kept = [tf.random.uniform([16, 1024, 1024]) for _ in range(8)]
print(len(kept))
