import tensorflow as tf

tf.config.set_soft_device_placement(False)
with tf.device("/GPU:3"):
    print(tf.matmul(tf.ones([2, 2]), tf.ones([2, 2])))
