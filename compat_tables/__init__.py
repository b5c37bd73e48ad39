"""Published knowledge as data: what TensorFlow builds need and what NVIDIA's drivers, libraries and GPUs
offer.

Each table is one JSON file with one row per line; every row has its source. README.md explains the rows.
doctor.tables is the only reader."""
