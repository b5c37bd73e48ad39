"""Compares the CPU and the GPU: times matrix products and convolutions of growing size in a child process."""
