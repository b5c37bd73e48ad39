"""Rules about CUDA's and cuDNN's libraries: absent, in another version, outside the loader's folders, or
broken."""
