"""Tests that if somebody changed from one version to another, the new version counts as the current one."""

from __future__ import annotations

import pytest

from doctor.case import Case
from doctor.logs import read
from doctor.tables import Tables


@pytest.mark.parametrize(
    ("said", "what", "version"),
    [
        ("I updated the NVIDIA driver from 470.103 to 510.47.03 and the GPU is gone.", "driver", "510.47.03"),
        ("Le pilote est passé de 470.103 à 510.47.03, plus de GPU.", "driver", "510.47.03"),
        ("Ich habe von TF 2.15 auf 2.17.0 aktualisiert.", "tensorflow", "2.17.0"),
        ("Con tensorflow 2.11 iba bien. Ahora actualicé a la 2.19 en Linux.", "tensorflow", "2.19"),
        ("With TF 2.11 it worked, then I downgraded numpy to 1.23.", "tensorflow", "2.11"),
        ("It needs Python 3.8 to 3.10. Here is TensorFlow 2.9.", "tensorflow", "2.9"),
        ("I updated from TF 2.9 to CUDA 11.8, as they say. Which is wrong?", "tensorflow", "2.9"),
        ("Sürücü 445.87, tensorflow 2.10.", "driver", "445.87"),
        ("Sterownik 471.96, GTX 1650, tensorflow 2.6", "driver", "471.96"),
        ("pip chose tensorflow==2.18.0 -> numpy 2.0.2 -> ml_dtypes 0.4.1", "tensorflow", "2.18.0"),
        ("tensorflow 2.9.1 -> tensorflow 2.11.0, and now no GPU", "tensorflow", "2.11.0"),
        ("Ubuntu 18.04, CUDA 9.0 update 2, Python 3.6.8, tensorflow-gpu 1.12.0", "python", "3.6.8"),
        ("The plan: from tf 2.3.1 to tf 2.4.0 on the same server", "tensorflow", "2.4.0"),
        ("tensorflow を 2.16.1 から 2.17.0 に上げたら、GPU が見えなくなりました。", "tensorflow", "2.17.0"),
        ("TF 2.15 here, driver 535. My colleague has TF 2.10 and sees the GPU.", "tensorflow", "2.15"),
    ],
)
def test_the_version_in_use_is_read(said: str, what: str, version: str, tables: Tables) -> None:
    case = Case(read(said.encode(), "-"), tables)
    assert getattr(case, what).version == version
