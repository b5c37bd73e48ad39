import tensorflow as tf

print("TensorFlow", tf.__version__)
print("Num GPUs Available:", len(tf.config.list_physical_devices("GPU")))
print(tf.config.list_logical_devices("GPU"))
