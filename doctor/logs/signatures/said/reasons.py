"""What the reason turned out to be, in other languages than English: abroad.py has more of them."""

from __future__ import annotations

from doctor.facts import EnvironmentKind, Platform, Symptom
from doctor.logs.signatures.said.complaints import weaker
from doctor.logs.signatures.signature import Signature, spoken, words
from doctor.logs.signatures.supposed import stated

_HELPED = (
    r"(?:就好|好了|可以|就行|解决|成功|正常|识别|直り|直っ|動き|動い|認識|해결|됩니다|되네|됐|인식|잡힙|잡혀|funcion|detect|reconoc|reconhec|resuelt|resolv|soluci|rodou|marche|fonctionne|résolu|détect|reconn|läuft|geht|erkannt|gelöst"
    r"|работа|заработ|видит|помог|появил|определ)"
)
_HAVE = r"compute capability[^\n\d]{0,12}(?P<have>\d\.\d)(?![\d.])"


SIGNATURES: tuple[Signature, ...] = (
    spoken(
        "cuda-version-told",
        "cuda",
        rf"CUDA[^\n。]{{0,8}}(?:に|を)[^\n。]{{0,10}}(?:入れ直|変え|戻|ダウングレード|バージョンを?下げ)[^\n]{{0,30}}{_HELPED}|(?:pas la bonne|mauvaise) version de CUDA|version de CUDA[^\n.]{{0,12}}(?:pas la bonne|mauvaise)|не та верси\S{{1,2}} CUDA|falsche\S{{0,2}} CUDA[- ]Version"
        rf"|CUDA ?(?:的)?版本(?:太|过)(?:高|低|新|旧)[^\n。]{{0,24}}(?:换|装|改|降|升)[^\n。]{{0,24}}{_HELPED}",
        "CUDA版本太高，换成10.0就可以了",
        stated("cuda-version-told"),
        near="入れ直|変え|戻|ダウン|下げ|pas la bonne|mauvaise|не та|falsche|版本",
    ),
    spoken(
        "cudnn-version-told",
        "cudnn",
        rf"cuDNN ?(?:的)?版本[^\n。，]{{0,8}}(?:不对|错|不匹配|太高|太低|太新|太旧)[^\n。]{{0,24}}(?:换|装|改|降|升)[^\n。]{{0,24}}{_HELPED}|cuDNN ?버전[^\n.]{{0,12}}(?:안 ?맞|맞지 ?않|달라|다르|틀리)[^\n]{{0,40}}(?:바꾸|낮추|설치|교체)[^\n.]{{0,16}}{_HELPED}"
        rf"|vers(?:ión|ão|ion) d[eo] cuDNN[^\n.]{{0,16}}(?:incorrect|equivocad|incorret|errad|mauvaise|pas la bonne)\w{{0,2}}[^\n]{{0,40}}{_HELPED}|верси\S{{1,2}} cuDNN[^\n.]{{0,8}}не (?:та|подход|совмест)\S{{0,6}}[^\n]{{0,40}}{_HELPED}|cuDNN[^\n。]{{0,12}}バージョン[^\n。]{{0,12}}(?:違|合わ|合って)[^\n]{{0,40}}{_HELPED}",
        "cuDNN的版本错了，重装7.6就好了",
        stated("cudnn-version-told"),
    ),
    spoken(
        "cudnn-said-missing",
        "cudnn",
        r"(?:忘(?:记|了)|漏了?|没有?)(?:安装|装|复制|拷贝|下载)[^\n，。]{0,6}cuDNN|cuDNN[^\n。]{0,12}(?:入れ|コピーし)忘れ|cuDNN[^\n。]{0,16}コピー(?:する)?[^\n。]{0,8}(?:忘れ|したら|して(?:い)?な)"
        r"|забыл\S? (?:скопировать|положить|поставить|установить|закинуть)[^\n.]{0,16} cuDNN|cuDNN[^\n.]{0,40} nicht (?:\w+ ){0,4}?kopiert|vergessen[^\n.]{0,16} cuDNN|oublié (?:de |d')(?:copier|installer|mettre|ajouter)[^\n.]{0,24} cuDNN"
        r"|(?:faltaba|faltava|faltou|olvidé|olvid[oó]|esqueci)(?: de)? (?:copiar|instalar|poner|colocar|baixar|descargar)[^\n.]{0,24} cuDNN|cuDNN[^\n.]{0,16}(?:복사|설치)(?:를)? ?(?:안|하지 ?않|빼)",
        "原来是漏装cuDNN",
        stated("cudnn-said-missing"),
        near="忘|漏|没|入れ|コピー|забыл|kopiert|vergessen|oublié|falta|faltou|olvid|esqueci|복사|설치",
    ),
    spoken(
        "cpu-build-said",
        words(
            "cpu版|cpu 版|de cpu|para cpu|versão cpu|versión cpu|version cpu|cpu-version|cpu версия|cpu версию|cpu-верси|для cpu|不是tensorflow-gpu|不是 tensorflow-gpu|而不是tensorflow-gpu|没装tensorflow-gpu|没装 tensorflow-gpu"
        ),
        r"(?:装|安装|下载)(?:的)?(?:是|成了?|错成)[^\n，。]{0,16}(?:不是|没装) ?tensorflow-gpu|CPU ?版(?:の)? ?(?:tensorflow|テンソルフロー)?(?:が|を)(?:入って(?:い|しま|た)|入れて(?:い|しま|た)|インストール(?:して(?:い|しま|た)|されて))"
        r"|(?:ten[ií]a|tinha|avais|avait|instalé|instalado|instalei|installé|estaba|estava)[^\n.]{0,24} (?:versión de CPU|versión CPU|versión para CPU|versão de CPU|versão CPU|versão para CPU|version CPU|version de CPU)\b|(?:hatte|habe|hat|war|wurde)\b[^\n.]{0,24} CPU-Version[^\n.]{0,16} installiert"
        r"|(?:установлен\S{0,2}|стоял\S?|поставил\S?|скачал\S?|ставил\S{0,3})[^\n.]{0,12} (?:CPU версия|CPU версию|CPU-верси\S{1,2}|\S{0,16} ?для CPU)",
        "Ich hatte die CPU-Version installiert",
        stated("cpu-build-said", ("told", "yes")),
    ),
    spoken(
        "both-packages",
        ("tensorflow-gpu", "tensorflow_gpu"),
        rf"tensorflow(?![-_]gpu)\W{{1,4}}(?:y|e|et|und)\W{{1,3}}(?:el |o |le )?tensorflow[-_]gpu\W{{1,3}}(?:instal\w{{0,6}} )?(?:a la vez|al mismo tiempo|juntos|ao mesmo tempo|en même temps|à la fois|tous les deux|gleichzeitig|beide|zusammen)|卸载(?:了|掉)?[^\n，。]{{0,4}}tensorflow(?![-_]gpu) ?(?:和|与|跟) ?tensorflow[-_]gpu[^\n]{{0,40}}{_HELPED}",
        "tensorflow und tensorflow-gpu gleichzeitig installiert",
        stated("both-packages"),
        near="vez|mismo|juntos|mesmo|même|fois|deux|gleichzeitig|beide|zusammen|卸载",
    ),
    spoken(
        "windows-native-told",
        "windows",
        r"2\.1[01] ?(?:から|以降)[^\n。]{0,8}[^\n。]{0,12}Windows[^\n。]{0,16}GPU[^\n。]{0,8}(?:使え(?:な|ま)|対応し(?:な|て(?:い)?(?:な|ませ))|サポート(?:されな|されて(?:い)?(?:な|ませ)|しな|しませ))|2\.1[01][^\n]{0,16} не поддерживает[^\n.]{0,20}GPU[^\n.]{0,16} Windows",
        "2.11からWindowsではGPUは使えません",
        lambda m, s: (Symptom(s, "windows-native-told"), Platform(s, "windows", rank=2)),
        near=("2.10|2.11", "gpu"),
    ),
    spoken(
        "other-process",
        words("メモリ|메모리|memoria|memória|mémoire|speicher|памят"),
        r"(?:他|別)の(?:プロセス|プログラム|ジョブ)[^\n。]{0,12}GPU ?(?:の)?メモリ[^\n。]{0,8}(?:使|占|掴|食)|(?:다른|이전) (?:프로세스|프로그램|작업)\S{0,2}[^\n.]{0,12}GPU ?메모리[^\n.]{0,6}(?:쓰고|쓰던|잡고|차지|점유|사용)"
        r"|\b(?:otro|outro) (?:proceso|processo|programa|notebook)\b[^\n.]{0,12} (?:ocup|us|consum)\w{1,8}[^\n.]{0,12} (?:memoria|memória)\b|\bautre (?:processus|programme|notebook)\b[^\n.]{0,8} (?:occup|utilis|pren)\w{1,8}[^\n.]{0,12} mémoire\b"
        r"|\bander\w{0,2} (?:Prozess|Programm|Notebook)\b[^\n.]{0,24}(?:GPU-?|Grafik)Speicher (?:belegt|gehalten|benutzt|genutzt)|друг\S{1,4} (?:процесс|программ)\S{0,3}[^\n.]{0,6} (?:заним|держ|съе|использ)\S{1,6}[^\n.]{0,12} (?:видео|GPU )?памят",
        "다른 프로세스가 GPU 메모리를 쓰고 있었습니다",
        stated("other-process", ("held", "yes")),
        near="プロセス|プログラム|ジョブ|프로세스|프로그램|작업|proceso|processo|programa|notebook|processus|programme|prozess|programm|процесс|программ",
    ),
    spoken(
        "size-told",
        words(
            "en la gpu|na gpu|da gpu|de la gpu|видеопамяти|gpu-speicher|grafikspeicher|mémoire gpu|du gpu|sur le gpu"
        ),
        r"(?:sin|poca|insuficiente|falta de|faltou|falta|acabou a) (?:memoria|memória)[^\n.]{0,8} (?:en la GPU|na GPU|da GPU|de la GPU)|не хвата\S{1,3} видеопамяти|(?:мало|нехватка) видеопамяти|(?:GPU-Speicher|Grafikspeicher)[^\n.]{0,12} (?:reicht nicht|zu klein|zu wenig)|(?:manque de|plus de|pas assez de) mémoire (?:GPU|du GPU|sur le GPU)",
        "не хватало видеопамяти",
        stated("size-told"),
    ),
    spoken(
        "gpu-ignored-capability",
        "compute capability",
        rf"{_HAVE}[^\n]{{1,30}}?(?:要求|必要|最低|至少|需要|最小|최소|pide|exige|requiere|necesita|mínim|precisa|pede|exige|demande|exige|au moins|verlangt|braucht|mindestens|нужн|требу|минимум)[^\n\d]{{0,16}}(?P<need>\d\.\d)(?![\d.])|{_HAVE.replace('have', 'have2')}[^\n\d]{{1,16}}(?P<need2>\d\.\d) ?(?:이상|以上|o superior|ou superior|ou plus|или выше|oder höher)",
        "у карты compute capability 3.0, а нужно 3.5",
        weaker,
        near="要求|必要|最低|至少|需要|最小|최소|pide|exige|requiere|necesita|mínim|precisa|pede|demande|au moins|verlangt|braucht|mindestens|нужн|требу|минимум|이상|以上|superior|ou plus|или выше|oder höher",
    ),
    spoken(
        "path-cure-told",
        "path",
        rf"(?:加到|加入|添加到|加进|放到|写进)[^\n。]{{0,16}}\bPATH\b[^\n。]{{0,16}}(?:好了|解决|识别|正常)|\bPATH ?(?:に|へ)[^\n。]{{0,24}}(?:追加|通し|入れ)[^\n。]{{0,12}}{_HELPED}|\bPATH ?에[^\n.]{{0,24}}추가[^\n.]{{0,24}}{_HELPED}"
        rf"|(?:agregu|añad|agreg|adicion|coloqu|ajout|hinzugefügt|добав)\S{{0,6}}[^\n.]{{0,50}}\bPATH\b[^\n]{{0,30}}{_HELPED}|\bPATH\b (?:hinzugefügt|ergänzt)[^\n]{{0,30}}{_HELPED}",
        "добавил bin в PATH, и заработало",
        stated("path-cure-told", ("helped", "yes")),
        near="加到|加入|添加到|加进|放到|写进|追加|通し|入れ|추가|agreg|añad|adicion|coloqu|ajout|hinzugefügt|ergänzt|добав",
    ),
    spoken(
        "gpu-flag-said",
        ("--gpus", "--runtime=nvidia"),
        r"--(?:gpus(?:[= ]all)?|runtime=nvidia)[`'\"]{0,3} ?(?:を|オプションを|が|옵션을|옵션이|를|을)? ?(?:[^\n。.]{0,8})(?:忘れ|抜け|なかった|付けていな|빼먹|빠뜨|빠져|안 ?넣|안 ?줘|없어서)|(?:faltaba|faltava|falta|faltou|olvidé|esqueci|oublié|manquait|забыл\S?|не хватало|fehlte|vergessen|忘了?(?:加|写)?|漏了|没加)[^\n.]{0,16} ?--(?:gpus|runtime=nvidia)"
        r"|--(?:gpus(?:[= ]all)?|runtime=nvidia)[`'\"]{0,3} (?:fehlte|vergessen)",
        "me faltaba --gpus all",
        lambda m, s: (Symptom(s, "gpu-flag-said"), EnvironmentKind(s, "docker")),
    ),
    spoken(
        "python-told",
        "python",
        r"Python ?3\.\d+[^\n。]{0,8}(?:では|だと)[^\n。]{0,24}tensorflow[^\n。]{0,16}(?:インストールでき|入らな|入りませ|入れられ)|(?:con|com o|com) Python 3\.\d+ (?:no|não) (?:se puede|dá|é possível|consigo|puedo)[^\n.]{0,16} tensorflow|(?:на|с) Python 3\.\d+[^\n]{0,24} не (?:ставится|устанавливается|встаёт)"
        r"|mit Python 3\.\d+[^\n.]{0,24} tensorflow[^\n.]{0,24} nicht (?:installier|geht)|avec Python 3\.\d+[^\n]{0,24} (?:impossible d'|on ne peut pas |je n'arrive pas à )installer",
        "на Python 3.9 tensorflow 1.15 не ставится",
        near="では|だと|no |não |не |nicht|impossible|ne peut|n'arrive",
    ),
)
