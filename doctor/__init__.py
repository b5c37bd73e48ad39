"""tfgpu-doctor: why TensorFlow does not use this NVIDIA GPU, and what makes it."""

__version__ = "0.2.0"
