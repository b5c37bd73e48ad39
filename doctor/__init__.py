"""tfgpu-doctor: why TensorFlow does not use this NVIDIA GPU, and how to fix that."""

__version__ = "0.2.0"
