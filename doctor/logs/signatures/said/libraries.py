"""CUDA, cuDNN and the folders that they lie in: which version was there and which was wanted, what had to be named."""

from __future__ import annotations

import re

from doctor.facts import PROSE, CudnnVersion, Fact, LibraryNotLoaded, Platform, Source, Symptom
from doctor.logs.signatures.helped import HELPED, HELPED_NEAR
from doctor.logs.signatures.signature import Maker, Signature, spoken

_WANTS = r"(?:needs?|wants?|requires?|expects?|asks? for|looks? for|looking for|only supports?|supports? only)"
_WANTS_NEAR = "need|want|require|expect|ask for|asks for|look|support"
_TF = r"\b(?:tensorflow|tf)\b(?:[-_ ]?gpu)?"
_CUDA = r"\bCUDA ?(?:toolkit |version |release |v)?"
_EXPORT = r"export LD_LIBRARY_PATH=[^\n]{0,80}?(?:cud(?:a|nn)|nvidia|/lib)"
_GOOD = r"(?<!not )(?<!n't )(?<!never )\b(?:worked|fixe[ds]|solve[ds]|success|did the trick|helped|works (?:now|fine|again|for me|like a charm)|(?:now|it) works|got it (?:working|running))\b"
_CUDNN = r"\bcudnn ?(?:version |library |v)?"


