"""Signatures of the Python version."""

from __future__ import annotations

import re

from doctor.facts import FORM, INFERRED, MEASURED, PROSE, Fact, PythonVersion, Source
from doctor.logs.signatures.signature import DIGITS, Maker, Signature, glued, sig, spoken
from doctor.logs.signatures.versions.spelling import AFTER_NAME, NAMED, elsewhere, said_rank


def py(rank: int) -> Maker:
    """Return a function that makes a PythonVersion from a match."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        version = match["version"]
        if re.fullmatch(r"[23]\d{1,2}", version):
            version = f"{version[0]}.{version[1:]}"
        major, minor = (int(x) for x in version.split(".")[:2])
        if (major, minor) < (2, 6) or major > 3 or minor > 20:
            return None
        if rank == PROSE and elsewhere(match):
            return None
        bits = match.groupdict().get("bits")
        return PythonVersion(source, version, int(bits) if bits else None, rank=said_rank(match, rank))

    return make


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "python-version",
        "python ",
        r"\bPython (?P<version>[23]\.\d{1,2}\.\d{1,2})\+?(?: \|"
        r"| \(|:)[^\n]{0,160}?(?:\[(?:GCC|MSC|Clang)[^\]\n]{0,60}?(?:(?P<bits>32|64) bit)?)?",
        "Python 3.10.9 (main, Mar  1 2023, 18:23:06) [GCC 11.2.0] on linux",
        py(MEASURED),
    ),
    spoken(  # what a person says that the command prints
        "python-version",
        "python --version|python3 --version",
        r"\bpython3? --version\b[^\n\d]{1,24}(?P<version>[23]\.\d{1,2}\.\d{1,2})(?![\w.]\d)",
        "`python3 --version` says 3.13.2",
        py(PROSE),
    ),
    sig(  # sys.version, with any text before it
        "python-version",
        "[msc v|[gcc|[clang",
        r"(?<![\w.])(?P<version>[23]\.\d{1,2}\.\d{1,2})\+? (?:\||\()[^\n\[]{4,100}\[(?:GCC|MSC"
        r" v|Clang)(?:[^\]\n]{0,60}?(?P<bits>32|64) bit)?",
        "version: 3.7.1 (default, Dec 10 2018, 22:54:23) [MSC v.1915 64 bit (AMD64)]",
        py(MEASURED),
    ),
    sig(
        "python-version",
        "python ",
        r"^\W{0,6}Python (?P<version>[23]\.\d{1,2}\.\d{1,2})\+?\W{0,3}$",
        "Python 3.7.5",
        py(MEASURED),
    ),
    spoken(
        "python-version",
        glued(("python",), (*AFTER_NAME, "版本")),
        rf"python(?: version|版本| 버전)?(?: \([^)\n]{{0,40}}\))?{NAMED}[\s*_`'\"-]{{0,6}}(?:python"
        r" ?|v|anaconda ?|conda ?)?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w%])",
        "- Python version: **3.8.5**",
        py(FORM),
        near="2.|3.",
    ),
    sig(
        "python-version",
        "python version",
        r"python version\W{0,12}\n\s*\n?[^\n\d]{0,16}(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)",
        "### Python version\n\n3.8.10",
        py(FORM),
        lines=3,
        at="version",
    ),
    sig(
        "python-version",
        "site-packages|dist-packages|lib/python3|lib/python2|lib\\python3|lib\\python2",
        r"[/\\]python(?P<version>[23]\.\d{1,2})[/\\](?:site|dist)-packages"
        r"|[/\\]lib[/\\]python(?P<v2>[23]\.\d{1,2})[/\\]",
        '  File "/usr/local/lib/python3.5/dist-packages/tensorflow/python/pywrap_tensorflow.py", line 58',
        lambda m, s: PythonVersion(s, m["version"] or m["v2"], rank=FORM),
    ),
    sig(
        "python-version",
        (*glued(("python2", "python3"), DIGITS), "pythonsoftwarefoundation.python"),
        r"[/\\]Python(?P<version>[23]\d{1,2})(?:[-_](?:32|64))?[/\\](?:lib|python|scripts)"
        r"|PythonSoftwareFoundation\.Python\.(?P<v2>3\.\d+)",
        r"C:\Users\me\AppData\Local\Programs\Python\Python37\lib\site-packages\tensorflow\__init__.py",
        lambda m, s: PythonVersion(s, m["v2"] or f"{m['version'][0]}.{m['version'][1:]}", rank=FORM),
    ),
    sig(
        "python-version",
        "-cp3|-cp2",
        r"-cp(?P<version>[23]\d{1,2})-(?:cp|abi|none)",
        "tensorflow-2.3.0-cp38-cp38-win_amd64.whl",
        lambda m, s: PythonVersion(s, f"{m['version'][0]}.{m['version'][1:]}", rank=INFERRED),
    ),
    spoken(
        "python-version",
        glued(("python",), " =v-23"),
        r"(?<![\w/\\.-])python ?[=v-]{0,2} ?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\]|\.\d)",
        "conda create -n tf python=3.7",
        py(PROSE),
    ),
    sig(
        "python-version",
        "python  ",
        r"^[\s>$#]{0,4}python\s{2,40}(?P<version>[23]\.\d{1,2}\.\d{1,2})(?:\s{1,40}\w+_\w+"
        r"(?:\s+[\w/-]+)?)?\s*$",
        "python                    3.9.12               h12debd9_0",
        py(MEASURED),
    ),
    sig(
        "python-version",
        "different python:",
        r"requires a different Python: (?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)",
        "ERROR: Package 'tensorflow' requires a different Python: 3.8.10 not in '>=3.9'",
        py(MEASURED),
    ),
    sig(
        "python-version",
        glued(("python",), " \t:.,，=*_`版"),
        r"(?<![\w/\\.-])python(?: version"
        r"|版本|版)?[\s:.,，=*_`]{1,6}v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\]|\.\d)",
        "Anaconda Python : 3.6",
        py(PROSE),
    ),
    spoken(
        "python-version",
        "python2.|python3.|python-version|python_version|--python |--python=",
        r"(?<![\w/\\.-])python(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w/\\.-])|(?:--python(?:-version)?"
        r"|python_version)[ =]{1,3}['\"]?(?P<v2>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])",
        "python3.6.5 + jupyter lab",
        lambda m, s: PythonVersion(s, m["version"] or m["v2"], rank=PROSE),
    ),
)
