"""Many nodes at once: `check` on each through what already runs them, and what tells the nodes apart.

An engine (`ssh`, `slurm`, `ray`) or somebody's own collection (`read`) gives one `Answer` for each node. `compare` puts
equal nodes together and says which differences matter to TensorFlow; `drift` compares with an earlier run.
"""
