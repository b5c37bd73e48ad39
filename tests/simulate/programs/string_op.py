import tensorflow as tf

tf.config.set_soft_device_placement(False)
with tf.device("/GPU:0"):
    print(tf.strings.join(["a", "b"]))
