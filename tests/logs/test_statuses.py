"""Tests that a status code means the same in the messages of every program, whether they show its name or its
text."""

from __future__ import annotations

from doctor.facts import CudaCallFailed, Symptom
from doctor.facts.statuses import CUDA, NVML, Status
from doctor.logs import read
from tests.sampling import each

BY_NAME = (
    "{name}",
    "E cuda_event.cc:29] Error polling for event status: failed to query event: {name}",
    "numba.cuda.cudadrv.driver.CudaAPIError: [{number}] Call to cuCtxSynchronize results in {name}",
    "cupy_backends.cuda.api.runtime.CUDARuntimeError: {runtime}",
    'CUDA error at helper_cuda.h:1162 code={number}({runtime}) "cudaStreamSynchronize(stream)"',
    "trainer_1  | jaxlib.xla_extension.XlaRuntimeError: INTERNAL: {name}",
)
BY_WORDS = (
    "InternalError: cudaSetDevice() on GPU:0 failed. Status: {words}",
    "Check failed: err == cudaSuccess || err == cudaErrorInvalidValue Unexpected CUDA error: {words}",
    "RuntimeError: CUDA error: {words}",
    "RuntimeError: cuda runtime error ({number}) : {words} at /pytorch/aten/src/THC/THCGeneral.cpp:50",
    "THCudaCheck FAIL file=THCGeneral.cpp line=50 error={number} : {words}",
    "RUNTIME_EXCEPTION : CUDA failure {number}: {words} ; GPU=0 ; expr=cudaSetDevice(info_.device_id);",
    "horovod.common.exceptions.HorovodInternalError: cudaStreamSynchronize failed: {words}",
    "pycuda._driver.LogicError: cuCtxCreate failed: {words}",
    "mxnet.base.MXNetError: Check failed: e == cudaSuccess: CUDA: {words}",
    "NCCL WARN Cuda failure '{words}'",
)


def shown(row: Status, text: str) -> bool:
    """Whether a text gives the fact that its status code means."""
    facts = read(text.format_map(row._asdict()).encode(), "report")
    if row.symptom:
        return any(row.symptom == symptom.kind for symptom in facts.of(Symptom))
    return any(call.error == row.name for call in facts.of(CudaCallFailed))


@each("row", CUDA, ids=lambda row: row.name)
def test_a_cuda_status_means_the_same_in_every_program(row: Status) -> None:
    assert not [text for text in (*BY_NAME, *BY_WORDS) if not shown(row, text)]


@each("row", NVML, ids=lambda row: row.name)
def test_an_nvml_status_means_the_same_by_name_and_in_words(row: Status) -> None:
    texts = ("{name}", "pynvml.{runtime}: x", "pynvml.NVMLError: {words}", "pynvml.nvml.{runtime}: {words}")
    assert not [text for text in texts if not shown(row, text)]


@each("row", [row for row in CUDA if row.common], ids=lambda row: row.name)
def test_common_words_count_only_in_messages_about_cuda(row: Status) -> None:
    for text in ("sqlite3.OperationalError: {words}", "mount: {words}", "the job ended with: {words}"):
        assert not shown(row, text)
