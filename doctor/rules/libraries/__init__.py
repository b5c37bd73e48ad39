"""Rules about the libraries of CUDA and cuDNN: they are missing, have another version, are outside the
loader's search path, or are broken."""
