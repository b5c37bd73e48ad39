import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
print("Number of devices:", strategy.num_replicas_in_sync)
