"""Rules about NVIDIA's driver: missing, not loaded, installed in two versions, too old or too new for the
GPU, or replaced by another libcuda."""
