"""What people say was at fault, or what helped: a version that does not fit, a folder that was missing from a
path.

These are weak signs in several languages: they choose between causes that a failing line leaves open, and
decide nothing alone.
"""

from __future__ import annotations

import re

from doctor.facts import Fact, LibraryNotLoaded, Platform, Source, Symptom
from doctor.logs.signatures.helped import ELSEWHERE, HELPED, HELPED_NEAR
from doctor.logs.signatures.signature import Maker, Signature, spoken, words

_UNFIT_EN = (
    r"(?:do(?:es)?(?:n't| not) (?:match|fit|suit|go with|work with)|mismatch\w*|(?:is|was|are|were) (?:not"
    r" (?:compatible|supported|the right)"
    r"|incompatible|too (?:new|old|high|low|recent)|(?:the )?wrong|different))"
)
_UNFIT_ZH = (
    r"(?:不(?:符合?|对(?!应)|匹配|一致|兼容|支持|合适|适合|配)|对不上|对应不上"
    r"|太(?:高|低|新|旧)|过(?:高|低)|错了|有问题)"
)
_UNFIT_KO = r"(?:(?:안|잘못) ?맞|맞지 ?않|불일치|호환(?:이|되지)? ?(?:안|않)|다르|달라|틀리|문제)"
_UNFIT_JA = (
    r"(?:合わな|合って(?:い)?な|合っておらず|違って|違う|違い|不一致|対応して(?:い)?な"
    r"|が(?:古|新し)(?:い|く|かった|すぎ))"
)
_UNFIT_ROMANCE = (
    r"(?:no (?:es |son |era |eran )?(?:compatible|correct|coincid|correspond)\w*|incompat\w+|incorrect\w+|não"
    r" (?:é |são |era |eram )?(?:compat|correspond|correta)\w*"
    r"|errad[ao]|ne correspond|pas (?:compatible|la bonne)|non (?:è )?compatibil\w+|sbagliata)"
)
_UNFIT_DE = r"(?:passte? nicht|pass(?:t?en) nicht|falsch\w*|inkompatibel|nicht kompatibel|zu (?:neu|alt))"
_UNFIT_RU = r"(?:не (?:совпада|подход|совмест|соответств)\S+|несовмест\S+)"


def _unfit(name: str) -> str:
    """A pattern for statements that a version of `name` does not fit."""
    return (
        rf"\b{name}\b(?:[- ]?version)?[^\n.]{{0,24}}"
        rf" {_UNFIT_EN}|\b(?:wrong|incompatible|incorrect|mismatch(?:ed|ing)?)(?: version)?(?: of)? {name}\b"
        rf"|{name}\W{{0,3}}的?\W{{0,2}}版本[^\n，。"
        rf"；.]{{0,20}}{_UNFIT_ZH}|{name}[^\n.]{{0,12}}버전[^\n.]{{0,20}}{_UNFIT_KO}"
        rf"|{name}[^\n。]{{0,12}}バージョン[^\n。]{{0,24}}{_UNFIT_JA}|vers(?:ión|ão|ion|ione) d[ei](?:l| la)?"
        rf" {name}[^\n.]{{0,30}}{_UNFIT_ROMANCE}"
        rf"|{name}[- ]Version[^\n.]{{0,24}}{_UNFIT_DE}|верси\S{{1,3}} {name}[^\n.]{{0,24}}{_UNFIT_RU}"
    )


_SUPPOSED = (
    r"(?:\b(?:if|in case|unless|whether|wenn|falls|sofern|если)\b|如果|若|要是|万一|もし|(?:^|[.;:!?¿(>*-]"
    r" ?)(?:si|se|s')\b)[^\n.!?;。！？；]{0,90}\Z"
)
"""A clause that begins as a condition and has not ended yet."""


def blamed(kind: str) -> Maker:
    """A function that makes the symptom `kind` from a match unless the sentence only supposes it: "should
    they not match", "if CUDA does not fit"."""

    def make(match: re.Match[str], source: Source) -> Fact | None:
        before = match.string[max(0, match.start() - 90) : match.start()]
        return None if re.search(_SUPPOSED, before, re.IGNORECASE) else Symptom(source, kind)

    return make


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def another_helped(match: re.Match[str], source: Source) -> Fact | None:
    """Two versions of cuDNN in one sentence, and one works; None if it is the same version twice."""
    first, second = match["first"] or match["first2"], match["second"] or match["second2"]
    if _minor(first) == _minor(second):
        return None
    return Symptom(source, "cudnn-version-blamed", (("one", first), ("other", second)))


