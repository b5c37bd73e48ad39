import tensorflow as tf

print(tf.contrib.layers)
