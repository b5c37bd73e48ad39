"""Sentences without a log that say what the cause turned out to be, in languages other than English."""

from __future__ import annotations

from tests.rules.situation import Fires, NearMiss

_SENTENCES = (
    ("cuda-version-mismatch", "原因是CUDA版本太高，换成10.0就可以了"),
    ("cuda-version-mismatch", "CUDA 버전이 텐서플로우 버전과 맞지 않아서 생긴 문제였습니다"),
    ("cuda-version-mismatch", "La version de CUDA n'était pas la bonne, j'ai mis CUDA 10.0"),
    ("cuda-version-mismatch", "Die CUDA-Version passte nicht, mit CUDA 10.0 geht es"),
    ("cuda-version-mismatch", "Версия CUDA не подходила, поставил 10.0"),
    ("cudnn-version-mismatch", "cudnn版本不对，换成7.6.5就好了"),
    ("cudnn-version-mismatch", "cuDNN 버전이 안 맞아서 7.6으로 바꾸니 해결"),
    ("cudnn-version-mismatch", "la versión de cuDNN era incorrecta, con la 7.6 funciona"),
    ("cudnn-version-mismatch", "версия cuDNN не подходит, поставил 7.6 и заработало"),
    ("cudnn-missing", "Забыл скопировать файлы cuDNN в папку CUDA"),
    ("cudnn-missing", "J'avais oublié de copier les fichiers cuDNN dans le dossier de CUDA"),
    ("tf-cpu-only", "Tenía instalada la versión de CPU de tensorflow"),
    ("tf-cpu-only", "J'avais installé la version CPU de tensorflow"),
    ("tf-cpu-only", "Ich hatte die CPU-Version von TensorFlow installiert"),
    ("tf-cpu-only", "была установлена CPU версия tensorflow"),
    ("tf-conflicting-packages", "Tenía instalados tensorflow y tensorflow-gpu a la vez"),
    ("tf-conflicting-packages", "Es waren tensorflow und tensorflow-gpu gleichzeitig installiert"),
    ("tf-windows-native", "С версии 2.11 TensorFlow не поддерживает GPU в Windows"),
    ("gpu-memory-held", "다른 프로세스가 GPU 메모리를 쓰고 있어서 종료했더니 됩니다"),
    ("gpu-memory-held", "Otro proceso estaba ocupando la memoria de la GPU"),
    ("gpu-memory-held", "Un autre notebook occupait la mémoire du GPU"),
    ("gpu-memory-held", "Ein anderer Prozess hat den GPU-Speicher belegt"),
    ("gpu-memory-held", "другой процесс занимал всю видеопамять"),
    ("model-oom", "Me quedé sin memoria en la GPU"),
    (
        "gpu-arch-too-old",
        "그래픽카드 compute capability가 3.0이라 3.5 이상을 요구하는 텐서플로우에서 안 됩니다",
    ),
    ("gpu-arch-too-old", "у моей видеокарты compute capability 3.0, а нужно минимум 3.5"),
    ("library-path", "환경 변수 PATH에 CUDA bin 폴더를 추가하니 GPU를 인식합니다"),
    ("library-path", "Agregué la carpeta bin de CUDA al PATH y ya detecta la GPU"),
    ("library-path", "добавил папку bin CUDA в PATH и GPU заработал"),
    ("container-no-gpu", "docker run に --gpus all を付け忘れていました"),
    ("container-no-gpu", "забыл --gpus all в docker run"),
)

_OTHERWISE = (
    ("cuda-version-mismatch", "如果CUDA版本太高，换成10.0就可以了"),
    ("cudnn-version-mismatch", "если версия cuDNN не подходит, поставьте 7.6 и заработает"),
    ("tf-cpu-only", "Die CPU-Version kann mit pip installiert werden"),
    ("tf-cpu-only", "CPU版のtensorflowをインストールしてください"),
    ("tf-conflicting-packages", "先卸载tensorflow和tensorflow-gpu"),
    ("gpu-memory-held", "si otro proceso usa la memoria de la GPU hay que cerrarlo"),
    ("cudnn-missing", "把cudnn的文件复制到CUDA目录就可以了"),
    ("library-path", "把bin目录加到PATH就可以了"),
    ("cuda-missing", "No hace falta instalar CUDA si usas Docker"),
    ("cuda-missing", "CUDA не установлен? Тогда скачайте его"),
    ("tf-cpu-only", "Se não usar GPU, instale a versão CPU do tensorflow"),
    ("tf-cpu-only", "Si vous n'utilisez pas de GPU, installez la version CPU"),
    ("cuda-version-mismatch", "Die CUDA-Version muss zu TensorFlow passen"),
    ("gpu-arch-too-old", "моя карта: compute capability 6.1, нужно минимум 3.5"),
)

FIRES = tuple(Fires(code, sentence, f"{sentence}\n", sentence) for code, sentence in _SENTENCES)
NEAR_MISSES = tuple(
    NearMiss(code, sentence, "undetermined", f"{sentence}\n") for code, sentence in _OTHERWISE
)
