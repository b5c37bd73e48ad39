"""Rules about NVIDIA's driver: absent, not running, of two versions, too old, or covered by another
libcuda."""
