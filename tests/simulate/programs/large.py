import tensorflow as tf

kept = []
for step in range(64):
    kept.append(tf.random.uniform([64, 1024, 1024]))
    print("step", step)
