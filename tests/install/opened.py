"""Finds out which libraries TensorFlow itself loads with the real loader and an empty LD_LIBRARY_PATH."""

from __future__ import annotations

NEWEST = (
    "libcudart.so.12",
    "libcublas.so.12",
    "libcufft.so.11",
    "libcusolver.so.11",
    "libcusparse.so.12",
    "libcudnn.so.9",
)
CUDA_12_CUDNN_8 = (*NEWEST[:-1], "libcudnn.so.8")
CUDA_11 = (
    "libcudart.so.11.0",
    "libcublas.so.11",
    "libcublasLt.so.11",
    "libcufft.so.10",
    "libcurand.so.10",
    "libcusolver.so.11",
    "libcusparse.so.11",
    "libcudnn.so.8",
)
"""The libraries that a GPU device needs."""

OPEN_LIBRARIES = """
import ctypes, glob, os, re, subprocess, sys
site = sys.argv[1]
path = site + "/tensorflow/libtensorflow_framework.so.2"
with open(path, "rb") as file:
    name = re.search(rb"_ZN\\w*9DsoLoader\\d+MaybeTryDlopenGPULibrariesEv", file.read())[0].decode()
library = ctypes.CDLL(path)
result = ctypes.create_string_buffer(64)  # an absl::Status, returned through a hidden pointer
getattr(library, name)(result)
for line in open("/proc/self/maps"):
    if "/nvidia/" in line or "/site-packages/tensorflow/libcu" in line:
        print(line.split()[-1])
"""
"""A program that gets the folder site-packages as its argument, and prints the path of each library that was
loaded."""
