"""Signatures of messages about TensorFlow's dependencies in versions that it cannot use."""

from __future__ import annotations

from doctor.logs.signatures.signature import Signature, sig, spoken

SIGNATURES: tuple[Signature, ...] = (
    sig(
        "numpy-abi",
        "_array_api not found|compiled using numpy 1.x cannot be run in|numpy.core.umath failed to import|"
        "numpy.core._multiarray_umath failed to import|numpy.dtype size changed|"
        "module compiled against api version|compiled with api|compiled against api|compiled with abi|"
        "compiled against abi|numpy.core.multiarray failed to import|np.complex_` was removed|"
        "was removed in the numpy 2.0|numpy 1.x cannot be run in|numpy.core.",
        r"(?:module )?compiled (?:against|with) A[PB]I(?: version)? (?P<built>0x[0-9a-f]{1,8})\b[^\n]{0,60}?"
        r"(?P<there>0x[0-9a-f]{1,8})\b|_ARRAY_API not found|compiled using NumPy 1\.x cannot be run in"
        r"|NumPy 1\.x cannot be run in\s*NumPy 2|numpy\.core\.\w+ failed to import"
        r"|numpy\.dtype size changed|module compiled against A[PB]I version|was removed in the NumPy 2\.0",
        "AttributeError: _ARRAY_API not found",
    ),
    sig(
        "numpy-alias",
        "module 'numpy' has no attribute",
        r"module 'numpy' has no attribute '(?P<name>object|bool|int|float|typeDict|complex)'",
        "AttributeError: module 'numpy' has no attribute 'object'.",
    ),
    # array_ops.zeros, which every LSTM and GRU calls, passes a shape of tensors to NumPy; NumPy 1.20 rejects
    # that
    sig(
        "numpy-symbolic",
        "cannot convert a symbolic",
        r"Cannot convert a symbolic (?:tf\.)?Tensor \((?P<tensor>[^()\n]{0,80}strided_slice[^()\n]{0,20})\)"
        r" to a numpy array",
        "NotImplementedError: Cannot convert a symbolic Tensor (lstm_1/strided_slice:0) to a numpy array.",
        seen_in="2.0-2.4",
        origin="tensorflow/python/framework/ops.py",
    ),
    sig(
        "protobuf-conflict",
        "descriptors cannot|descriptors should|getprototype|google.protobuf|protobuf gencode|protoc >= 3.19|"
        "_pb2|serialized_options|detected incompatible protobuf|detected mismatched protobuf|"
        "must be regenerated with protoc",
        r"Descriptors (?:cannot|should not) (?:not )?be created directly|has no attribute 'GetPrototype'"
        r"|cannot import name '?\w+'? from '?google\.protobuf|No module named '?google\.protobuf'?"
        r"|Protobuf Gencode|generated code is out of date and must be regenerated with protoc"
        r"|module 'google\.protobuf[\w.]*' has no attribute"
        r"|Detected (?:incompatible|mismatched) Protobuf|unexpected keyword argument 'serialized_options'",
        "TypeError: Descriptors cannot not be created directly.",
    ),
    sig(  # the arrow in a notebook's traceback points to a line of a generated file
        "protobuf-conflict",
        "_descriptor.",
        r"^\s*-+> ?\d{1,5}\s+(?:\w+ ="
        r" )?_descriptor\.(?:Field|File|Enum|EnumValue|Service|Oneof)?Descriptor\(",
        "---> 36     _descriptor.FieldDescriptor(",
    ),
    spoken(  # in a sentence
        "protobuf-conflict",
        "protobuf",
        r"\b(?P<stated>import\w*|fail\w*|crash\w*|br[eo]ak?\w*|errors?)\b[^\n.]{0,40}\b(?:due to"
        r"|because of|owing to|caused by) (?:the |a |an |my )?(?:\w+ ){0,2}[`'\"]?protobuf\b"
        r"|\b(?P<t3>import\w*|fail\w*)\b[^\n.]{0,24}\bwith a protobuf error\b|\bprotobuf\b[`'\"]?"
        r"(?: version)?[ \d.]{0,12} (?P<t2>breaks?|broke|is too (?:new|recent|old)|is incompatible)\b",
        "the import of tensorflow fails because of protobuf",
        near="due to|because of|owing to|caused by|with a protobuf|break|broke|is too|is incompatible",
    ),
    spoken(
        "numpy-abi",
        "numpy",
        r"\b(?:import\w*|fail\w*|crash\w*|broken?|breaks?|errors?)\b[^\n.]{0,40}\b(?:due to|because of|owing"
        r" to|caused by) (?:the |a |an |my )?(?:\w+ ){0,2}[`'\"]?numpy (?:>=|==|version )?(?P<stated>2)\b",
        "the import of tensorflow fails because of NumPy 2",
        near="due to|because of|owing to|caused by",
    ),
    sig(
        "h5py-conflict",
        "'str' object has no attribute 'decode'|no module named 'h5py'|h5py is running against hdf5",
        r"'str' object has no attribute 'decode'|No module named 'h5py'|h5py is running against HDF5",
        "AttributeError: 'str' object has no attribute 'decode'",
    ),
    sig(
        "keras-mismatch",
        "keras cannot be imported|your currently installed version of keras is keras 3|keras 3, but|"
        "requires tf-keras|keras requires tensorflow|tensorflow.python.keras.engine|"
        "cannot import name 'dtensor'|cannot import name 'get_config'|keras_tensor|_tape|"
        "tf.keras` is disabled|no module named 'keras.src.engine'|tensorflow.python.distribute.load_context|"
        "tensorflow.python.trackable|tensorflow.python.training.tracking|layerversionselector|"
        "duplicate registrations for|installed version of keras is keras 3",
        r"Keras cannot be imported|You have tensorflow [\d.]+\w* and this requires tf-keras"
        r"|installed version of Keras is Keras 3|Keras requires TensorFlow [\d.]+ or higher"
        r"|cannot import name '(?:dtensor|get_config)'|No module named 'keras\.src\.engine'|Duplicate"
        r" registrations for type 'experimentalOptimizer'|cannot import name 'LayerVersionSelector'"
        r"|No module named 'tensorflow\.python\.(?:trackable|training\.tracking|distribute\.load_context)'",
        "ImportError: Keras cannot be imported. Check that it is installed.",
    ),
    sig(  # the compiled part of pandas does not load in this Python
        "python-package-conflict",
        "c extension: ",
        r"C extension: [\w.']{1,60} not built",
        "ImportError: C extension: None not built. If you want to import pandas from the source directory",
        origin="pandas/__init__.py",
    ),
    spoken(
        "python-package-conflict",
        "no module named|typing_extensions|ml_dtypes|gast|wrapt|metaclass conflict|"
        "unable to convert function return value",
        r"module '(?:typing_extensions|ml_dtypes|gast|wrapt)' has no attribute '\w+'"
        r"|cannot import name '\w+' from '(?:typing_extensions|wrapt)'"
        r"|No module named ['\"]?(?:wrapt|absl|six|flatbuffers|termcolor|astunparse|opt_einsum"
        r"|copyreg|numpy(?:\.core\._multiarray_umath)?|distutils|imp|pkg_resources|ml_dtypes)['\"]?(?=\s|$)"
        r"|metaclass conflict|Unable to convert function return value to a Python type! The signature was",
        "AttributeError: module 'ml_dtypes' has no attribute 'float8_e4m3b11'",
        near=(
            "typing_extensions|ml_dtypes|gast|wrapt|absl|six|flatbuffers|termcolor|astunparse|opt_einsum|"
            "copyreg|numpy|distutils|imp|pkg_resources|metaclass conflict|unable to convert function"
        ),
    ),
)
