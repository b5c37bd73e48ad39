"""What does not work or does not fit, in other languages than English: as words.py, cards.py and machine.py have it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import PROSE, CudaVersion, Fact, Source, Symptom
from doctor.logs.signatures.said.libraries import differ
from doctor.logs.signatures.signature import Signature, glued, spoken, words
from doctor.logs.signatures.supposed import supposed

_CAPABILITY = r"(?:算力|计算能力|計算能力|연산 ?능력|컴퓨팅 ?(?:능력|역량)|capacidad de c[oó]mputo|capacidade de computação|capacité de calcul|Rechenfähigkeit|вычислительн\S{1,6} (?:возможност|способност|мощност)\S{1,4})"
_LEAST = r"(?:最低|最小|至少|要求|需要|以上|必须|最低で|必要|최소|이상|필요|m[ií]nim\S{1,3}|al menos|pelo menos|exige|requiere|requer|necesita|precisa|au moins|minimum|mindestens|braucht|benötigt|verlangt|минимум|минимальн\S{1,4}|не ниже|не менее|требует\S{0,2}|нужн\S{1,3})"

_SERIES = r"(?P<series>[345]0)(?:系|显卡| ?번 ?대|番台|シリーズ|er[- ]Serie|-й сери)"
_KERNEL = r"(?:Kernel-?Updates?|Kernel Updates?|actuali\S{1,8} (?:del|el) kernel|atuali\S{1,6} (?:do|o) kernel|mises? à jour du noyau|обнов\S{1,8} ядр|커널(?:이)? ?업데이트|カーネル(?:の)?(?:更新|アップデート)|内核(?:更新|升级)|(?:更新|升级)了?内核)"
_DRIVER = r"(?:NVIDIA|Treiber|controlador|driver|pilote|драйвер|видеокарт|드라이버|ドライバ|驱动|显卡)"
_GONE = r"(?:nicht mehr|kaputt|\bweg\b|no funciona|dejó de|deja de|não funciona|parou|para de|ne (?:marche|fonctionne)|perdu|не работа|перестал|слете|пропа|안 ?(?:되|돼|잡)|죽|動かな|使えな|消え|失效|不能用|没了|用不了|挂了|掉了|不见|坏了|stop\w* working)"


def told(match: re.Match[str], source: Source) -> Fact | None:
    """A GPU that is said not to be used, unless the words say that this is only supposed."""
    return None if supposed(match) else Symptom(source, "gpu-not-used")


def weaker(match: re.Match[str], source: Source) -> Fact | None:
    """A compute capability below the one that is said to be wanted."""
    have, need = (next(v for k, v in match.groupdict().items() if v and k.startswith(key)) for key in ("have", "need"))
    if tuple(map(int, have.split("."))) >= tuple(map(int, need.split("."))):
        return None
    return Symptom(source, "gpu-ignored-capability", (("cc", have), ("minimum", need), ("told", "yes")))


def newer(match: re.Match[str], source: Source) -> Fact:
    """A card of a series that CUDA has code for only from a certain release on."""
    series = next(value for key, value in match.groupdict().items() if value and key.startswith("series"))
    return Symptom(source, "gpu-needs-newer", (("cuda", "12" if series.startswith("5") else "11"),))


def installed(match: re.Match[str], source: Source) -> Iterator[Fact]:
    """The CUDA that was there, and that it is not the one that is wanted."""
    made = differ("cuda-version-told")(match, source)
    if isinstance(made, Symptom):
        yield made
        yield CudaVersion(source, match["one"] or match["one2"], rank=PROSE)


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "gpu-not-used",
        ("没", "未", "总是", "仍然", "依旧", "却", "都", "全", "是", "只"),
        r"(?:没有?|未)(?:成功|真正|正确)?(?:使用|调用|利用|启用|检测|识别|找|发现|走)(?:到|上|出|了)? ?(?:我的|任何|独立)?(?:GPU|显卡)(?!的? ?(?:版|内存|显存|驱动|占用))"
        r"|(?:GPU|显卡)(?:都|也|根本|完全|一直|始终|并|却|还是|就是|压根){0,3}(?:没有?|未)(?:被|有)?(?:使用|调用|利用|启用|检测|识别|工作|在跑|动静|反应|用上)"
        r"|(?:总是|仍然|依旧|却|都|全)(?:是|在)?(?:用|使用|跑在|运行在|在)[^\n，。]{0,4}CPU|(?<!不)是 ?(?:用 ?)?CPU ?(?:在|来)(?:跑|训|算)|(?:只|只能|只好)(?:拿|用) ?CPU ?(?:去|来)?(?:训|跑|算)",
        "程序没有调用到GPU",
        told,
        near="gpu|cpu|显卡",
    ),
    spoken(
        "gpu-not-used",
        words(
            "n'utilis|n'emploie|n'exploite|pas sur|et non sur|ne fait rien|ne trouve|ne détecte|ne reconna|ne voit|ne sert|n'est |ne sont |n'a été |tourne|se passe|s'exécute|travaille"
        ),
        r"n'(?:utilise|emploie|exploite|utilisait)\w{0,3} (?:pas|aucun|jamais|plus|toujours pas)[^\n.]{0,12} (?:GPU|cartes? (?:graphique|nvidia))|\bne (?:trouve|détecte|reconna[iî]t|voit)\w{0,3} (?:pas|aucun|plus)[^\n.]{0,10} (?:GPU|carte)"
        r"|\bGPU[^\n.]{0,16} (?:n'est|ne sont|n'a été) (?:pas|jamais|plus) (?:du tout )?(?:utilis|détect|reconn|vu|trouv|exploit|sollicit)|\bGPU ne (?:fait rien|sert (?:à rien|pas))|(?:tourne|se passe|s'exécute|travaille)\w{0,3} (?:uniquement |seulement |toujours |encore |que )sur (?:le |mon |ma )?(?:CPU|processeur)|\btout (?:tourne|se passe|s'exécute) sur (?:le |mon )?(?:CPU|processeur)|sur le (?:CPU|processeur),? (?:et pas|et non|pas) sur (?:le |mon )?GPU",
        "Keras n'utilise pas le GPU",
        told,
        near="gpu|cpu|processeur|carte",
    ),
    spoken(
        "gpu-not-used",
        words(
            "usa |utiliza |detecta |reconoce |reconhece |encuentra |encontra |aprovecha |enxerga |está usando|está utilizando|está detectando|esta usando|está siendo|está sendo|se usa|se utiliza|se detecta|se reconoce"
            "|es usad|es utilizad|es detectad|es reconocid|é usad|é utilizad|é detectad|é reconhecid|hace nada|faz nada|en cpu|en la cpu|con la cpu|con el cpu|en el cpu|na cpu|no cpu|pela cpu"
        ),
        r"\b(?:no|não) (?:me |la |se |lo |a |o )?(?:usa|utiliza|detecta|reconoce|reconhece|encuentra|encontra|aprovecha|enxerga|está usando|está utilizando|está detectando|esta usando) [^\n.]{0,12}(?:GPU|tarjeta (?:gráfica|de v)|placa de v)"
        r"|\b(?:GPU|tarjeta gráfica|placa de vídeo)[^\n.]{0,16} (?:no|não) (?:se usa|se utiliza|se detecta|se reconoce|está siendo|está sendo|es usad|es utilizad|es detectad|es reconocid|é usad|é utilizad|é detectad|é reconhecid|hace nada|faz nada)"
        r"|\b(?:sigue|continúa|continua|se queda|fica|siempre|sempre|todo|tudo|solo|sólo|só|apenas|únicamente|somente)\b[^\n.]{0,16} (?:en CPU|en la CPU|con la CPU|con el CPU|en el CPU|na CPU|no CPU|pela CPU)\b|\b(?:solo|sólo|só|siempre|sempre|apenas|únicamente|somente) (?:usa|utiliza) [^\n.]{0,8}CPU\b",
        "Keras no detecta la GPU",
        told,
        near="gpu|cpu|tarjeta|placa",
    ),
    spoken(
        "gpu-not-used",
        (" nicht ", " keine ", "auf der cpu", "über die cpu", "mit der cpu", "nur cpu", "nur die cpu"),
        r"(?:GPU|Grafikkarte)n?\b[^\n.,]{0,16} (?:wird|wurde|werden)\b[^\n.,]{0,24} nicht (?:\w{1,12} )?(?:genutzt|benutzt|verwendet|erkannt|gefunden|angesprochen|ausgelastet)|(?:findet|sieht|erkennt|nutzt|benutzt|verwendet)\b[^\n.,]{0,10} (?:(?:die |meine )(?:GPU|Grafikkarte)n? nicht |keine (?:GPU|Grafikkarte))"
        r"|\b(?:nur|immer|alles|weiterhin|trotzdem|stattdessen)\b[^\n.,]{0,16} (?:auf der|über die|mit der) CPU\b|\bnur (?:die )?CPU (?:genutzt|benutzt|verwendet|rechnet|arbeitet)",
        "meine GPU wird von Keras leider nicht genutzt",
        told,
        near="gpu|cpu|grafikkarte",
    ),
    spoken(
        "gpu-not-used",
        (" не ", "на cpu", "через cpu", "на цп", "через цп", "на процессоре"),
        r" не (?:использ\S{1,6}|задейств\S{1,8}|распозна\S{1,4}|подхват\S{1,6}|груз\S{1,3}|нагружа\S{1,3}|вид\S{1,4}|определя\S{1,3}|находит) (?:мою |мой |мо[её] )?(?:GPU|видеокарт)|(?:GPU|видеокарт\S{1,3})(?: \S{1,16}){0,3}? не (?:использ|задейств|распозн|определя|подхват|нагруж|груз|вид)"
        r"|(?:только|всегда|вс[её] равно|вс[её]|по-прежнему|почему-то|упорно)[^\n.,]{0,24} (?:на CPU|через CPU|на ЦП|через ЦП|на процессоре)",
        "обучение всё равно идёт на CPU",
        told,
        near="gpu|cpu|видеокарт|цп|процессор",
    ),
    spoken(
        "gpu-not-used",
        (
            *glued(("gpu", "gpu ", "グラボ", "グラフィックボード"), ("が", "を", "は", "も")),
            *glued(("cpu", "cpu "), ("で", "のみ", "だけ", "しか", "ばかり")),
        ),
        r"(?:GPU|GPU |グラボ|グラフィックボード)[がをはも][^\n。、]{0,8}(?:使って(?:い|くれ)?(?:な|ませ)|使われて(?:い)?(?:な|ませ)|使用されて(?:い)?(?:な|ませ)|利用されて(?:い)?(?:な|ませ)|認識(?:されて?|して|でき)(?:い|くれ)?(?:な|ませ)|認識しま?せ|検出(?:され|でき)(?:て(?:い)?)?(?:な|ませ)|動いて(?:い)?(?:な|ませ)|動か(?:な|ず)|動きませ|見えて(?:い)?(?:な|ませ)|見え(?:な|ませ)|反応しな|反応しませ)"
        r"|(?:CPU|CPU )(?:のみ|だけ|しか|ばかり)[^\n。、]{0,8}(?:動い|動作し|実行され|学習し|計算し|使われ|使って)|(?:CPU|CPU )で[^\n。、]{0,10}(?:てしま|ちゃ)",
        "学習中にGPUが使われていません",
        told,
    ),
    spoken(
        "gpu-not-used",
        (
            "인식",
            "사용",
            "감지",
            "작동",
            "동작",
            "활용",
            "잡",
            "쓰",
            "쓴",
            "씀",
            "써",
            "돌",
            "놀고",
            "실행되",
            "학습되",
            "학습이",
        ),
        r"(?:GPU|그래픽 ?카드) ?(?:를|가|는|도|로)?[^\n.,]{0,10}(?:인식|사용|감지|작동|동작|활용)(?:을|를|이|가)?(?:하지|되지|이 ?안|가 ?안| ?안| ?못)|(?:GPU|그래픽 ?카드) ?(?:를|가|는|도|로) ?(?:안|못) ?(?:잡|써|쓰|쓴|돌|씀)|(?:GPU|그래픽 ?카드) ?(?:를|가|는|도) [^\n.,]{0,6}(?:잡히지|잡지|쓰지|돌지|놀고)"
        r"|CPU ?(?:로만|만|로 ?(?:계속|자꾸|여전히)) ?[^\n.,]{0,6}(?:돌아[가갑감간갔]|돌고|돌려|동작|작동|실행되|학습되|학습이|사용되|사용[하합한했]|쓰이|쓰고)",
        "학습할 때 CPU로만 돌아갑니다",
        told,
        near="gpu|cpu|그래픽",
    ),
    spoken(
        "gpu-not-used",
        ("idle", "0%", "0 %", "unused", "does nothing", "not doing anything"),
        r"\b(?:GPUs?|graphics card)\b(?: (?:utili[sz]ation|usage|load))?(?: \([^)\n]{0,24}\))?(?: (?:is|are|was|sits?|stays?|remains?|just|almost|nearly|totally|completely|mostly|always|at|on|of)){1,4} (?:idle|0 ?%|unused)|\b(?:GPU|graphics card) (?:does nothing|is not doing anything)",
        "the GPU is idle all the time",
        told,
        near="gpu|graphics card",
    ),
    spoken(
        "gpu-ignored-capability",
        words(
            "算力|计算能力|計算能力|연산|컴퓨팅|cómputo|computo|computação|capacité de calcul|rechenfähigkeit|вычислительн"
        ),
        rf"{_CAPABILITY}[^\n\d.。]{{0,12}}{_LEAST}[^\n\d。]{{0,16}}(?P<need>\d\.\d)(?![\d.])[^\n。]{{1,40}}?{_CAPABILITY}[^\n\d。]{{0,12}}(?P<have>\d\.\d)(?![\d.])"
        rf"|{_LEAST}[^\n\d。]{{0,16}}{_CAPABILITY}[^\n\d。]{{0,12}}(?P<need2>\d\.\d)(?![\d.])[^\n。]{{1,60}}?(?P<have2>\d\.\d)(?![\d.])"
        rf"|{_CAPABILITY}[^\n\d。]{{0,16}}(?P<have3>\d\.\d)(?![\d.])[^\n。]{{1,50}}?{_LEAST}[^\n\d。]{{0,20}}(?P<need3>\d\.\d)(?![\d.])",
        "最低算力要求是3.5，而我的显卡算力是2.1",
        weaker,
    ),
    spoken(
        "gpu-needs-newer",
        ("系", "显卡", "번", "番台", "シリーズ", "er-serie", "er serie", "-й сери", "serie ", "série "),
        rf"(?:cuda ?v?(?:8|9|10)(?:\.\d)?|(?:tensorflow|tf)(?:[-_]gpu)?\W{{0,3}}1\.\d{{1,2}})(?!\d)[^\n。]{{0,90}}?(?<![\d.]){_SERIES}|(?<![\d.]){_SERIES.replace('series', 'series2')}[^\n。]{{0,40}}(?:不支持|只支持|只能|至少|最低|需要|要求|지원|필요|対応|必要|nur|erst|только|нужн|не поддерж)[^\n。]{{0,24}}cuda ?v?1[1-9]"
        r"|(?<![\d.])(?P<series3>[345]0)(?:系列?)?(?:的)?显卡[^\n。]{0,12}(?:只能|只支持|至少|必须|需要|要)(?:用|装)? ?cuda ?v?1[1-9]|s[eé]rie (?P<series4>[345]0)\b[^\n.]{0,50}(?:solo|sólo|só|necesita|precisa|requiere|exige|seulement|nécessite|besoin|demande)[^\n.]{0,16} CUDA ?1[1-9]",
        "30系显卡只支持cuda11以上",
        newer,
        near=("cuda|tensorflow|tf", "30|40|50"),
    ),
    spoken(
        "driver-said-down",
        words(
            "kernel-update|kernelupdate|kernel update|del kernel|el kernel|do kernel|o kernel|jour du noyau|ядр|커널|カーネル|内核"
        ),
        rf"{_DRIVER}[^\n]{{0,80}}{_GONE}[^\n]{{0,100}}{_KERNEL}|{_KERNEL}[^\n]{{0,60}}{_DRIVER}[^\n]{{0,40}}{_GONE}|{_DRIVER}[^\n]{{0,40}}{_KERNEL}[^\n]{{0,40}}{_GONE}",
        "Nach jedem Kernel-Update läuft der NVIDIA-Treiber nicht mehr",
        near="nvidia|treiber|controlador|driver|pilote|драйвер|видеокарт|드라이버|ドライバ|驱动|显卡",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        r"CUDA ?(?:版本)?(?:装|安装|下|下载)(?:成|的是|成了|错了?)(?:了)? ?(?:CUDA ?)?v?(?P<one>\d+\.\d)[^\n。]{0,40}?(?:要|需要|写的是?|对应|支持|应该|才)[^\n。\d]{0,12}(?P<two>\d+\.\d)"
        r"|CUDA ?v?(?P<one2>\d+\.\d)[^\n。]{0,20}(?:版本)?(?:太高|过高|太新|太低|太旧|不对|不行|不支持)[^\n。]{0,40}?(?:换|装|改|降|要|需要)[^\n。\d]{0,10}(?P<two2>\d+\.\d)",
        "CUDA装成了10.1，文档要的是10.0",
        installed,
        near="装|下|太高|过高|太新|太低|太旧|不对|不行|不支持",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        r"CUDA[^\n，。]{0,12}(?:跟|和|与|同)[^\n，。]{0,20}(?:tensorflow|\btf)[^\n，。]{0,10}版本(?:都|就|完全|根本)?(?:对不上|不对应|不匹配|不一致|不符|没对上|不兼容)|(?:tensorflow|\btf)[^\n，。]{0,12}(?:跟|和|与|同)[^\n，。]{0,12}CUDA[^\n，。]{0,10}版本(?:都|就|完全|根本)?(?:对不上|不对应|不匹配|不一致|不符|没对上|不兼容)",
        "cuda跟tensorflow-gpu的版本对不上",
        near="版本",
    ),
    spoken(
        "works-in-terminal",
        ("pycharm", "spyder", "vscode", "vs code", "jupyter"),
        r"(?:PyCharm|Spyder|VS ?Code|Jupyter)[^\n]{0,40}(?:但|可|而|却|不过|奇怪)[^\n]{0,24}(?:终端|命令行|terminal|cmd|控制台)[^\n。，]{0,12}(?:好的|正常|没问题|可以|能跑|没事|不报错)|(?:终端|命令行|terminal|cmd|控制台)[^\n。，]{0,16}(?:好的|正常|没问题|可以|能跑|没事|不报错)[^\n]{0,20}(?:PyCharm|Spyder|VS ?Code|Jupyter)[^\n]{0,16}(?:不行|报错|不能|失败|找不到)"
        r"|(?:ターミナル|コマンドライン|端末)[^\n。]{0,20}(?:動く|動き|動作し|問題な|通る)[^\n。]{0,20}(?:PyCharm|Spyder|VS ?Code|Jupyter)[^\n。]{0,20}(?:エラー|動かな|失敗|だめ|ダメ)|(?:터미널|명령 ?프롬프트)[^\n.]{0,20}(?:잘|되는데|정상|문제)[^\n.]{0,24}(?:PyCharm|Spyder|VS ?Code|Jupyter)[^\n.]{0,24}(?:안 ?되|오류|에러|실패)"
        r"|(?:терминал|консол)\S{1,3}[^\n.]{0,24}работает[^\n.]{0,24}(?:PyCharm|Spyder|VS ?Code|Jupyter)[^\n.]{0,24}(?:не |нет|ошибк)|(?:PyCharm|Spyder|VS ?Code|Jupyter) ?的? ?(?:terminal|终端)[^\n。，]{0,10}(?:好的|正常|没问题|可以|能跑|没事|不报错)",
        "终端里正常，PyCharm里就报错",
        near="终端|命令行|terminal|cmd|控制台|ターミナル|コマンド|端末|터미널|명령|терминал|консол",
    ),
    spoken(
        "other-process",
        (
            "session",
            "程序",
            "脚本",
            "セッション",
            "プログラム",
            "세션",
            "프로그램",
            "сесси",
            "sesión",
            "sesion",
            "sessão",
            "sessões",
            "программ",
        ),
        r"(?:还|又)?(?:开着|跑着|运行着|打开了)(?:别的|其他的?|另一个|好几个|多个)[^\n。，]{0,10}(?:session|程序|脚本)|(?:关(?:掉|闭|了)|停(?:掉|止))(?:了)?(?:别的|其他的?|另一个|之前的?|多余的?)[^\n。，]{0,6}(?:session|程序|脚本)[^\n。]{0,12}(?:好了|可以|正常|解决|就行)"
        r"|(?:他|別|前)の ?(?:セッション|プログラム)[^\n。]{0,10}(?:閉じ|終了|止め)|(?:다른|이전) ?(?:세션|프로그램)\S{0,3} ?(?:다 |모두 )?(?:종료|닫|꺼|끄)|(?:закры|заверш)\S{1,8} (?:друг|стар|предыдущ)\S{1,4} (?:сесси|программ)|(?:cerr|cierr|fech|encerr)\S{1,6} (?:la |las |a |as )?otras? (?:sesion|sesión|sessões|sessão)",
        "同时还开着别的session",
        lambda m, s: Symptom(s, "other-process", (("held", "yes"),)),
        near="开着|跑着|运行着|打开|关|停|閉じ|終了|止め|종료|닫|꺼|끄|закры|заверш|cerr|cierr|fech",
    ),
    spoken(
        "size-told",
        words(
            "显存|vram|видеопамят|memoria de la gpu|memoria de gpu|memória da gpu|mémoire gpu|mémoire du gpu|gpuメモリ|gpu 메모리|grafikspeicher"
        ),
        r"显存(?:只有|才|就|仅|仅有) ?\d{1,2} ?GB?[^\n。]{0,8}(?:太小|不够|不足|小了)|显存(?:太小|不够大|小了)[^\n。]{0,24}(?:batch|调小|改小)|(?:видеопамят\S{0,2})[^\n.]{0,16}(?:мало|не хвата)|(?:memoria de (?:la )?GPU|memória da GPU)[^\n.]{0,16}(?:pequeñ|poca|pouca|insuficiente|no alcanza|não dá)|(?:GPUメモリ|VRAM)[^\n。]{0,8}(?:足りな|少な)|GPU 메모리[^\n.]{0,8}(?:부족|작아|모자)|Grafikspeicher[^\n.]{0,12}(?:zu klein|reicht nicht)|mémoire (?:du )?GPU[^\n.]{0,12}(?:trop petite|insuffisante)",
        "显存只有4G太小了",
    ),
    spoken(
        "size-told",
        ("too little", "not enough", "too small", "insufficient"),
        r"\b(?:on|with|for|my|the|an?) (?:\w+ ){0,2}?(?:GTX|RTX|GeForce|Quadro|Titan|Tesla|GT|MX)[ -]?\w{0,8}(?: \w{1,5})? ?\(?\d{1,2} ?GB?\)?[^\n.]{0,40} (?:too little|not enough|insufficient) (?:GPU |video |graphics )?(?:memory|VRAM)\b|\b(?:GPU|video|graphics) memory (?:is |was )?(?:too small|not enough|insufficient) for (?:this|the|my|that|such)\b",
        "it fails on my RTX 3050 (4 GB), not enough memory",
        near="memory|vram",
    ),
    spoken(
        "host-memory-said",
        words(
            "memoria ram|memória ram|mémoire vive| la ram| a ram|메인|시스템|оперативк|falta de memoria|falta de memória"
        ),
        r"\b(?:llena|llenó|agota|agotó|acaba|acabó|consume|come|enche|encheu|esgota|esgotou|estoura|estourou)\w{0,2}\b[^\n.]{0,24} (?:memoria RAM|memória RAM|la RAM|a RAM)\b|\b(?:remplit|sature|mange|épuise)\w{0,2}\b[^\n.]{0,16} (?:mémoire vive|la RAM)\b|\b(?:sistema|kernel)\b[^\n.]{0,12}\b(?:lo|la|o|a) (?:mata|mató|matou)\b[^\n.]{0,16} falta de mem[oó]ria"
        r"|(?:메인|시스템) ?메모리[^\n.]{0,8}(?:부족|꽉|다 ?차|모자)|оперативк\S{1,3}[^\n.]{0,16}(?:закончил|кончил|не хвата|забива|мало|забит)",
        "el script llena toda la memoria RAM",
    ),
    spoken(
        "cuda-version-told",
        "cuda",
        r"(?:tensorflow|\btf|텐서플로우?)[^\n。，]{0,16}(?:지원하지 ?않는|지원 ?안 ?되는|対応して(?:い)?ない|サポートされて(?:い)?ない|不支持的)[^\n.。，]{0,12}CUDA|CUDA ?\d*(?:\.\d)?[^\n.]{0,24}(?:no (?:es|era) compatible con|não (?:é|era) compatível com|n'est pas compatible avec|ist nicht kompatibel mit|passt nicht zu|несовместим\S{0,2} с) (?:mi |meu |ma |mon |meinem |meiner |моей |моим )?(?:versión de |versão do |version de )?(?:tensorflow|\btf)",
        "Tensorflow가 지원하지 않는 CUDA를 깔았습니다",
        near="tensorflow|tf|텐서플로",
    ),
    spoken(
        "cuda-said-missing",
        "cuda",
        r"(?:sans (?:avoir )?installé?e?r?|oublié d'installer|sin (?:haber )?instala[rd]o?|(?<!hace )(?<!hacía )falta(?:ba|va)? (?:por )?instalar|olvidé instalar|esqueci de instalar|sem (?:ter )?instala[rd]o?|забыл (?:поставить|установить)) (?:le |la |el |o )?(?:toolkit )?CUDA\b(?! ?(?:\d|version))|CUDA\b[^\n.]{0,12}(?:n'est pas install|n'était pas install|no est(?:á|aba) instalad|não est(?:á|ava) instalad|(?:ist|war) (?:gar |noch )?nicht installiert|не (?:был[аи]? )?установлен(?!\S{0,2} ?\?))"
        r"|(?:没有?|忘了|还没)(?:安装|装) ?(?:CUDA)(?! ?(?:\d|驱动))|CUDA ?(?:が|を) ?(?:入って(?:い)?な|インストールして(?:い)?な)|CUDA ?(?:를|을|가|이)? ?(?:설치(?:를)? ?(?:안 ?(?:했|하|돼|되)|하지 ?않)|안 ?깔)",
        "on ne peut pas sans installer CUDA",
        near="install|instal|забыл|установ|没|忘|入って|インストール|설치|깔",
    ),
    spoken(
        "msvc-runtime",
        ("visual c++", "vc++", "vc_redist", "vcredist"),
        r"(?:装上?|安装|下载|重装|instal\w{1,6}|установ\S{1,6}|постав\S{1,6})[^\n。]{0,40}(?:Visual C\+\+|VC\+\+|vc_?redist)[^\n。]{0,60}(?:就行|就好|解决|可以了|好了|正常|funcion|soluci|resolv|работает|помогло|заработал|fonctionne|marche|résolu|läuft|geholfen)"
        r"|(?:Visual C\+\+|VC\+\+|vc_?redist)[^\n。]{0,60}(?:装上?|安装|インストール|설치|installier|installé|instal[oéa]|установ|постав)[^\n。]{0,40}(?:就行|就好|解决|可以了|好了|正常|動|直り|되|됩|해결|funcion|soluci|resolv|работает|помогло|заработал|fonctionne|marche|résolu|läuft|geholfen|geht)",
        "装上 Visual C++ 2015 就好了",
    ),
    spoken(
        "batch-told",
        "batch",
        r"batch[^\n，。]{0,6}(?:调小|改小|减小|降低|设小)",
        "把batch改小就能跑",
    ),
    spoken(  # what a page gives under its heading for the cure
        "path-cure-told",
        "ld_library_path=",
        r"^[^\n\w]{0,8}(?:解决(?:方法|办法|方案)?|해결(?: ?방법)?|解決(?:方法|策)?|solution|solución|solução|решение|lösung|fix)[^\n\w]{0,8}\n(?:[^\n]{0,120}\n){1,6}?[^\n]{0,24}(?P<given>LD_LIBRARY_PATH=[^\n]{0,80}?(?:cud(?:a|nn)|nvidia|/lib))",
        "## 解决\n\nexport LD_LIBRARY_PATH=/usr/local/cuda/lib64",
        lambda m, s: Symptom(s, "path-cure-told", (("helped", "yes"),)),
        lines=9,
        at="given",
        near="解决|해결|解決|solution|solución|solução|решение|lösung|fix",
    ),
)
