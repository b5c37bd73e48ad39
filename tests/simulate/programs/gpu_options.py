import tensorflow as tf

options = tf.GPUOptions(per_process_gpu_memory_fraction=0.333)
