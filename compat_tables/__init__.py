"""Published knowledge as data: what TensorFlow builds need and what NVIDIA's drivers, libraries and GPUs
offer.

One JSON file a table, one row a line, every row with its source; README.md says what the rows mean.
doctor.tables is the only reader."""
