"""Defines the types of facts. A fact says what was observed, and where.

A probe of this machine and a reader of pasted text produce the same types, so one rule works for both. Every
fact has its `Source`. There are three distinct states: seen (a fact of its type), searched for and absent
(`Absent`), and not examinable (`Unreadable`).
"""

from __future__ import annotations

from doctor.facts.base import (
    DECIDING as DECIDING,
    DECIDING_OF_DRIVER as DECIDING_OF_DRIVER,
    EVIDENCE_LIMIT as EVIDENCE_LIMIT,
    FORM as FORM,
    HOSTS_DRIVER as HOSTS_DRIVER,
    INFERRED as INFERRED,
    MEASURED as MEASURED,
    OF_WORKING_RUN as OF_WORKING_RUN,
    PROSE as PROSE,
    RUNNING_KERNEL as RUNNING_KERNEL,
    Absent as Absent,
    Fact as Fact,
    Source as Source,
    Unreadable as Unreadable,
    in_words as in_words,
    normalised as normalised,
)
from doctor.facts.collection import Facts as Facts
from doctor.facts.hardware import (
    DeviceNode as DeviceNode,
    DriverCuda as DriverCuda,
    DriverVersion as DriverVersion,
    Gpu as Gpu,
    GpuMemory as GpuMemory,
    GpuProcess as GpuProcess,
    KernelModule as KernelModule,
    OtherGpu as OtherGpu,
)
from doctor.facts.observations import (
    CudaCallFailed as CudaCallFailed,
    CudnnMismatch as CudnnMismatch,
    DriverMismatch as DriverMismatch,
    GpuRegistered as GpuRegistered,
    LibraryFile as LibraryFile,
    LibraryLoaded as LibraryLoaded,
    LibraryNotLoaded as LibraryNotLoaded,
    LibraryWanted as LibraryWanted,
    Likelihood as Likelihood,
    Noise as Noise,
    OwnReport as OwnReport,
    Prose as Prose,
    RestatedFinding as RestatedFinding,
    SentenceKind as SentenceKind,
    Symptom as Symptom,
    Words as Words,
)
from doctor.facts.software import (
    CudaVersion as CudaVersion,
    CudnnVersion as CudnnVersion,
    Dependency as Dependency,
    EnvironmentKind as EnvironmentKind,
    EnvVar as EnvVar,
    Glibc as Glibc,
    Kernel as Kernel,
    OperatingSystem as OperatingSystem,
    Package as Package,
    Platform as Platform,
    PythonVersion as PythonVersion,
    Requirement as Requirement,
    TensorFlowBuild as TensorFlowBuild,
    TensorFlowVersion as TensorFlowVersion,
)
