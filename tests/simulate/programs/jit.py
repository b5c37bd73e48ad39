import tensorflow as tf


@tf.function(jit_compile=True)
def energy(x):
    return tf.reduce_sum(tf.sin(x) * x)


with tf.device("/GPU:0"):
    print(energy(tf.ones([128, 128])))
