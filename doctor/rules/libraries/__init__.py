"""Rules about CUDA's and cuDNN's libraries: missing, in another version, outside the loader's search path, or
broken."""
