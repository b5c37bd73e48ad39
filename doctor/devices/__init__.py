"""The GPUs of this machine: how nvidia-smi, CUDA and TensorFlow number them, who uses them, what a variable
hides."""
