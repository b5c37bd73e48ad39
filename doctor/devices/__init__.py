"""Describes the GPUs of this machine: how nvidia-smi, CUDA and TensorFlow number them, which processes use
them, and which of them CUDA_VISIBLE_DEVICES hides."""
