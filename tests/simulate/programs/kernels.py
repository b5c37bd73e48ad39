import tensorflow as tf

print(tf.config.list_physical_devices("GPU"))
x = tf.random.normal([64, 64])
y = tf.sqrt(tf.abs(x) + 1.0)
print(y.device, float(tf.reduce_sum(y)))
