"""Rules about CUDA's and cuDNN's libraries: absent, in another version, out of the loader's sight, or broken."""
