"""Signatures of messages from installers (pip, uv, poetry, conda) that find no TensorFlow release to
install."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Fact, Platform, Requirement, Source, Symptom, TensorFlowBuild, normalised
from doctor.logs.signatures.package_names import TF
from doctor.logs.signatures.signature import Signature, sig, spoken


def no_wheel(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """Make the facts from the message of an installer that finds no TensorFlow release to install."""
    group = match.groupdict("")
    versions = group.pop("versions", "")
    requirement = next(filter(None, group.values()), "").strip()
    parts = re.match(r"([A-Za-z][\w-]*)(?:\[[\w,-]*\])?\s*(.*)", requirement)
    name, specifier = (normalised(parts[1]), parts[2].strip()) if parts else ("tensorflow", "")
    detail = (("name", name), ("specifier", specifier), ("versions", versions))
    yield Symptom(source, "no-matching-distribution", detail)
    yield Requirement(source, name, specifier)


def not_offered(match: re.Match[str], source: Source) -> Fact:
    """Make the Symptom that an installer has no TensorFlow package for this requirement or this machine."""
    name, _, version = next(filter(None, match.groups()), "tensorflow").partition("==")
    detail = (("name", name.lower()), ("specifier", version), ("versions", ""))
    return Symptom(source, "no-matching-distribution", detail)


SIGNATURES: tuple[Signature, ...] = (
    sig(
        "no-matching-distribution",
        "could not find a version that satisfies the requirement|no matching distribution found for|"
        "could not find any downloads that satisfy the requirement|no distributions at all found for",
        r"(?:Could not find (?:a version that satisfies|any downloads that satisfy) the requirement|No"
        r" (?:matching distribution|distributions at all) found for)"
        rf" (?P<requirement>(?:{TF})\b[^\s(<>=!~]*(?: ?[<>=!~][^(\n]{{0,40}})?)"
        r"[^(\n]{0,60}?(?:\([^\n]{0,60}?)??(?:\(from versions: ?(?P<versions>[^()\n]{0,3000}))?(?:\)|\n|$)",
        "ERROR: Could not find a version that satisfies the requirement tensorflow==1.15 (from versions:"
        " 2.8.0, 2.8.1)",
        no_wheel,
    ),
    sig(
        "no-matching-distribution",
        "can't be installed because|only has wheels|no solution found|has no wheels with a matching|"
        "installation candidates for tensorflow|installation candidates|packagesnotfounderror|"
        "missing in current|packages found in current|unsatisfiableerror|"
        "the following packages are not available|does not exist (perhaps a typo|resolvepackagenotfound|"
        "nothing provides requested|does not exist (perhaps",
        rf"(?:Distribution )?`?(?P<requirement>(?:{TF})(?:==[\w.]+)?)[^\n`]{{0,80}}`? can't be installed"
        rf" because|`(?P<r2>{TF})` \(v[\w.]+\) only has wheels"
        rf"|Unable to find installation candidates for (?P<r3>{TF})|(?P<r4>{TF})(?:==[\w.]+)? has no wheels"
        r" with a matching"
        r"|(?:PackagesNotFoundError|ResolvePackageNotFound|Packages? missing in current [\w-]{1,20} channels)"
        rf"[^\n]*\n(?:[^\n]*\n){{0,4}}?[^\n]{{0,20}}- (?P<r5>{TF})\b"
        rf"|No packages found in current [\w-]{{1,20}} channels matching: (?P<r7>{TF})\b"
        rf"|nothing provides requested (?P<r6>{TF})\b|(?:{TF}) ?[\w=.]* does not exist"
        r" \(perhaps",
        "error: Distribution `tensorflow==2.18.0 @ registry+https://index.example/simple` can't be installed"
        " because it doesn't have a source distribution or wheel for the current platform",
        not_offered,
        lines=5,
    ),
    sig(  # from setuptools, which `python setup.py` and older pips use
        "no-matching-distribution",
        "download links found for |could not find suitable distribution for ",
        r"No local packages or (?:working )?download links found for"
        rf" (?P<requirement>(?:{TF})\b(?: ?[<>=!~]=?[^\n]{{0,40}})?)"
        r"|Could not find suitable distribution for Requirement\.parse\(['\"]"
        rf"(?P<quoted>(?:{TF})\b(?: ?[<>=!~]=?[^'\"\n]{{0,40}})?)['\"]\)",
        "No local packages or working download links found for tensorflow-gpu==1.4.0",
        no_wheel,
        origin="setuptools/package_index.py, setuptools/command/easy_install.py",
    ),
    sig(  # from poetry and uv, whose resolvers state which requirement no release meets
        "no-matching-distribution",
        "which doesn't match any versions|no versions of t|there is no version of t",
        rf"depends on (?P<requirement>{TF}) \([^)\n]{{1,60}}\) which doesn't match any versions"
        rf"|\bno versions of (?P<quoted>{TF}) match\b"
        rf"|\bthere is no version of (?P<pinned>(?:{TF})(?:==[\w.]{{1,20}})?)",
        "Because myproject depends on tensorflow-gpu (^1.15) which doesn't match any versions, version"
        " solving"
        " failed.",
        no_wheel,
        origin="poetry, src/poetry/mixology/incompatibility.py; uv, crates/uv-resolver/src/pubgrub/report.rs",
    ),
    sig(  # pipenv prints only this line; the output of pip is elsewhere
        "install-fails-said",
        "an error occurred while installing t",
        rf"An error occurred while installing (?P<requirement>(?:{TF})\b(?:==[\w.]{{1,20}})?)",
        "An error occurred while installing tensorflow-gpu==1.10.1 --hash=sha256:2872b24f8c86! Will try"
        " again.",
        lambda m, s: Symptom(s, "install-fails-said"),
        origin="pipenv/core.py",
    ),
    sig(
        "wheel-platform",
        "is not a supported wheel on this platform|不支持",
        r"(?P<wheel>tensorflow[\w.+-]*\.whl)?[^\n]{0,40}is not a supported wheel on this platform"
        r"|不支持 ?(?:tensorflow[\w.+-]{3,80}\.whl)",
        "ERROR: tensorflow-1.12.0-cp36-cp36m-linux_x86_64.whl is not a supported wheel on this platform.",
    ),
    sig(
        "python-refused",
        "requires a different python|requires-python|requires python",
        r"Package '?(?P<name>tensorflow[\w-]*)'? requires a different Python: (?P<python>[\d.]+\d) not in"
        r"|tensorflow[^\n]{0,60}Requires-Python (?P<range>[<>=!~\d.,]+)",
        "ERROR: Package 'tensorflow' requires a different Python: 3.8.10 not in '>=3.9'",
    ),
    sig(  # from pip itself, on Windows: paths of more than 260 characters
        "install-broke-off",
        "windows long path support enabled",
        r"system does not have (?P<why>Windows Long Path support) enabled",
        "HINT: This error might have occurred since this system does not have Windows Long Path support"
        " enabled.",
        lambda m, s: (Symptom(s, "install-broke-off", (("why", "long-path"),)), Platform(s, "windows")),
    ),
    sig(  # from a shell that treats the brackets as a pattern
        "install-broke-off",
        "no matches found: tensorflow[",
        r"no matches found: (?P<requirement>tensorflow\[[\w,-]+\])",
        "zsh: no matches found: tensorflow[and-cuda]",
        lambda m, s: Symptom(s, "install-broke-off", (("why", "quotes"), ("requirement", m["requirement"]))),
    ),
    sig(  # __cuda is conda's name for the CUDA that the driver supports: conda sees no driver
        "conda-no-driver",
        "__cuda",
        r"nothing provides (?:requested )?__cuda\b(?:[^\n]{0,60}[-_]cuda(?P<cuda>\d{3}))?"
        r"|__cuda\b[^\n]{0,40}\bmissing on the system",
        "  - nothing provides __cuda needed by tensorflow-2.7.0-cuda112py39h9333c2f_0",
    ),
    spoken(  # from conda and mamba
        "python-refused",
        "tensorflow|nightly",
        rf"\b(?P<name>{TF})(?:[ =][^\n]{{0,40}})? -> python ?(?:\[version)?(?P<range>[<>=!~'\d]"
        rf"[^\n]{{0,80}})|package (?P<n2>{TF})-\S{{1,40}} requires python (?P<r2>[<>=!~\d][^\n]{{0,40}})",
        "  - tensorflow -> python[version='3.5.*|3.6.*|3.7.*']",
        near="-> python|requires python",
    ),
    sig(
        "python-32bit",
        "32 bit|32-bit|win32|i686|i386|armv7l|armv6l",
        r"\[MSC v\.\d+ 32 bit|32[- ]bit (?:python|windows|os|system)"
        r"|python[^\n]{0,20}32[- ]bit|\bi[36]86 GNU/Linux|\(Intel\)\] on win32.{0,10}32 bit"
        r"|-win32\.whl|architecture\W{1,6}(?:i[36]86|armv[67]l)|\barmv[67]l\b",
        "Python 3.6.5 (v3.6.5:f59c0932b4) [MSC v.1900 32 bit (Intel)] on win32",
    ),
    sig(
        "python-without-wheels",
        "free-threading build|free-threaded|freethreaded|cp313t|cp314t|[pypy ",
        r"(?P<build>free-threading build|\bcp31[34]t\b|\bcpython-3\.\d{2}\.\d{1,2}\+freethreaded|\[PyPy \d)"
        r"|\bfree-threaded (?:python|build|cpython|interpreter)\b",
        "Python 3.13.3 experimental free-threading build (main, Apr  9 2025, 04:03:52) [Clang 20.1.0]",
        origin="python -VV",
    ),
    sig(
        "gpu-package-removed",
        'tensorflow-gpu" package has been removed|the tensorflow-gpu package has been removed|'
        "tensorflow-gpu has been removed|tensorflow-gpu package has been removed|"
        'the \\"tensorflow-gpu\\" package|removed! please install|tensorflow-gpu" has been|'
        'tensorflow-gpu\\" has been|tensorflow-gpu\\" package has been|tensorflow-gpu\\ |'
        "package has been removed!",
        r"tensorflow-gpu\\?\"? (?:package )?has been removed|package has been removed!",
        'The "tensorflow-gpu" package has been removed!',
    ),
    sig(  # no other release of this package was ever available as a source package
        "gpu-package-removed",
        "for tensorflow-gpu|for tensorflow_gpu|build tensorflow-gpu|tensorflow-gpu (setup.py)|"
        "failed to build",
        r"(?:Running setup\.py (?:install|bdist_wheel|clean|egg_info) for|(?:Failed building|Building|ERROR:"
        r" Failed building) wheel for) tensorflow[-_]gpu\b(?!==)"
        r"|Failed to build (?:[\w.-]+ ){0,4}tensorflow[-_]gpu\b",
        "  Building wheel for tensorflow-gpu (setup.py) ... error",
    ),
    sig(
        "pip-resolver-conflict",
        "which is incompatible|pip's dependency resolver does not currently",
        r"(?P<package>[\w-]+) (?P<version>[\w.]+) (?:requires|has requirement) (?P<requirement>[^\n]{1,80}?),"
        r" (?:but you(?:'ll)? have|but you'll have) (?P<have>[\w-]+ [\w.]+) which is incompatible",
        "tensorflow 2.15.0 requires numpy<2.0.0,>=1.23.5, but you have numpy 2.0.1 which is incompatible.",
    ),
    sig(
        "pip-resolver-conflict",
        " has requirement ",
        r"(?P<package>[\w-]+) (?P<version>[\w.]+) has requirement (?P<requirement>[^\n]{1,80}?),"
        r" but you have (?P<have>[\w-]+ \w[\w.]{0,30}?)\.?\s*$",
        "tensorflow 2.9.1 has requirement protobuf<3.20,>=3.9.2, but you have protobuf 4.21.0.",
        origin="pip/_internal/commands/check.py",
    ),
    sig(
        "pip-unsolvable",
        "have conflicting dependencies|package version conflicts|resolutionimpossible",
        r"Cannot install (?P<packages>[^\n]{1,300}?) because these package versions have (?:conflicting"
        r" dependencies|package version conflicts)|\bResolutionImpossible\b",
        "ERROR: Cannot install keras==2.13.1 and tensorflow==2.10.1 because these package versions have"
        " conflicting dependencies.",
        origin="pip/_internal/resolution/resolvelib/factory.py, get_installation_error",
    ),
    sig(
        "pip-depends-on",
        " depends on ",
        r"^\W{0,12}(?P<package>(?:tensorflow|keras)[\w-]{0,40}) (?P<version>\d[\w.]{0,20}) depends on"
        r" (?P<wants>\w[^\n]{0,100})",
        "    tensorflow 2.10.1 depends on keras<2.11 and >=2.10.0",
        origin="pip/_internal/resolution/resolvelib/factory.py, get_installation_error",
    ),
    sig(
        "wheel-address-gone",
        "error 404|404 client error|no such object: tensorflow/",
        r"No such object: tensorflow/\S{0,60}/(?P<w4>libtensorflow-[\w.-]{1,80}?\.(?:zip|tar\.gz))"
        rf"|HTTP error 404 while getting \S*/(?P<wheel>(?:{TF})-[\w.+-]*\.whl)"
        rf"|\b(?P<w2>(?:{TF})-[\w.+-]*\.whl) because of (?:HTTP )?error 404"
        rf"|404 Client Error: Not Found for url: \S*/(?P<w3>(?:{TF})-[\w.+-]*\.whl)",
        "ERROR: HTTP error 404 while getting"
        " https://storage.googleapis.com/tensorflow/linux/gpu/tensorflow_gpu-1.1.0-cp37-cp37m-"
        "linux_x86_64.whl",
    ),
    sig(  # the Windows wheels that `tensorflow` requires since 2.11
        "intel-package",
        "tensorflow-intel|tensorflow_intel",
        r"\btensorflow[-_]intel\b",
        "pip brings tensorflow-intel",
        lambda m, s: (Symptom(s, "intel-package"), Platform(s, "windows")),
    ),
    sig(  # conda's notation for a build, wherever it is quoted
        "conda-cpu-build",
        "mkl_py|eigen_py",
        r"tensorflow[^\n]{0,60}[\s=](?P<build>(?:mkl|eigen)_py\d{2,3}h[0-9a-f]{5,8}_\d)",
        "conda install gave tensorflow 2.10.0 mkl_py310hd99672f_0",
        lambda m, s: (Symptom(s, "conda-cpu-build", (("build", m["build"]),)), TensorFlowBuild(s, False)),
    ),
)
