"""What was at fault in the end, in other languages than English: as answers.py and program.py have it."""

from __future__ import annotations

from doctor.facts import LibraryNotLoaded, Platform, Symptom
from doctor.logs.signatures.helped import ELSEWHERE
from doctor.logs.signatures.signature import Signature, spoken, words
from doctor.logs.signatures.told import blamed

_GOOD = (
    rf"(?:{ELSEWHERE}|可以了|能用|就行|不报错|되네|됩니다|돌아|できました|直り|直っ|funcion\S{{1,12}}|soluci\S{{1,12}}|resuelt\S{{1,12}}|resolv\S{{1,12}}|consegui\S{{0,12}}|rodou|apareceu|aparece|marche|fonctionne|reconnue?"
    r"|résolu|läuft|gelöst|behoben|geholfen|erkannt|работает|заработал\S{0,12}|решил\S{0,12}|решен\S{0,12}|помогл?о|видна|идёт|идет)"
)
_GOOD_NEAR = (
    ELSEWHERE.replace("잘 ?(?:됨|됩니다|돌아)", "잘").replace("動(?:い|き)", "動")
    + "|可以了|能用|就行|不报错|되네|됩니다|돌아|できました|直り|直っ|funcion|soluci|resuelt|resolv|consegui|rodou|aparec|marche|fonctionne|reconnu|résolu|läuft|gelöst|behoben|geholfen|erkannt"
    "|работает|заработал|решил|решен|помог|видна|идёт|идет"
)

SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "driver-said-old",
        ("controlador", "driver", "pilote", "treiber", "драйвер", "驱动", "드라이버", "ドライバ"),
        r"\b(?:controlador\S{0,12}|drivers?)\b[^\n]{0,70}\b(?:demasiado (?:viej|antigu)\S{1,12}|muy (?:viej|antigu)\S{1,12}|muito antig\S{1,12}|desactualizad\S{0,12}|desatualizad\S{0,12}|obsolet[oa])\b|\bpilotes?\b[^\n]{0,50}(?:trop (?:vieux|ancien)|obsolète|pas à jour|périmé)"
        r"|Treiber\b[^\n]{0,50}(?:zu alt|veraltet)|\bveraltete\S{0,12} (?:\S{1,12}[- ]?)?Treiber"
        rf"|\b(?:actualic\S{{1,12}}|actualizar|atualiz\S{{1,12}})\b[^\n.]{{0,16}}\b(?:controlador\S{{0,12}}|drivers?)\b[^\n]{{0,60}}?{_GOOD}|mis à jour (?:le |mon )?pilote[^\n]{{0,60}}?{_GOOD}|Treiber[^\n.]{{0,16}} aktualisiert[^\n]{{0,40}}?{_GOOD}|обнови\S{{0,12}} (?:\S{{1,12}} )?драйвер\S{{0,12}}[^\n]{{0,40}}?{_GOOD}"
        rf"|(?:드라이버)[^\n.]{{0,8}}(?:업데이트|최신)[^\n]{{0,30}}?{_GOOD}|ドライバ[^\n。]{{0,8}}(?:更新|アップデート)[^\n]{{0,30}}?{_GOOD}",
        "el controlador de la tarjeta era demasiado viejo",
        near="viej|antig|desactualiz|desatualiz|obsolet|obsolèt|vieux|ancien|pas à jour|périmé|zu alt|veraltet|actualic|actualiz|atualiz|mis à jour|aktualisiert|обнови|업데이트|최신|更新|アップデート",
    ),
    spoken(
        "other-process",
        (
            "notebook",
            "cuaderno",
            "kernel",
            "processus",
            "noyau",
            "노트북",
            "커널",
            "ノートブック",
            "カーネル",
            "ноутбук",
            "内核",
        ),
        r"(?:cerr|cierr|fech|apag)\S{0,12} (?:(?:el|los|o|os|la|las|a|as) )?(?:otros?|outros?|primer\S{0,12}|anterior\S{0,12}|demás|demais)? ?(?:notebooks?|cuadernos?|kernels?)|(?:pris|occupé|utilisé)e?s? par (?:d'autres|un autre|l'autre) (?:notebook|processus|noyau)\S{0,12}"
        r"|(?:ander|alt|erst|offen|vergessen)\S{0,12} Notebook\S{0,12}[^\n.]{0,30}(?:geschlossen|beendet|beenden|schließen|belegt|hielt)"
        r"|(?:다른|이전|열려 ?있던) ?(?:주피터 ?)?(?:노트북|커널|notebook)\S{0,12}(?:을|를|이|가)? ?(?:다 |모두 )?(?:종료|닫|꺼|끄|살아)"
        r"|(?:別|他|前)の ?(?:ノートブック|カーネル|notebook)[^\n。]{0,16}(?:終了|閉じ|シャットダウン|残って)|(?:друг|стар|перв|прошл)\S{1,12} (?:ноутбук|notebook)\S{0,12}[^\n.]{0,24}(?:закры|держ|занима)"
        r"|(?:закры|выключ)\S{1,12} (?:друг|стар|перв|прошл)\S{1,12} (?:ноутбук|notebook)|(?:关(?:掉|闭|了)?|杀(?:掉|死)?|停(?:掉|止)?|重启)(?:了)?(?:其他|别的|另一个|之前的?|另外的?)的? ?(?:jupyter ?)?(?:notebook|内核|kernel)",
        "다른 노트북을 종료하니까 잘 됩니다",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="cerr|cierr|fech|apag|pris|occupé|utilisé|geschlossen|beend|schließen|belegt|hielt|종료|닫|꺼|끄|살아|終了|閉じ|シャット|残って|закры|держ|занима|выключ|关|杀|停|重启",
    ),
    spoken(
        "other-process",
        ("gpu 메모리", "gpu메모리", "显存", "видеопамят", "gpuメモリ", "gpu メモリ", "gpu のメモリ", "gpuのメモリ"),
        r"GPU ?메모리(?:를|을)?[^\n.]{0,12}(?:잡고|차지|점유)|显存(?:都|全)?被[^\n，。]{0,12}(?:占|用)(?:了|满|着|完|用)|видеопамять[^\n.]{0,16}(?:занята|занимает|держит)|GPU(?:メモリ| メモリ| のメモリ|のメモリ)[^\n。]{0,12}(?:占有|掴|確保したまま)"
        r"|显存[^\n，。]{0,6}(?:占用了?|已(?:经)?占) ?(?:9\d|100) ?%",
        "显存都被上一个程序占满了",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="잡고|차지|점유|占|用|занят|занима|держ|掴|確保",
    ),
    spoken(
        "both-packages",
        ("tensorflow-gpu", "tensorflow_gpu"),
        r"tensorflow(?![-_]gpu)[^\n.，。]{0,16}(?:поверх|вместо|encima d|por cima d|par-dessus|über das|覆盖|替换|上書き|덮어)[^\n.，。]{0,12}tensorflow[-_]gpu|tensorflow[-_]gpu[^\n.，。]{0,8}(?:被|が|이|가|wird|wurde|foi|fue) ?(?:[^\n.，。]{0,12} )?(?:覆盖|替换|上書き|덮어|überschrieben|ersetzt|substituíd\w|reemplazad\w|sobrescrit\w|заменён|заменен)"
        rf"|(?:удалил|卸载|desinstal\S{{1,12}}|deinstallier\S{{0,12}}|désinstall\S{{1,12}}|삭제|アンインストール)\S{{0,12}}(?:了)? (?:el |o |le )?tensorflow(?![-_]gpu)\b[^\n]{{0,60}}tensorflow[-_]gpu[^\n]{{0,40}}?{_GOOD}",
        "обычный tensorflow ставится поверх tensorflow-gpu",
        near="поверх|вместо|encima|por cima|par-dessus|über|覆盖|替换|上書き|덮어|ersetzt|substituíd|reemplazad|sobrescrit|замен|удалил|卸载|desinstal|deinstall|désinstall|삭제|アンインストール",
    ),
    spoken(
        "cudnn-said-missing",
        "cudnn",
        r"(?:manqu(?:e|ait|er)|faltaba|falta|faltava|fehlte?|не хватало|не было|забыл\S{0,12}(?: \S{1,12})?|olvid[éo]\S{0,12} (?:de )?instalar|esqueci de instalar|oublié d'installer|vergessen)[^\n.]{0,24}\bcuDNN\b|\bcuDNN\b[^\n.]{0,24}(?:fehlte?\b|vergessen|nicht installiert|manquait|faltaba|faltava|no estaba instalad\w|não estava instalad\w|не (?:был[ао]? )?установлен\S{0,12}|忘了(?:装|安装)|没装)",
        "es fehlte nur cuDNN",
        near="manqu|falta|fehlt|не хватало|не было|забыл|olvid|esqueci|oublié|vergessen|nicht installiert|no estaba|não estava|установлен|忘了|没装",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        rf"CUDA ?v?\d+(?:\.\d)? ?(?:を入れてい|が入ってい)[^\n]{{0,100}}?\d+\.\d ?(?:に|を)(?:入れ直|変え|戻)[^\n]{{0,40}}"
        r"|(?:tensorflow|\btf)[-\w. ]{0,16} ?(?:要配|需要|要求|对应的?是?|必须(?:用|是|配)|只支持|得用) ?CUDA ?v?\d|CUDA ?(?:和|跟|与) ?(?:tf|tensorflow)(?:-gpu)? ?的?版本(?:不|对不|没对|冲突)|(?:tf|tensorflow)(?:-gpu)? ?(?:和|跟|与) ?CUDA ?的?版本(?:不|对不|没对|冲突)"
        rf"|(?:instal|pus|coloqu|install|poner)\S{{0,12}} (?:el |la |o |a )?CUDA ?\d+\.\d (?:en lugar|en vez|no lugar|em vez|au lieu|statt)\S{{0,12}}[^\n]{{0,60}}?{_GOOD}|CUDA ?\d+\.\d (?:statt|anstelle|anstatt)[^\n]{{0,24}}\d+\.\d",
        "tensorflow 1.14 要配 CUDA 10.0",
        near="入れ|入って|要配|需要|要求|对应|必须|只支持|得用|版本|en lugar|en vez|no lugar|em vez|au lieu|statt|anstelle",
    ),
    spoken(
        "cudnn-version-blamed",
        "cudnn",
        r"cuDNN ?(?:の)?バージョン[^\n。]{0,12}(?:が|は)(?:違|合)|(?:versión|versão|version) de cuDNN[^\n.]{0,24}(?:equivocad|incorrect|errad|mauvaise)\S{0,12}|falsche\S{0,12} cuDNN",
        "falsche cuDNN-Version",
        near="バージョン|equivocad|incorrect|errad|mauvaise|falsche",
    ),
    spoken(
        "windows-native-told",
        "windows",
        r"2\.1[01]\b[^\n]{0,24}(?:ya no|no hay|já não|não há|não tem|plus de|keine?|нет|больше нет|沒有|没有|不再|なく|ない)[^\n]{0,24}GPU[^\n]{0,24} Windows|Windows[^\n]{0,30}(?:ya no|no hay|já não|não há|plus de|keine?|нет|没有|不再)[^\n]{0,16}GPU[^\n]{0,24}2\.1[01]\b",
        "a partir de la 2.11 no hay GPU en Windows",
        lambda m, s: (Symptom(s, "windows-native-told"), Platform(s, "windows", rank=2)),
        near=("2.10|2.11", "gpu"),
    ),
    spoken(
        "cpu-build-said",
        words(
            "versão mkl|versión mkl|version mkl|mkl-version|versão cpu|versión cpu|version cpu|cpu-version|装的是cpu|装成cpu|装成了cpu|下载的是cpu|下载成cpu|下载成了cpu"
        ),
        r"\b(?:instal|install|tra[ií]|baj|baix)\S{0,12}[^\n.]{0,16} (?:versão|versión|version) (?:mkl|CPU)\b|\b(?:zieht|holt|nimmt|installiert)\b[^\n.]{0,16} (?:mkl|CPU)-Version\b|(?:mkl|CPU)-Version (?:installiert|gezogen)|(?:装|下载)(?:的是|成了?)CPU",
        "o conda instalava a versão mkl do tensorflow",
        blamed("cpu-build-said"),
        near="instal|tra|baj|baix|zieht|holt|nimmt|gezogen|装|下载",
    ),
    spoken(
        "gpu-not-used",
        words(
            "利用率|使用率|占用率|默认|一直|只能|只会|只用|只占|只走|只跑|在 cpu|在cpu|사용률|no aparece|não aparece|n'apparaît pas|taucht nicht auf|не видна|только на процессоре|el procesador|le processeur|na cpu|auf der cpu"
        ),
        r"(?:GPU|显卡)[^\n，。]{0,6}(?:利用率|使用率|占用率)[^\n，。]{0,6}(?:一直|都|始终)?(?:是|为|显示)? ?0(?![.\d])|(?:默认|一直|只能|只会|只用|只占|只走|只跑)[^\n，。]{0,6} ?CPU\b|GPU ?사용률[^\n.]{0,8} 0|GPU[^\n.]{0,12} (?:no aparece|não aparece|n'apparaît pas|taucht nicht auf|не видна)"
        r"|только на процессоре|(?:todo|tudo|tout) [^\n.]{0,20}(?:en el procesador|sur le processeur|na CPU)|só na CPU|nur auf der CPU",
        "训练一直在用CPU,GPU 利用率是 0",
        near="gpu|cpu|显卡|process|proces|процесс",
    ),
    spoken(
        "wants-no-gpu",
        words(
            "没有显卡|没有独显|没有 gpu|没有gpu|no tengo gpu|sem gpu|sin gpu|keine gpu|pas de gpu|нет видеокарты|gpu 없|gpuはな|gpuが無"
        ),
        r"(?:电脑|笔记本|机器|服务器|我)[^\n，。]{0,8}没有(?:显卡|独显| ?GPU)|\bno tengo GPU|\b(?:habe|hat) keine GPU|(?:je n'ai|il n'y a) pas de GPU|\bsem GPU (?:nest|no meu|na minha)|нет видеокарты",
        "我的电脑没有显卡",
    ),
    spoken(
        "library-not-loaded",
        "zlibwapi",
        r"zlibwapi(?:\.dll)? ?(?:缺失|找不到|没有|가 없|が(?:無|な)|fehlt|manque|falta)|(?:缺(?:少|失)?|找不到|es fehlt|il manque|falta(?:ba)?) ?(?:el |la )?zlibwapi",
        "缺少 zlibwapi.dll",
        lambda m, s: LibraryNotLoaded(s, "zlibwapi.dll", "", "absent", None),
    ),
    spoken(
        "host-memory-said",
        words("内存|оперативн|arbeitsspeicher|memoria ram|memória ram|mémoire vive|メインメモリ"),
        r"(?:закончил|кончил|не хвата|забива|исчерпа)[^\n.]{0,24}оперативн[^\n. ]{0,4} памят|оперативн[^\n. ]{0,4} памят[^\n.]{0,30}(?:закончил|кончил|не хвата|забива|исчерпа|мало)|Arbeitsspeicher[^\n.]{0,24}(?:voll|reicht nicht|läuft voll)|(?:memoria|memória) RAM[^\n.]{0,24}(?:llena|lleno|agot\S{1,12}|cheia|acab\S{1,12}|insuficiente)|mémoire vive[^\n.]{0,24}(?:pleine|saturée|insuffisante)|(?<!显)内存(?:被)?(?:占满|爆了|耗尽|用完)",
        "закончилась вся оперативная память",
    ),
)
