import tensorflow as tf

total = tf.constant(1.0) + 1.0
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
print(total)
