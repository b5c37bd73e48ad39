"""Rules about the CUDA and cuDNN libraries: they are missing, have the wrong version, are outside the
loader's search path, or are broken."""
