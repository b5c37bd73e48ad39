import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
with tf.device("/gpu:0"):
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.reduce_sum(a * a)
config = tf.ConfigProto(allow_soft_placement=False, log_device_placement=True)
with tf.Session(config=config) as session:
    print(session.run(b))
