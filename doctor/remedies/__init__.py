"""Remedies: commands for a platform, and code for a TensorFlow release. Each module is imported when it is
first used, because one report needs only a few modules."""

from typing import TYPE_CHECKING

from doctor import lazy

if TYPE_CHECKING:
    from doctor.remedies import (
        bindings as bindings,
        code as code,
        commands as commands,
        containers as containers,
        cudnn as cudnn,
        cures as cures,
        directml as directml,
        driver as driver,
        environments as environments,
        installable as installable,
        installation as installation,
        libraries as libraries,
        starts as starts,
        without_pip as without_pip,
    )
else:
    bindings = lazy.module("doctor.remedies.bindings")
    code = lazy.module("doctor.remedies.code")
    commands = lazy.module("doctor.remedies.commands")
    containers = lazy.module("doctor.remedies.containers")
    cudnn = lazy.module("doctor.remedies.cudnn")
    cures = lazy.module("doctor.remedies.cures")
    directml = lazy.module("doctor.remedies.directml")
    driver = lazy.module("doctor.remedies.driver")
    environments = lazy.module("doctor.remedies.environments")
    installable = lazy.module("doctor.remedies.installable")
    installation = lazy.module("doctor.remedies.installation")
    libraries = lazy.module("doctor.remedies.libraries")
    starts = lazy.module("doctor.remedies.starts")
    without_pip = lazy.module("doctor.remedies.without_pip")
