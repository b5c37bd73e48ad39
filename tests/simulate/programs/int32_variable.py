import tensorflow as tf

tf.config.set_soft_device_placement(False)
with tf.device("/GPU:0"):
    counter = tf.Variable(1, dtype=tf.int32)
    counter.assign_add(1)
print(counter)
