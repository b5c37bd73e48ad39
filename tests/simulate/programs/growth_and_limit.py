import tensorflow as tf

gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
tf.config.experimental.set_memory_growth(gpu, True)
print(tf.config.list_logical_devices("GPU"))
