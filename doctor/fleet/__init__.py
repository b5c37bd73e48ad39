"""Checks many nodes through ssh, Slurm, Ray or Kubernetes, and shows how they differ.

An engine (`ssh`, `slurm`, `ray`) or the reader of collected reports (`read`) returns one `Answer` for each
node. `compare` groups equal nodes and says which differences matter to TensorFlow. `drift` compares a run
with an earlier one.
"""
