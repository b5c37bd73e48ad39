"""Signatures of messages about names that Python does not find: TensorFlow itself, its modules, and names
from other releases."""

from __future__ import annotations

import re

from doctor.facts import Fact, Source, Symptom
from doctor.logs.signatures.signature import Signature, sig, spoken, words
from doctor.logs.signatures.supposed import supposed

IN_EVERY_RELEASE = frozenset(
    words(
        "constant|Variable|float32|int32|Tensor|Graph|reduce_sum|reduce_mean|matmul|zeros|ones|add|reshape|"
        "convert_to_tensor|shape|cast|nn|test|train|image|errors|strings|linalg|stack|concat|expand_dims|"
        "argmax|sqrt|square|range|bool|int64|string"
    )
)
"""Names in tf.* that every release since 0.12 has. If one of them is missing, the package is incomplete."""


_COLLECTOR = r"File \"/tmp/check_\w{2}\.py\", line \d{1,4}, in <module>\n[^\n]{0,100}\n[^\n]{0,40}$"
"""Matches the lines above an error of the scripts that TensorFlow's tf_env_collect.sh writes and runs: their
code is for TensorFlow 1, and their errors say nothing about the user's program."""


def api(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom for a name that a module lacks: hollow-module (the package is incomplete),
    keras-mismatch, or missing-attribute (usually a name from another release).

    Return None if a file with the module's name imports itself: the signature for circular imports reports
    that.
    """
    name, module = match["name"], match["module"]
    before = match.string[max(0, match.start() - 300) : match.start()]
    if "partially initialized module" in source.text or re.search(_COLLECTOR, before):
        return None
    if name in ("__version__", "VERSION", "python", "_api") or (
        module == "tensorflow" and name in IN_EVERY_RELEASE
    ):
        return Symptom(source, "hollow-module", (("module", module), ("name", name)))
    if module.startswith(("tensorflow.compat.v2", "tensorflow._api.v2.compat.v2.__internal__", "keras.api")):
        return Symptom(source, "keras-mismatch", (("module", module), ("name", name)))
    return Symptom(source, "missing-attribute", (("module", module), ("name", name)))


def of_tensorflow(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom for a name that TensorFlow lacks, from a message without the module's name."""
    return Symptom(source, "missing-attribute", (("module", "tensorflow"), ("name", match["name"])))


_ONLY_IN_1 = (
    r"ConfigProto|GPUOptions|InteractiveSession|contrib|placeholder|get_default_graph|reset_default_graph"
    r"|global_variables_initializer|set_random_seed|enable_eager_execution|get_default_session"
)
"""Matches names that only the top level of TensorFlow 1 has, and hardly any other module."""

_ATTRIBUTE = "attribut|atribut|atrybut|атрибут|thuộc tính|öznitelik|özelli|属性|屬性|속성|خاصية"
_LACKS = (
    r"\b(?:no|not|without|missing|lacks|kein|keine|nicht|fehlt|ningún|ningun|sin|falta|aucun|pas|sans|manque"
    r"|nessun|non|manca|senza|não|nao|nenhum|sem|geen|niet|nie|brak|inget|saknar|ikke|yok|нет|не|không"
    r"|tidak)\b|n't\b|没有|沒有|不存在|找不到|無い|ない|なく|ありません|없|ليس"
)
"""Match the word "attribute" and words that say that something is absent, in the languages of reports."""


def said_to_lack(match: re.Match[str], source: Source) -> Fact | None:
    """Create the Symptom if a sentence, in any language, says that TensorFlow lacks a name of TensorFlow 1.
    Return None if the sentence only supposes that."""
    if supposed(match, "name"):
        return None
    before = re.split(r"[.!?;](?=\s)|[。！？；]", match["before"])[-1]
    sentence = before + re.split(r"[.!?;](?=\s)|[。！？；]", match["after"])[0]
    if not all(re.search(words, sentence, re.IGNORECASE) for words in (_ATTRIBUTE, _LACKS)):
        return None
    detail = (("module", "tensorflow"), ("name", match["name"]))
    return Symptom(source, "missing-attribute-said", detail)


def imported(match: re.Match[str], source: Source) -> Fact:
    """Create the Symptom for a name that cannot be imported from a module: hollow-module if only the
    package's folder is left (the module has no file), otherwise missing-name."""
    module = match["module"]
    hollow = match["hollow"] and module in ("tensorflow", "tensorflow.python")
    return Symptom(
        source, "hollow-module" if hollow else "missing-name", (("name", match["name"]), ("module", module))
    )


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "tensorflow-not-installed",
        "no module named 'tensorflow'|no module named tensorflow|no module named \"tensorflow\"|"
        "tensorflow installation not found|nstallation of tensorflow not found|[not found]|"
        "no module named \"tensorflow|no module named 'tensorflow",
        r"^\s{0,8}tensorflow:\s+\[NOT FOUND\]|No module named ['\"]?tensorflow['\"]?(?![.\w])|TensorFlow"
        r" installation not found - running with reduced feature set|\b(?:Valid i|I)nstallation of TensorFlow"
        r" not found\b"  # R prints this for every exception of the import, and quotes the exception
        r"(?!\W{1,12}Python exception encountered:\W{1,12}(?!ModuleNotFoundError)\w)",
        "ModuleNotFoundError: No module named 'tensorflow'",
        lines=5,
    ),
    sig(  # from R, whose packages look for Python packages
        "tensorflow-not-installed",
        "error loading python module |python module ",
        r"Error loading Python module (?:keras|tensorflow)\b"
        r"|Python module (?:keras|tensorflow) was not found",
        "Error: Error loading Python module keras",
        origin="rstudio/keras, R/package.R; rstudio/reticulate, R/import.R",
    ),
    sig(
        "package-not-found",
        "package(s) not found: tensorflow",
        r"Package\(s\) not found: (?P<name>tensorflow[\w-]*)",
        "WARNING: Package(s) not found: tensorflow",
    ),
    sig(
        "missing-module",
        "no module named 'tensorflow.|no module named tensorflow.|no module named 'keras|"
        "no module named 'tensorflow_core|no module named 'tf_keras|no module named \"tensorflow.|"
        'no module named "tensorflow_|no module named "keras|no module named keras|'
        'no module named tensorflow_|no module named "tf_keras|no module named tf_keras|'
        "no module named 'tensorflow_",
        r"No module named ['\"]?(?P<module>(?:tensorflow"
        r"|keras|tensorflow_core|tf_keras)[._]\w[\w.]*)(?<!\.)(?![\w.]|'; 'tensorflow' is not)",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'",
    ),
    spoken(
        "contrib-named",
        "tf.contrib|tensorflow.contrib",
        r"(?<![\w.])(?:tf|tensorflow)\.contrib\b",
        "It always says that there is no tensorflow.contrib",
        once=True,
    ),
    sig(  # it counts beside a stated TensorFlow 2, which has no such module
        "missing-attribute-said",
        "import tensorflow.contrib|from tensorflow.contrib",
        r"(?:\bimport|\bfrom) tensorflow\.contrib\b",
        "import tensorflow.contrib.slim as slim",
        lambda m, s: Symptom(s, "missing-attribute-said", (("module", "tensorflow"), ("name", "contrib"))),
        once=True,
    ),
    sig(
        "missing-attribute",
        "has no attribute",
        r"module ['\"](?P<module>(?:tensorflow|keras|tf)[\w.]*)['\"] has no attribute"
        r" ['\"](?P<name>\w+)['\"]",
        "AttributeError: module 'tensorflow' has no attribute 'Session'",
        api,
    ),
    sig(  # a field of a (protobuf) message in another release
        "missing-attribute",
        "object has no attribute",
        r"'(?P<module>GPUOptions|ConfigProto|GraphOptions|RunOptions|OptimizerOptions)' object has no"
        r" attribute '(?P<name>\w+)'",
        "AttributeError: 'GPUOptions' object has no attribute 'allow_growth'",
        of_tensorflow,
    ),
    spoken(  # somebody quotes only the end of the message: these are names of TensorFlow alone
        "missing-attribute",
        "no attribute|tensorflow has no|tf has no",
        r"(?:(?<!has )\bno attribute(?: named| called)?|\b(?:tensorflow|tf) has no(?: attribute"
        rf"| function)?) (?P<quote>['\"`]?)(?P<name>{_ONLY_IN_1})(?!\w)(?P=quote)",
        "the first cell fails with no attribute 'ConfigProto'",
        of_tensorflow,
    ),
    spoken(  # the same in a sentence of any language
        "missing-attribute-said",
        _ONLY_IN_1.lower(),
        rf"(?P<before>[^\n]{{0,120}}?)(?<!\w)(?P<name>{_ONLY_IN_1})(?!\w)(?P<after>[^\n]{{0,80}})",
        "Mi script dice que el módulo tensorflow no tiene ningún atributo ConfigProto",
        said_to_lack,
        at="name",
    ),
    sig(
        "missing-name",
        "cannot import name",
        r"cannot import name ['\"]?(?P<name>\w+)['\"]? from"
        r" ['\"]?(?P<module>(?:tensorflow|keras|tf_keras)[\w.]*)(?P<hollow>['\"]? \(unknown location\))?",
        "ImportError: cannot import name 'multi_gpu_model' from 'tensorflow.keras.utils'",
        imported,
    ),
    sig(  # Python up to 3.6 does not say which module
        "missing-name",
        "cannot import name",
        r"ImportError: cannot import name ['\"]?(?P<name>multi_gpu_model"
        r"|multi_gpu_utils|get_session|BatchNormalization|set_session|CuDNN(?:LSTM|GRU))['\"]?(?! from|\w)",
        "ImportError: cannot import name 'multi_gpu_model'",
        lambda m, s: Symptom(s, "missing-name", (("name", m["name"]), ("module", "keras"))),
    ),
    sig(
        "eager-incompatible",
        "is not compatible with eager execution|the session graph is empty|"
        "is not supported when eager execution is enabled",
        r"(?P<call>tf\.\w+\(\))? ?is not compatible with eager execution"
        r"|The Session graph is empty|is not supported when eager execution is enabled",
        "RuntimeError: tf.placeholder() is not compatible with eager execution.",
    ),
)