def differ(kind: str) -> Maker:
    """A maker of a symptom where the versions `one…` and `two…` of a sentence are not of one release."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        told = {key: value for key, value in match.groupdict().items() if value}
        one = next((value for key, value in told.items() if key.startswith("one")), None)
        two = next((value for key, value in told.items() if key.startswith("two")), None)
        if one and two:
            parts = min(one.count("."), two.count("."), 1) + 1
            if one.split(".")[:parts] == two.split(".")[:parts]:
                return None
        return Symptom(source, kind, ())

    return make


def helped(match: re.Match[str], source: Source) -> Fact:
    """The folder of the libraries had to be named to the loader, and that was it."""
    return Symptom(source, "path-cure-told", (("helped", "yes"),))


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "cuda-version-told",
        "cuda",
        rf"\b(?:had|have|has|having|got|installed|using|used|with|on|is|was)(?: only| just| still)? (?:the )?{_CUDA}(?P<one>\d+\.\d)\b[^\n]{{0,60}}?{_TF}[-\w. ]{{0,16}} {_WANTS}\b[^\n\d]{{0,24}}(?P<two>\d+\.\d)"
        rf"|{_TF}[-\w. ]{{0,16}} {_WANTS}\W{{1,3}}(?:at least )?{_CUDA}(?P<two2>\d+(?:\.\d)?)\b[^\n]{{0,20}}\b(?:but|while|whereas|and|though)\b[^\n\d]{{0,40}}\b(?:have|had|has|is|was|got|installed)\b[^\n\d.]{{0,24}}(?P<one2>\d+\.\d)"
        rf"|{_CUDA}(?P<two3>\d+\.\d)[^\n]{{0,40}}{_TF}[^\n,;]{{0,16}}[,;] ?(?:and )?(?P<one3>\d+\.\d) (?:is|was|are)(?: not|n't) (?:yet )?(?:supported|compatible)"
        rf"|{_CUDA}(?P<one4>\d+\.\d) (?:is|was)(?: not|n't) (?:yet )?(?:supported|compatible)[^\n.]{{0,16}} (?:by|with|in) {_TF}"
        rf"|{_TF}[^\n.]{{0,24}} (?:is|was) (?:built|compiled|made) (?:against|for|with) {_CUDA}(?P<two5>\d+\.\d)\b[^\n]{{0,30}}\b(?:not|but|while|whereas)\b[^\n\d.]{{0,30}}(?P<one5>\d+\.\d)",
        "I had CUDA 9.1 and TF 1.5 needs 9.0",
        differ("cuda-version-told"),
        near=("tf|tensorflow", _WANTS_NEAR + "|not |n't |built|compiled|made "),
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        rf"\b(?:uninstall|remov|purg|delet|replac)\w*(?: the| my)? {_CUDA}(?P<one>\d+(?:\.\d)?)\b[^\n]{{0,40}}?\b(?:install|with|by)\w*(?: the)? {{0,1}}(?:CUDA ?)?(?P<two>\d+\.\d)\b"
        rf"|\b(?:is|are) there (?:an?|any|no)\b[^\n.?]{{0,24}}\b(?:wheel|build|binar\w+|package|version|release)s?\b[^\n.?]{{0,40}}\b(?:for|against|with|supporting) {_CUDA}\d+\.\d"
        rf"|\b(?:anyone|anybody|someone|somebody)\b[^\n.?]{{0,24}}\b(?:wheel|build|built|compiled|binar\w+|package)s?\b[^\n.?]{{0,40}}\b(?:for|against|with) {_CUDA}?\d+\.\d"
        rf"|\b(?:when|will|please|plan\w*|add|adding|no|any|lack of|official)\b[^\n.?]{{0,30}}\bsupport\w*(?: for)? {_CUDA}\d+\.\d",
        "uninstalled CUDA 11, installed 10.1 instead",
        differ("cuda-version-told"),
        near="uninstall|remov|purg|delet|replac|is there|are there|anyone|anybody|someone|somebody|support",
    ),
    spoken(  # what a failed import is called in a title, without the line that says why
        "import-error-said",
        "import",
        r"\bImportError\b(?= (?:with|when|on|after|in|using|for|while|at|by)\b|[^\n:]{0,60}$)|\b(?:can'?t|can ?not|unable to|couldn'?t|fail(?:s|ed)? to) import tensorflow\b|\bimport(?:ing)? (?:of )?tensorflow fail(?:s|ed)\b",
        "TF 1.6 ImportError with CUDA 9.1",
        near="importerror|can't|cant |cannot|can not|unable to|couldn|fail",
    ),
    spoken(
        "cudnn-version-told",
        "cudnn",
        rf"{_CUDNN}[^\n.;,\d]{{0,16}}(?P<one>\d(?:\.\d+)+)\b[^\n]{{0,50}}\b(?:compiled|built) (?:with|against|for)\b[^\n\d]{{0,16}}(?P<two>\d(?:\.\d+)+)"
        rf"|\b{_WANTS}\W{{1,3}}(?:\w+ ){{0,2}}?{_CUDNN}(?P<two2>\d(?:\.\d+)*)\b[^\n]{{0,20}}?\b(?:but|while|whereas|and)\b[^\n\d]{{0,40}}\b(?:have|had|has|is|was|got|installed)\b[^\n\d.]{{0,24}}(?P<one2>\d(?:\.\d+)*)"
        rf"|{_CUDNN}(?P<two3>\d(?:\.\d+)*),? (?:rather than|instead of|and not|not) (?:the )?(?:cudnn ?)?v?(?P<one3>\d(?:\.\d+)*)"
        r"|cudnn64_(?P<two4>\d)\.dll\b[^\n]{0,60}\b(?:no longer|instead of|rather than|and not|not)\b[^\n\d]{0,24}cudnn64_(?P<one4>\d)\.dll"
        r"|libcudnn\.so\.(?P<two5>\d)\b[^\n]{0,60}\b(?:no longer|instead of|rather than|and not|not)\b[^\n\d]{0,24}libcudnn\.so\.(?P<one5>\d)",
        "TensorFlow 1.3 needs cuDNN 6, but I had 5.1",
        differ("cudnn-version-told"),
        near="compiled|built|" + _WANTS_NEAR + "|rather than|instead of|not|no longer",
    ),
    spoken(
        "cudnn-version",
        ("have cudnn", "had cudnn", "has cudnn", "got cudnn", "installed cudnn"),
        r"\b(?:have|had|has|got|installed) cudnn ?v?(?P<version>[4-9])(?![\d\w]|\.\d)",
        "I have cuDNN 8",
        lambda m, s: CudnnVersion(s, m["version"], None, PROSE),
    ),
    spoken(
        "path-cure-told",
        ("ld_library_path",),
        rf"\bLD_LIBRARY_PATH\b[^\n.]{{0,30}}\b(?:was|were|is|are)(?: not|n't) (?:set|exported|defined|there|right|correct)|\b(?:set(?:ting)?|export(?:ed|ing)?|add(?:ed|ing)?|put(?:ting)?|correct(?:ed|ing)|fix(?:ed|ing))\b[^\n]{{0,40}}\bLD_LIBRARY_PATH\b[^\n]{{0,80}}?{HELPED}"
        rf"|{HELPED}[^\n]{{0,24}}\b(?:after|by|when|once|with)\b[^\n]{{0,30}}\b(?:set|export|add|put|correct)\w*[^\n]{{0,40}}\bLD_LIBRARY_PATH\b|\b(?:forgot|forgotten)\b[^\n]{{0,40}}\bLD_LIBRARY_PATH\b",
        "LD_LIBRARY_PATH was not set",
        helped,
        near="not |n't |forgot|" + HELPED_NEAR,
    ),
    spoken(  # the command alone, and the word for its success a line or two before or after it
        "path-cure-told",
        "export ld_library_path",
        rf"{_GOOD}[^\n]{{0,60}}\n(?:[^\n]{{0,24}}\n){{0,2}}[^\n]{{0,12}}{_EXPORT}|{_EXPORT}[^\n]{{0,120}}\n(?:[^\n]{{0,24}}\n){{0,2}}[^\n]{{0,40}}?{_GOOD}",
        "This fixed it:\n\n```\nexport LD_LIBRARY_PATH=/usr/local/cuda-11.2/lib64",
        helped,
        lines=4,
        near="work|fixe|solve|success|the trick|running|helped",
    ),
    spoken(
        "path-cure-told",
        "ldconfig",
        rf"\bldconfig\b[^\n]{{0,60}}?{HELPED}|{HELPED}[^\n]{{0,30}}\bldconfig\b",
        "running ldconfig solved it",
        helped,
        near=HELPED_NEAR,
    ),
    spoken(
        "path-cure-told",
        "path",
        rf"\b(?:add|put|set|includ|append)\w*\b[^\n]{{0,30}}\b(?:CUDA|cuDNN|bin|libnvvp|extras|dlls?)\b[^\n]{{0,50}}\bto (?:the |my |your )?(?:\w+ )?[%$`'\"]?PATH\b[^\n]{{0,80}}?{HELPED}",
        "The solution was to add the bin folder of CUDA to the Path, after a restart TensorFlow recognized the GPU",
        helped,
        near=("cuda|cudnn|bin|libnvvp|extras|dll", HELPED_NEAR),
    ),
    spoken(  # said to be on the disk, and on the list of folders, and yet not found
        "file-said-there",
        ("director", "folder", "path"),
        r"\b(?:files?|dlls?|librar(?:y|ies)|\.dll|\.so)\b[^\n]{0,40}\b(?:is|are|lies?|sits?|exists?|located|copied|put)\b[^\n]{0,30}\b(?:path|director(?:y|ies)|folders?)\b[^\n]{0,40}\b(?:still|yet|but|however|though)\b[^\n]{0,40}(?:n't|not|cannot|unable|fails?|missing)"
        r"|\b(?:can't|cannot|can not|does(?:n't| not)|could(?:n't| not)|unable to|fails? to|still not) (?:find|load|locate|see|notice)\b[^\n]{0,50}\b(?:although|even though|though|but|while)\b[^\n]{0,50}\b(?:in|on) (?:the |my |its )?(?:\w+ )?[`'\"%$]?(?:PATH|LD_LIBRARY_PATH)\b",
        "the files are in a folder that my path names, and still it cannot find them",
        near="not|n't|unable|fail|missing",
    ),
    spoken(
        "works-in-terminal",
        ("pycharm", "spyder", "ipython", "vscode", "vs code", "jupyter", "eclipse", "the ide", "my ide"),
        r"\b(?:works?|fine|ok|can (?:import|be (?:used|imported)))\b[^\n]{0,60}\b(?:terminal|command line|cmd|console|shell|bash|`?python`?)\b[^\n]{0,60}(?:not|n't)\b[^\n]{0,28}?[`'\"]?(?:PyCharm|Spyder|iPython|VS ?Code|Jupyter|Eclipse|(?:the |my )IDE)"
        r"|\b(?:in|from|with) (?:the |a |my )?terminal\b[^\n]{0,40}\b(?:but|while)\b[^\n]{0,24}\b(?:in|from|with) (?:the )?[`'\"]?(?:PyCharm|Spyder|iPython|VS ?Code|Jupyter|Eclipse|(?:the |my )IDE)"
        r"|\bin (?:the )?(?:PyCharm|Spyder|iPython|VS ?Code|Jupyter|Eclipse|(?:the |my )IDE)\b[^\n]{0,30}(?:not|n't) in (?:the |a |my )?terminal\b",
        "I can import it from the terminal but in PyCharm it fails",
        near="terminal|command line|cmd|console|shell|bash|python",
    ),
    spoken(  # cuDNN 8 on Windows asks for it
        "library-not-loaded",
        "zlibwapi",
        r"\b(?:need|requir|miss|lack|download|install|cop(?:y|i)|add|put|plac)\w*\b[^\n.]{0,30}\bzlibwapi(?:\.dll)?|\bzlibwapi(?:\.dll)? (?:\w+ ){0,2}?(?:missing|needed|required|not found|is wanted)",
        "I had to put zlibwapi.dll into the folder",
        lambda m, s: LibraryNotLoaded(s, "zlibwapi.dll", "", "absent", None),
    ),
    spoken(
        "windows-native-told",
        "windows",
        r"2\.10 (?:is|was) the last (?:\w+ ){1,4}?(?:with|having|that had|that has|to have|where)\b[^\n.]{0,24}\bGPUs?\b[^\n.]{0,24} Windows"
        r"|Windows[^\n.]{0,40}\b(?:only )?(?:up to|until|till|through|not after|no later than) (?:and including )?(?:tensorflow |tf )?2\.10\b|\bGPUs?\b[^\n.]{0,16}\b(?:support )?(?:on|for|in|under) (?:native )?Windows (?:\w+ ){0,3}(?:ended|stopped|dropped|ceased|removed)",
        "2.10 was the last release with a GPU build for Windows",
        lambda m, s: (Symptom(s, "windows-native-told"), Platform(s, "windows", rank=2)),
        near="2.10|2.11|gpu",
    ),
    spoken(
        "windows-native-told",
        ("gpu", "2.10"),
        r"\b(?:no |not? (?:\w+ )?|n't (?:\w+ ){0,2}?|stop\w* )?(?:GPUs?|gpu support)\b[^\n.]{0,24}\b(?:not |no longer |n't )?(?:found|detected|used|recogni[sz]ed|supported|work\w*|seen)?[^\n.]{0,12}\b(?:after|since|above|beyond|later than|newer than) (?:version |tensorflow |tf |v)*2\.10\b",
        "GPU not found after 2.10",
        lambda m, s: Symptom(s, "windows-native-told", (("after", "2.10"),)),
        near="2.10",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        rf"\b(?:downgrad|upgrad|switch|revert|roll)\w*(?: \w+){{0,3}}? CUDA ?(?:toolkit |version )?[=v]{{0,2}} ?\d+(?:\.\d)?\b[^\n]{{0,80}}?{HELPED}"
        rf"|\b(?:re-?)?installing (?:the )?CUDA ?v?\d+(?:\.\d)?\b[^\n]{{0,50}}?\b(?:fixed|solved|resolved|did it|helped)\b"
        r"|\buninstall\w*[^\n.]{0,16} (?:previous|other|old|older|all|any|every)(?: versions?)?(?: of)? CUDA\b[^\n]{0,60}?\binstall\w* CUDA ?v?\d",
        "I downgraded to CUDA 9. It works now.",
        near="downgrad|upgrad|switch|revert|roll|installing|reinstalling|uninstall",
    ),
    spoken(
        "path-cure-told",
        "path",
        r"\b(?:folder|director(?:y|ies)|bin|dlls?|cuda|cudnn)\b[^\n.]{0,60}\b(?:missing (?:from|in|on)|(?:is|are|was|were)(?: not|n't) (?:in|on|part of))\b[^\n.\w%]{0,4}(?:\w+ )?[%$`'\"]{0,2}PATH\b"
        r"|\b(?:it|that|this)(?:'?s| is| was) (?:just |only |all |likely |probably )?an? (?:library )?path (?:issue|problem|thing)\b",
        "the folder of the DLLs is missing from %PATH%",
        helped,
        near="missing|is not|are not|was not|were not|n't|path issue|path problem|path thing",
    ),
    spoken(
        "path-cure-told",
        ("bin", "add_dll_directory"),
        r"\badd(?:ing|ed)?\b[^\n]{0,30}\b(?:cuda|cudnn)[\\/ ]{1,2}bin\b[^\n]{0,30}\b(?:sub)?(?:director|folder)\w*|\bos\.add_dll_directory\(",
        "you have to add the cuda\\bin subdirectory",
        helped,
    ),
    spoken(
        "file-said-there",
        "path",
        r"\b(?:cuda|cudnn)\b[^\n]{0,24}\bpaths?\b[^\n]{0,40}\b(?:added|set|correct\w*|right)\b[^\n]{0,50}\b(?:still|but|yet)\b[^\n]{0,40}(?:n't|not|cannot|unable) (?:\w+ ){0,2}(?:recogni[sz]e|find|found|load|see|detect)\w*",
        "the CUDA paths are set correctly, but it cannot find the libraries",
        near="not|n't|cannot|unable",
    ),
    spoken(
        "windows-native-told",
        "windows",
        r"\b(?:does(?: not|n't)|no longer|did(?: not|n't)|stopped|dropped|ended) (?:\w+ ){0,2}?support\w*[^\n.]{0,24}\bGPUs?\b[^\n.]{0,24} Windows\b[^\n.]{0,16} (?:since|from|after|as of) (?:version |tensorflow |tf |v)*2\.1[01]\b",
        "TensorFlow does not support GPUs on Windows since 2.11",
        lambda m, s: (Symptom(s, "windows-native-told"), Platform(s, "windows", rank=2)),
        near="2.10|2.11",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        rf"\b(?:solution|solved|fixed|download\w*|install\w*|need\w*|take|took)\b[^\n.]{{0,60}}\b(?:version|build|release|wheel)s? (?:of tensor ?flow )?(?:that|which) (?:supports?|works? with|(?:is|was) (?:built|compiled|made) for) {_CUDA}\d"
        rf"|\b(?:tried|tested|took|used|with) {_CUDA}(?P<one>\d+\.\d)\b[^\n]{{0,80}}?(?:errors?\b|could not load|(?:fail|crash)\w*\b)[^\n]{{0,60}}?{_CUDA}(?P<two>\d+\.\d)\b[^\n]{{0,40}}?\b(?:tensorflow|tf)",
        "The solution was to install the version that supports CUDA 8.0",
        differ("cuda-version-told"),
        near=(
            "solution|solved|fixed|download|install|need|take|took|tried|tested|used|with",
            "version|build|release|wheel|error|could not load|fail|crash",
        ),
    ),
    spoken(
        "cuda-said-missing",
        "cuda",
        r"\b(?:need|have|had|ought|has|forgot|forgotten) to install (?:the )?(?:NVIDIA )?CUDA\b(?! ?(?:version|driver)|[^\n.]{0,24} (?:to|for) (?:build|compil))|\bCUDA(?: toolkit| libraries)? (?:is|was|are|were)(?: not|n't) (?:even |yet )?installed\b|\b(?:had|have|has|did)(?: not|n't) (?:yet |even )?install(?:ed)? (?:the )?CUDA\b|\b(?:do|does|did)(?: not|n't) have (?:the )?(?:NVIDIA )?CUDA(?: toolkit| libraries)? installed\b|\bwithout (?:having )?(?:installed|installing) (?:the )?CUDA\b",
        "you need to install CUDA 9.0 first",
        near="install",
    ),
    spoken(
        "path-cure-told",
        ("ld_library_path", "ldconfig"),
        r"\b(?:make sure|making sure|check|ensure)\b[^\n]{0,60}\bLD_LIBRARY_PATH\b[^\n]{0,40}\b(?:set|right|correct\w*|proper\w*|contains?|includes?|points?)\b|\b(?:then|run|do|just|by)\W{1,3}(?:a )?[`'\"]{0,3}sudo ldconfig\b",
        "make sure that LD_LIBRARY_PATH is set properly",
        helped,
    ),
    spoken(
        "file-said-there",
        (".so", ".dll"),
        r"\b(?:lib)?cu(?:dart|blas|fft|rand|solver|sparse|dnn)\w*\.(?:so[.\d]*|dll)[`'\"]* (?:is|was|lies|sits|exists)(?: there| located| present)? (?:in|at|under|inside) [`'\"]?(?:/|[A-Z]:)",
        "libcublas.so.9.0 is in /usr/local/cuda-9.0/lib64",
        near="in |at |under|inside",
    ),
)
