"""Answers which versions work together: each answer has a verdict, a reason and the table rows that support
it.

This package examines no machine. If a row or a fact is missing, the verdict is "unknown".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.compat.answer import Answer as Answer
    from doctor.compat.choose import (
        Judgement as Judgement,
        judge as judge,
        newest as newest,
    )
    from doctor.compat.companion_packages import (
        Pin as Pin,
        companions as companions,
        requirement as requirement,
    )
    from doctor.compat.gpu import (
        code_for as code_for,
        driver_serves_gpu as driver_serves_gpu,
        runs_on_gpu as runs_on_gpu,
    )
    from doctor.compat.install import (
        installs_on as installs_on,
        pip_cudnn as pip_cudnn,
        runs_with_pip_libraries as runs_with_pip_libraries,
    )
    from doctor.compat.installed import (
        cudnn_serves_gpu as cudnn_serves_gpu,
        runs_on_driver as runs_on_driver,
        runs_with_cuda as runs_with_cuda,
        runs_with_cudnn as runs_with_cudnn,
    )
    from doctor.compat.situation import Situation as Situation, traps_of as traps_of
    from doctor.compat.software import (
        accepted_cudnn as accepted_cudnn,
        compiled_cudnn as compiled_cudnn,
        driver_minimum as driver_minimum,
    )


__getattr__ = lazy.names(
    __name__,
    {
        "Answer": "answer",
        "accepted_cudnn": "software",
        "Judgement": "choose",
        "Pin": "companion_packages",
        "Situation": "situation",
        "code_for": "gpu",
        "companions": "companion_packages",
        "compiled_cudnn": "software",
        "cudnn_serves_gpu": "installed",
        "driver_minimum": "software",
        "driver_serves_gpu": "gpu",
        "installs_on": "install",
        "judge": "choose",
        "newest": "choose",
        "pip_cudnn": "install",
        "requirement": "companion_packages",
        "runs_on_driver": "installed",
        "runs_on_gpu": "gpu",
        "runs_with_cuda": "installed",
        "runs_with_cudnn": "installed",
        "runs_with_pip_libraries": "install",
        "traps_of": "situation",
    },
)
