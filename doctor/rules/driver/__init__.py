"""Rules about NVIDIA's driver: absent, not running, in two versions, too old, or hidden by another
libcuda."""
