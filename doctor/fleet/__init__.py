"""Checks many nodes through ssh, Slurm, Ray or Kubernetes, and shows how they differ.

An engine (`ssh`, `slurm`, `ray`) or somebody's own collection (`read`) gives one `Answer` for each node.
`compare` puts equal nodes together and says which differences matter to TensorFlow; `drift` compares with an
earlier run.
"""
