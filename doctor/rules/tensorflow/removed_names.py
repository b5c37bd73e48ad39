"""Names that later releases of TensorFlow and Keras have moved or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts import FORM, Symptom

if TYPE_CHECKING:
    from doctor.case import Case

IN_TENSORFLOW_1 = frozenset(
    (
        "Session", "ConfigProto", "GPUOptions", "InteractiveSession", "placeholder", "get_default_graph",
        "reset_default_graph", "global_variables_initializer", "get_variable", "variable_scope",
        "trainable_variables", "get_collection", "app", "flags", "contrib", "layers", "logging", "gfile",
        "python_io", "set_random_seed", "get_default_session", "global_variables", "GraphDef", "GraphKeys",
        "local_variables_initializer", "variables_initializer", "initialize_all_variables", "log", "ceil",
        "log1p", "to_float", "to_int32", "to_int64", "random_normal", "random_uniform", "truncated_normal",
        "placeholder_with_default", "sparse_placeholder", "OptimizerOptions", "Summary", "assign", "Print",
        "div", "multinomial", "matrix_inverse", "count_nonzero", "string_split", "space_to_depth",
        "sparse_tensor_to_dense",
    )
)  # fmt: skip
"""Names in tf.* that every release from 1.0 to 1.15 has (tensorflow/python/__init__.py: client_lib,
config_pb2, framework_lib, standard_ops, app, flags; tensorflow/__init__.py: contrib) but TensorFlow 2 does
not have. If one is missing, the Python that runs the program loads TensorFlow 2, or an incomplete package."""

REMOVED_IN_2 = IN_TENSORFLOW_1.union(
    (
        "enable_eager_execution", "AUTO_REUSE", "summary_op", "mul", "sub", "pack", "neg",
        "is_gpu_available", "nn.dynamic_rnn", "get_session", "set_session", "ragged.placeholder",
        "batch_matmul", "train_op", "name_scope_v1", "layers_dense",
    )
)  # fmt: skip
"""Names in tf.* of TensorFlow 1 that TensorFlow 2 does not have (TensorFlow 2.0, the rename tables of
tf_upgrade_v2)."""

GONE_MODULES = (
    "tensorflow.contrib",
    "tensorflow.examples",
    "tensorflow.models",
    "tensorflow.python.keras",
    "tensorflow_core",
    "keras.backend.tensorflow_backend",
    "keras.utils.training_utils",
    "keras.layers.",
    "keras.engine",
    "keras.preprocessing",
    "keras.wrappers",
)
"""Prefixes of the names of modules that TensorFlow 2 or a later Keras does not have."""

GONE_NAMES = frozenset(
    (
        "multi_gpu_model", "set_session", "get_session", "tensorflow_backend", "device_scope", "moves",
        "control_flow_ops", "rnn_cell", "BatchNormalization", "normalization", "CuDNNLSTM", "CuDNNGRU",
        "to_categorical", "np_utils", "plot_model", "adam", "Adam", "SGD", "RMSprop", "learning", "layers",
    )
)  # fmt: skip
"""Names in `from ... import` that TensorFlow 2 or a later Keras moved or removed."""


def missing_parts(case: Case) -> list[Symptom]:
    """Return the symptoms of names that an incomplete TensorFlow 1 lacks, although every release of it has
    them. A complete package without them is TensorFlow 2, whichever release the report states."""
    known = case.tensorflow
    if known is None or known.rank > FORM or not known.version.startswith("1."):
        return []
    if not case.facts.has("hollow-module", "tensorflow-files-missing"):
        return []
    missing = case.facts.symptoms("missing-attribute")
    return [s for s in missing if s.get("module") == "tensorflow" and s.get("name") in IN_TENSORFLOW_1]
