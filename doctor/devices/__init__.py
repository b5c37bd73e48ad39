"""The GPUs of this machine: how nvidia-smi, CUDA and TensorFlow number them, who uses them, and what
CUDA_VISIBLE_DEVICES hides."""