_GOOD = f"{HELPED}|{ELSEWHERE}"
_MOVED = (
    r"(?:downgrad|upgrad|switch|chang|roll|revert|mov)\w*(?: back| over)?|went"
    r" back|cambi\w+|mud\w+|trocar?|troquei|gewechselt"
)


def another_cuda(match: re.Match[str], source: Source) -> Fact | None:
    """Two releases of CUDA in one sentence, and one does not fit this TensorFlow; None if it is the same
    release twice."""
    one, other = match.groupdict().get("one"), match.groupdict().get("other")
    if one and other and _minor(one) == _minor(other):
        return None
    return Symptom(source, "cuda-version-unfit", ())


_FILE = (
    r"(?<![a-z\d])(?P<name>(?:lib)?(?:nvcuda|cu(?:da|dart|blas|blasLt|fft|rand|solver|sparse|dnn)\w{0,12})"
    r"(?:\.dll|\.so(?:\.\d+){0,3}))"
)
_LOST = (
    r"(?:找不到|丢失|缺失|缺少|不存在|没有找到|not being found|[을를] 찾을 수 없|[이가]"
    r" ?없|[がを]見つ|が無|がな[いく]|がありません|no (?:se )?(?:encuentra|encontr\w+)|não (?:foi"
    r" )?encontr\w+"
    r"|не найден\S*|отсутствует|fehlt|nicht gefunden|introuvable|manquant\w*|bulunamad\w+|non (?:è stato"
    r" )?trovat\w+|không tìm thấy|nie znaleziono)"
)
_LOST_BEFORE = (
    r"(?:找不到|缺少|没有找到|无法(?:加载|找到|定位)|no se (?:encuentra|encontró|puede encontrar)|falta(?: el"
    r" archivo)?|não encontr\w+(?: o arquivo)?|не (?:найден|находит|удалось найти|удалось загрузить)"
    r"|отсутствует|impossible de (?:trouver|charger)|es fehlt|không tìm thấy)"
)


_CUDNN = r"cudnn\W{0,3}(?:version |v|==?)?"
_WORKS = (
    r"(?:works?|worked|working|fine|solved|no"
    r" error|helped|fixed|ok\b|运行正常|解决|好了|可以|해결|정상|動(?:い|き)|直)"
)

_UNFIT = (
    "match|not fit|n't fit|not suit|n't suit|not go with|n't go with|not work with|n't work with|not"
    " compatible|not supported|not the right|incompat|too new|too old|too high|too low|too"
    " recent|wrong|different|incorrect"
    "|不|对不|对应|太|过|错|有问题|맞|불일치|호환|다르|달라|틀리|문제|合|違|対応|が古|が新し"
    "|no c|no es c|no son c|no era c|no eran c|não c|não é c|não são c|não era c|não eram c|errad|ne"
    " correspond|pas compatible|pas la bonne|non compat|non è compat|sbagliat|passt nicht|passte nicht|passen"
    " nicht|passten nicht|falsch|inkompat|nicht kompat|zu neu|zu alt|не совпад|не подход|не совмест|не"
    " соответств|несовмест"
)
"""Literals; every statement that a version does not fit contains one of them."""

SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "cuda-version-blamed",
        ("cuda",),
        _unfit("CUDA"),
        "系统里的CUDA版本跟TensorFlow对不上",
        blamed("cuda-version-blamed"),
        near=_UNFIT,
    ),
    spoken(
        "cuda-version-unfit",
        ("cuda",),
        r"(?:tensorflow|\btf)\b[-\w. ]{0,24} (?:does not|doesn't|did not|didn't|won't|cannot|can't)"
        r" (?:work|run|go|support|be used)(?: well)?(?: with)? CUDA ?\d"
        r"|(?:tensorflow|\btf)\b[-\w. ]{0,24} (?:works?|is compatible|runs?) (?:only )?with CUDA"
        r" ?(?P<one>\d+\.\d)[^\n.]{0,12},? (?:and )?not (?:with )?(?:CUDA ?)?(?P<other>\d+\.\d)"
        r"|versions? mis{1,2}match\w* (?:between|of) (?:tensorflow|tf)(?:[-_ ]?gpu)?(?:,? and|,| with)"
        r" CUDA|installed CUDA ?\d[\d.]*,? but (?:the"
        r" )?(?:tensorflow|tf)\b[^\n,]{0,20}(?:wants?|needs?|requires?|expects?|supports?)"
        r"|(?:built|compiled) (?:against|for|with) CUDA"
        r" ?(?:\d+(?:\.\d)?)\b[^\n]{0,60}\b(?:has|have|is|got|there is) CUDA ?\d|(?:has|have|hosts?|got) CUDA"
        r" ?\d[\d.]*,[^\n]{0,60}(?:tensorflow|\btf)\b[^\n]{0,40}(?:built|compiled) (?:against|for|with)"
        r" CUDA ?\d"
        r"|(?:tensorflow|\btf)\b[^\n.]{0,30} on CUDA ?\d[\d.]*(?: only)?,? (?:which is )?not"
        r" (?:compatible|supported)",
        "TensorFlow 2.1.0 doesn't work with CUDA 10.2",
        another_cuda,
        near=(
            "not work|not run|not go|not support|not be used|n't work|n't run|n't go|n't support|n't be"
            " used|not with|not cuda|not 0|not 1|not 2|not 3|not 4|not 5|not 6|not 7|not 8|not 9|not"
            " compatible|match|installed cuda|built |compiled "
        ),
    ),
    spoken(
        "cuda-version-unfit",
        "cuda",
        rf"(?:{_MOVED}) (?:to |a |para |auf |from |by )?(?:the )?CUDA ?(?:toolkit |version )?(?:from \d[\d.]*"
        rf" )?(?:to )?\d+(?:\.\d)?\b[^\n]{{0,60}}?(?:{_GOOD})"
        rf"|(?:{_GOOD}) (?:\w+ ){{0,2}}?(?:after|by|when|once) (?:I )?(?:{_MOVED}) (?:to )?CUDA ?\d"
        r"|CUDA ?\d*(?:\.\d)?[^\n，。"
        r"]{0,10}(?:降级|降到|换成|换到|改成|다운그레이드|낮추|낮췄|ダウングレード|下げ)[^\n。"
        rf"]{{0,40}}?(?:{_GOOD})",
        "downgraded CUDA to 10.1, and now the GPU is recognised",
        another_cuda,
        near=(
            "downgrad|upgrad|switch|chang|roll|revert|mov|went"
            " back|cambi|mud|trocar|troca|troquei|gewechselt"
            "|降级|降到|换成|换到|改成|다운그레이드|낮추|낮췄|ダウングレード|下げ"
        ),
    ),
    spoken(
        "cudnn-version-unfit",
        "cudnn",
        r"mis{1,2}match\w* (?:between|of) (?:the |my )?(?:CUDA(?: version)?(?:,| and)? (?:and )?(?:the"
        r" )?cudnn|cudnn(?: version)?(?:,| and)? (?:and )?(?:the )?CUDA)(?: versions?)?"
        r"|cudnn ?v?\d(?:\.\d+)*(?: \w+){0,3} (?:is|are|was) (?:both )?not"
        r" (?:compatible|supported)[^\n.]{0,16}(?:tensorflow|\btf\b)"
        r"|\bcudnn (?:version )?mis{1,2}match\b(?! handle)",
        "the trouble was a mismatch between the CUDA and the cuDNN version",
        near="match|not ",
    ),
    spoken(
        "nccl-error",
        ("nccl",),
        r"\bNCCL\b[^\n.]{0,60}\b(?:only (?:\w+ ){0,3}(?:on|for) Linux|not (?:\w+ ){0,2}(?:on|for) Windows)",
        "NCCL is there only on Linux",
        near="windows|linux",
    ),
    spoken(
        "cudnn-version-blamed",
        ("cudnn",),
        _unfit("cuDNN"),
        "cuDNN的版本不对，换成7.6就好了",
        blamed("cudnn-version-blamed"),
        near=_UNFIT,
    ),
    spoken(
        "cudnn-version-blamed",
        ("cudnn",),
        rf"{_CUDNN}(?P<first>[4-9](?:\.\d+){{1,3}})[^\n]{{1,60}}?{_CUDNN}(?P<second>[4-9]"
        rf"(?:\.\d+){{1,3}})[^\n]{{0,40}}?\b{_WORKS}"
        rf"|(?:downgrad|upgrad|switch|chang|replac|roll|降级|换)\w*\b[^\n.]{{0,30}}{_CUDNN}(?P<first2>[4-9]"
        rf"(?:\.\d+){{1,3}})(?!\d)[^\n]{{1,24}}?(?:to|with|成|为|到)"
        rf" (?:{_CUDNN})?(?P<second2>[4-9](?:\.\d+){{1,3}})",
        "cuDNN 6.0 was on the machine, with cuDNN 5.1 it works",
        another_helped,
        near=(
            "work|fine|solved|no error|help|fixed|ok|运行正常|解决|好了|可以|해결|정상|動|直"
            "|downgrad|upgrad|switch|chang|replac|roll|降级|换"
        ),
    ),
    spoken(
        "gpu-not-used",
        ("rtx", "gtx", "geforce", "quadro", "tesla", "titan", "graphics card", "video card"),
        r"\b(?:RTX|GTX|GeForce|Quadro|Tesla|Titan|graphics card|video"
        r" card)\b[^\n.:;]{0,16}\b(?:is|was|are|does|cannot be|can't be|isn't|wasn't|doesn't)(?: not)?"
        r" (?:found|detected|used|recogni[sz]ed|seen)\b",
        "my RTX 4070 is not found",
        near="found|detected|used|recogni|seen",
    ),
    spoken(  # as words.py has it for English
        "gpu-not-used",
        words(
            "调用不|用不上|用不起|不走gpu|不走"
            " gpu|没有用gpu|没用到gpu|还是用cpu|还是cpu|cpu在跑|看不到gpu|认不到|gpu를|gpu가|gpu 를|gpu"
            " 가|gpuを|gpuが|gpu を|gpu が|не видит|не использует|не находит|не определя|não reconhece|não"
            " detecta|não usa|não está usando|não encontra|no encuentra|no está usando|no utiliza|no ve"
            " la|erkennt|nicht erkannt|nutzt|benutzt|verwendet|ne détecte|ne reconnaît|ne"
            " voit|görmüyor|kullanmıyor|tanımıyor|algılamıyor|không nhận|không sử dụng|không thấy|non"
            " rileva|non vede|non usa|non riconosce|nie widzi|gpu 이|gpu 을|gpu이|gpu을|не"
            " видна|没有用|没用|用到 gpu|不走显卡|不走 显卡|还是用 cpu|还是 cpu|cpu 在跑|no ve|不走|看不到"
        ),
        r"(?:调用不(?:了|到|起来)|用不(?:上|起来)|不走|没(?:有)?用到?|看不到|认不到)"
        r" ?(?:GPU|显卡)|(?:GPU|显卡)\w{0,4}(?:调用不|用不(?:上|起来))|还是(?:用)? ?CPU|CPU ?在跑"
        r"|GPU ?(?:를|가|을|이)[^\n.]{0,12}(?:안 |못|않|없)|GPU ?(?:を|が)[^\n。"
        r"]{0,12}(?:使わ(?:れ)?な|使用(?:さ)?れな|使えな|見つから|認識(?:さ)?(?:れ|し)な|検出されな)"
        r"|не (?:видит|использует|находит|определяет)\S* (?:\w+"
        r" ){0,2}(?:GPU|видеокарт)|(?:GPU|видеокарт\S+)[^\n.]{0,16}не (?:определяется|используется|видна)"
        r"|(?:não (?:reconhece|detecta|usa|está usando|encontra)|no (?:encuentra|está"
        r" usando|utiliza|ve))[^\n.]{0,12} GPU"
        r"|(?:erkennt|nutzt|benutzt|verwendet) (?:\w+ ){0,2}GPU nicht|GPU (?:wird )?nicht"
        r" (?:erkannt|genutzt|benutzt|verwendet)|ne (?:détecte|reconnaît|voit) pas[^\n.]{0,8} GPU"
        r"|GPU\W?\w{0,4} (?:görmüyor|kullanmıyor|tanımıyor|algılamıyor)|không (?:nhận|sử"
        r" dụng|thấy)[^\n.]{0,12} GPU|non (?:rileva|vede|usa|riconosce)[^\n.]{0,6} GPU|nie widzi GPU",
        "TensorFlow не видит GPU",
        blamed("gpu-not-used"),
    ),
    spoken(
        "config-conflict",
        ("memory growth", "memory_growth"),
        r"memory[ _]growth\b[^\n.]{0,30}?\b(?:and|with|plus|vs\.?|versus)\b[^\n.]{0,20}(?:memory["
        r" _]limit|virtual["
        r" _]device)\w*[^\n.]{0,30}(?P<stated>\bincompatib\w+|\bconflict\w*|\bexclu\w+|\btogether"
        r"|\bat the same"
        r" time)"
        r"|\b(?P<t2>forget|lose|ignore|drop)\w*\W{1,3}(?:the )?memory["
        r" _]growth\b|set_(?:virtual|logical)_device_configuration[^\n]{0,12} after"
        r" [^\n]{0,12}set_(?P<t3>memory)_growth",
        "memory growth and a memory limit exclude each other",
        lambda m, s: Symptom(s, "config-conflict", (("stated", "growth and limit"),)),
    ),
    spoken(
        "cpu-build-said",
        words(
            "gpu to mkl|gpu to cpu|gpu to eigen|gpu build to|gpu version"
            " to|gpu_py|cudatoolkit|装的是cpu|装的是 cpu|装成了cpu|装成cpu|装错了|cpu版が|cpu 版が|cpu"
            " 버전이|cpu버전이|gpu to the |装的是|装成|装错"
        ),
        r"(?:downgrad|chang|replac|switch|mov|turn)\w*[^\n.]{0,30}\bfrom (?:the )?GPU (?:build |version )?to"
        r" (?:the )?(?:mkl|CPU|eigen)\b"
        r"|\b(?:environment|env|installation) (?:has|had|holds|contains|brings|got)"
        r" (?:neither|no)\W{1,3}cudatoolkit|装(?:的是|成了?|错了?)\W{0,3}CPU ?版"
        r"|CPU ?版が(?:入|インストール)[^\n。]{0,8}(?:て(?:い)?た|てい(?:る|まし)|された)|CPU ?버전이"
        r" ?(?:설치|깔)",
        "an update changed tensorflow from the GPU build to the mkl build",
    ),
    spoken(  # as words.py and memory.py have it for English
        "other-process",
        ("进程", "プロセス", "프로세스", "proceso", "processo", "процесс", "prozess", "processus"),
        r"(?:杀(?:死|掉)|kill ?掉|结束)[^\n，。]{0,16}进程|进程[^\n，。"
        r"]{0,12}(?:占(?:用|着|满)|没有?(?:关|退出|结束|释放))|(?:残留|僵尸)[^\n]{0,6}进程"
        r"|プロセス[^\n。]{0,14}(?:kill|終了|殺|残って|占有)|他のプロセス[^\n。"
        r"]{0,20}(?:使|占|メモリ)|프로세스[^\n.]{0,12}(?:종료|죽이|죽였|kill|잡고|점유|남아)"
        r"|\b(?:mat|cerr|termin|fech|encerr)\w* (?:el |los |o |os )?process?os?\b|\b(?:otros?|outros?)"
        r" process?os?\b[^\n.]{0,30}(?:GPU|mem[oó]ria)"
        r"|(?:заверш|уби|закры)\S{0,9} (?:\w+"
        r" ){0,2}процесс|процесс\S{0,4}(?!\S)[^\n.]{0,20}(?:занима|держ)\S{1,9} (?:\w+ )?(?:видео)?памят"
        r"|(?:anderer|alter|alte|andere) Prozess\w*\b[^\n.]{0,40}(?:GPU|Speicher)|(?:autre|ancien)s?"
        r" processus[^\n.]{0,40}(?:GPU|mémoire)",
        "先 nvidia-smi 看一下，杀掉残留的 python 进程",
    ),
    spoken(  # the folder of the libraries was put onto Windows' path, and that was it
        "path-suggested",
        ("path", "环境变量", "環境変数", "환경변수", "환경 변수"),
        rf"(?:solved|fixed|resolved|worked)\b[^\n]{{0,24}}\b(?:adding|setting)\b[^\n]{{0,80}}\bPATH\b"
        rf"|(?:add(?:ed|ing)|set(?:ting)?|put(?:ting)?)\b[^\n]{{0,80}}\bPATH\b[^\n]{{0,30}}?\b(?:solved|fixed"
        rf"|resolved|did"
        rf" it|made it work)\b"
        r"|(?:加到|加入|添加到|加进|设置|配置|추가|通し|追加|設定|agreg\w{1,9}|añad\w{1,9}|adicion\w{1,9}"
        r"|добав\S{1,9})[^\n]{0,40}(?:\bPATH|环境变量|環境変数|환경"
        rf" ?변수)[^\n]{{0,40}}?(?:{_GOOD}|直)"
        r"|(?:\bPATH|环境变量|環境変数|환경 ?변수) ?(?:を通|に追加|を設定|에"
        rf" 추가|里加|中加)[^\n]{{0,40}}?(?:{_GOOD}|直)",
        "solved by adding the bin folder of CUDA to PATH",
        near=HELPED_NEAR + "|解决|好了|成功|正常|해결|인식|잘|動|解決|認識|直",
    ),
    spoken(  # which folder Windows has to search for CUDA's or cuDNN's DLLs
        "path-suggested",
        ("path",),
        r"\b(?P<of>CUDA|cuDNN)\b[^\n]{0,100}\b(?:(?:has|have|needs?|must|should|ought)(?: to)?(?: also)?"
        r" be|(?:was|were|is|are)"
        r" (?:missing|not)|isn't|wasn't|lacks?|missing|add(?:ed|ing)?|put|include)\b[^\n]{0,60}[%$`'\""
        r" ]PATH\b"
        r"|[%$`'\" ]PATH\b[^\n]{0,60}\b(?:has|have|needs?|must|should|lacks?|missing|does(?:n't|"
        r" not))\b[^\n]{0,60}\b(?P<of2>CUDA|cuDNN)\b",
        "the folder cuDNN\\bin must be on your %PATH%",
        lambda m, s: Symptom(s, "path-suggested", (("of", m["of"] or m["of2"]),)),
        near="cuda|cudnn",
    ),
    spoken(
        "python-version-blamed",
        ("python", "파이썬"),
        r"python ?的?版本(?:太|过)(?:高|低|新|旧)|(?:python|파이썬) ?3?\.?\d*[^\n]{0,40}(?:装不(?:了|上)"
        r" ?tensorflow|tensorflow[^\n]{0,20}見つからな|텐서플로우?[^\n]{0,12}설치가? ?(?:안|되지))"
        r"|(?:downgrad|switch|revert|went back)\w* (?:back )?(?:my )?(?:to )?python (?:version )?(?:from"
        r" [\d.]+ )?(?:to )?3\.\d+\b[^\n.]{0,50}\b(?:installs?|installed|found|pip)\b",
        "python版本太高，装不了tensorflow",
        near="版本|装不|설치|見つから|downgrad|switch|revert|went back",
    ),
    spoken(
        "python-package-conflict",
        ("numpy", "protobuf", "h5py", "typing_extensions", "typing-extensions", "ml_dtypes", "ml-dtypes"),
        r"\bdowngrad\w* (?:the )?(?:numpy|protobuf|h5py|typing[_-]extensions|ml[_-]dtypes)(?: version)?"
        rf" (?:to|from) [<=]*\d[\d.]*[^\n.]{{0,40}}?(?:{_GOOD})"
        r"|(?:numpy|protobuf|h5py)(?:的?版本)?[^\n]{0,24}?(?:降到|降为|降至|낮추|다운그레이드|下げ|ダウングレード)[^\n。"
        rf"]{{0,40}}?(?:{_GOOD}|直)",
        "downgrading numpy to 1.26.4 fixed it",
    ),
    spoken(  # as loading.py has it for what programs print
        "library-not-loaded",
        (".dll", ".so"),
        rf"{_FILE}[`'\"”」]?(?:[^\n\w]{{0,3}}|[^\n]{{0,3}}是){_LOST}"
        rf"|{_LOST_BEFORE}[^\n\w]{{0,4}}{_FILE.replace('name', 'n2', 1)}",
        "No se encuentra cudart64_110.dll",
        lambda m, s: LibraryNotLoaded(s, (m["name"] or m["n2"]).strip(), "", "absent", None),
        near=(
            "找不到|丢失|缺失|缺少|不存在|没有找到|无法|not being found|찾을 수"
            " 없|없|見つ|無|がな|がありません|encuentr|encontr|удалось|найд|находит|отсутствует|fehlt|nicht"
            " gefunden|introuvable|manquant|bulunamad|trovat|không tìm|znaleziono|falta|impossible de "
        ),
    ),
    spoken(
        "windows-native-stated",
        ("windows", "윈도우"),
        r"2\.1[01]\b[^\n]{0,40}(?:Windows|윈도우)[^\n]{0,40}(?:不(?:再)?支持|使えな|サポートされな|(?:지원|사용)[^\n]{0,8}(?:안"
        r" ?|않|중단|불가|못)|no (?:longer|soporta)|não suporta|not support|dropped|nicht (?:mehr"
        r" )?unterst|не поддерж)"
        r"|2\.1[01]\b[^\n]{0,40}(?:不(?:再)?支持|no longer supports?|does(?: not|n't) support|dropped|no"
        r" soporta|não suporta|не поддерж\S+|nicht mehr|ne supporte plus)[^\n]{0,30}(?:native )?Windows"
        r"|2\.10 (?:is|was) the last (?:\w+ ){1,4}(?:that )?support\w* GPUs? on (?:native[-"
        r" ])?Windows|dropp?ed (?:native )?(?:GPU support (?:on|for)[^\n]{0,20} Windows|Windows"
        r" GPU[^\n]{0,20} support)[^\n]{0,20}2\.1[01]"
        r"|\bWindows\b[^\n]{0,50}\b(?:tensorflow|tf)\b[^\n]{0,30}(?:\b(?:not|no|never)"
        r"|n't)\b[^\n]{0,12}\b(?:higher|newer|later|above|greater|more|beyond)\b(?:"
        r" than)? v?2\.10\b",
        "TensorFlow 2.11 no longer supports the GPU on Windows",
        lambda m, s: (Symptom(s, "windows-native-stated"), Platform(s, "windows", rank=2)),
        near="2.10|2.11",
    ),
    spoken(
        "path-suggested",
        ("ldconfig",),
        r"\bldconfig(?: /\S{1,80})?[`'\"]{0,3} (?:works|worked|did it|fixed|solved|helps|helped)\b",
        "sudo ldconfig /opt/cuda/lib64 works for me",
        near=" work| did it| fixed| solved| help",
    ),
    spoken(  # weak: chooses where memory ran out and nothing says for what
        "batch-size-blamed",
        ("batch", "バッチ", "배치"),
        r"\b(?:decreas|reduc|lower|small|halv|cut)\w*\W{1,3}(?:\w+ ){0,3}?[`'\"-]{0,3}batch(?:[-_"
        r" ]?size)?\b|batch[-_ ]?size[^\n.]{0,12} (?:too (?:big|large|high)|down to|from \d+ to \d)"
        r"|(?:减小|调小|降低|缩小)[^\n，。]{0,6}batch|batch_?\s?size[^\n，。"
        r"]{0,8}(?:调小|改小|减小|太大|过大|설정|줄)|バッチ(?:サイズ)?[^\n。"
        r"]{0,8}(?:小さく|減ら)|배치[^\n.]{0,10}줄"
        r"|(?:reduc|disminu|baj|diminu)\w*[^\n.]{0,16} batch|уменьш\S+[^\n.]{0,16} batch",
        "I decreased the batch size to 4",
    ),
    spoken(
        "path-suggested",
        words(
            "export ld_library_path|ld.so.conf|add ld_library_path|`ld_library_path|set path=|ldconfig|to the"
            " path|to path|환경변수|환경 변수|环境变量|環境変数|add 'ld_library_path=|add"
            ' "ld_library_path=|adding \'ld_library_path=|adding "ld_library_path=|adding ld_library_path='
        ),
        r"export LD_LIBRARY_PATH=[^\n]{0,160}(?:cuda|/lib|nvidia)|\badd(?:ing)?"
        r" [`'\"]?LD_LIBRARY_PATH=[^\n]{0,80}|/etc/ld\.so\.conf\.d/\S+(?!\S)[^\n]{0,60}"
        r"(?:\n[^\n]{0,20})?ldconfig"
        r"|>> ?/etc/ld\.so\.conf\.d/\w+|\bset"
        r" PATH=[^\n]{0,60}(?:cud(?:a|nn)|%PATH%)|LD_LIBRARY_PATH[^\n]{0,60}(?:环境变量|環境変数|환경 ?변수)",
        'export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/opt/cuda/lib64"',
        lines=2,
    ),
)
