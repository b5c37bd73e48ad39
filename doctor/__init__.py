"""tfgpu-doctor says why TensorFlow does not use an NVIDIA GPU, and how to fix it."""

__version__ = "0.2.0"
