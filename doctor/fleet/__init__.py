"""Checks many nodes through ssh, Slurm, Ray or Kubernetes, and shows how they differ.

An engine (`ssh`, `slurm`, `ray`) or collected reports (`read`) give one `Answer` for each node. `compare`
groups equal nodes and says which differences matter to TensorFlow; `drift` compares with an earlier run.
"""
