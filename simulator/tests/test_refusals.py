"""The device refuses what a Mac refuses, with the same exceptions and texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.multiprocessing.reductions import reduce_storage

from programs import python, simulated

MPS = torch.device("mps")
NO_FLOAT64 = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead."
)
MISSING = (
    "The operator 'aten::linalg_eig' is not currently implemented for the MPS device. If you want this op to be "
    "considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, "
    f"that resulted in missing op as well as commit hash {torch.version.git_version}. As a temporary fix, you can set "
    "the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this "
    "will be slower than running natively on MPS."
)
FALLBACK = (
    "The operator 'aten::linalg_eig' is not currently supported on the MPS backend and will fall back to run on the "
    "CPU. This may have performance implications."
)
TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"


def message(error: BaseException) -> str:
    return str(error).split(" (function ")[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, dtype=torch.float64, device=MPS),
        lambda: torch.empty_strided((2,), (1,), dtype=torch.float64, device=MPS),
        lambda: torch.ones(2, dtype=torch.float64).to(MPS),
        lambda: torch.ones(2, device=MPS).double(),
        lambda: torch.ones(2, device=MPS).sum(dtype=torch.float64),
        lambda: torch.tensor([1.0], dtype=torch.float64, device=MPS),
    ],
)
def test_float64(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert message(caught.value) == NO_FLOAT64


def test_complex128() -> None:
    with pytest.raises(TypeError, match="Trying to convert ComplexDouble to the MPS backend but it does not have"):
        torch.ones(2, dtype=torch.complex128, device=MPS)


def test_more_than_16_dimensions() -> None:
    assert torch.ones([1] * 16, device=MPS).dim() == 16
    for make in (lambda: torch.ones([1] * 17, device=MPS), lambda: torch.ones(1, device=MPS).view([1] * 17)):
        with pytest.raises(RuntimeError, match=r"^MPS supports tensors with dimensions <= 16, but got 17"):
            make()


def test_operators_without_a_kernel() -> None:
    with pytest.raises(NotImplementedError) as caught:
        torch.linalg.eig(torch.eye(2, device=MPS))
    assert message(caught.value) == MISSING


def test_operators_of_others_have_none_either() -> None:
    library = torch.library.Library("simulator_tests", "FRAGMENT")
    library.define("once(Tensor x) -> Tensor")
    library.impl("once", torch.neg, "CPU")
    assert torch.ops.simulator_tests.once(torch.ones(1)).item() == -1
    with pytest.raises(NotImplementedError, match="The operator 'simulator_tests::once' is not currently implemented"):
        torch.ops.simulator_tests.once(torch.ones(1, device=MPS))


def test_the_fallback_warns_once_an_operator() -> None:
    code = """
import torch, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        print(torch.linalg.eig(torch.eye(2, device="mps"))[0].device)
    torch.take(torch.ones(2, device="mps"), torch.tensor([0], device="mps"))
print(*[str(one.message).split(" (Triggered")[0] for one in caught], sep="\\n")
"""
    lines = simulated(code, env={"PYTORCH_ENABLE_MPS_FALLBACK": "1"}).splitlines()
    assert lines == ["mps:0", "mps:0", FALLBACK, FALLBACK.replace("linalg_eig", "take")]


@pytest.mark.parametrize("variable", ["0", "late"])
def test_the_fallback_must_be_on_before_the_start(variable: str) -> None:
    code = """
import os, torch
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
torch.linalg.eig(torch.eye(2, device="mps"))
"""
    env = {"MPS_SIMULATOR": "1"} | ({"PYTORCH_ENABLE_MPS_FALLBACK": "0"} if variable == "0" else {})
    done = python("-c", code, env=env)
    assert done.returncode == 1
    assert MISSING in done.stderr


@pytest.mark.parametrize("fallback", ["0", "1"])
def test_collectives_never_work(fallback: str) -> None:
    code = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
try:
    dist.all_reduce(torch.ones(2, device="mps"))
except NotImplementedError as error:
    print(error)
print(dist.get_world_size())
dist.destroy_process_group()
"""
    first, *_, last = simulated(code, env={"PYTORCH_ENABLE_MPS_FALLBACK": fallback}).splitlines()
    start = "The [distributed] operator 'c10d::allreduce_' is not currently implemented for the MPS device. "
    assert first.startswith(start)
    assert "Please note, that distributed operators can not fall back to CPU" in first
    assert last == "1"


MIXES: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "sum": lambda here, there: there + here,
    "product": lambda here, there: here * there,
    "convolution": lambda here, there: torch.nn.functional.conv2d(there.view(1, 1, 2, 2), here.view(1, 1, 2, 2)),
    "loss": lambda here, there: torch.nn.functional.mse_loss(there, here),
    "concatenation": lambda here, there: torch.cat([there, here]),
    "embedding": lambda here, there: torch.nn.functional.embedding(torch.tensor([0]), there),
    "in place": lambda here, there: here.add_(there),
    "number in place": lambda here, there: torch.zeros(()).add_(there.sum()),
    "index of the other device": lambda here, there: here[torch.tensor([0], device=MPS)],
    "value by index": lambda here, there: there.index_put_((torch.tensor([0]),), here[0]),
    "out": lambda here, there: torch.add(there, 1, out=here),
}


@pytest.mark.parametrize("name", MIXES)
def test_tensors_of_two_devices(name: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        MIXES[name](torch.ones(2, 2), torch.ones(2, 2, device=MPS))
    assert message(caught.value) == TWO_DEVICES


def test_lengths_and_indices_may_be_on_the_cpu() -> None:
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 3, 1, device=MPS), torch.tensor([3, 2]), True)
    assert packed.data.device.type == "mps"
    likely = torch.zeros(6, 2, 4, device=MPS).log_softmax(2)
    targets = torch.ones(2, 3, dtype=torch.long, device=MPS)
    lengths = torch.tensor([6, 6]), torch.tensor([3, 3])
    assert torch.nn.functional.ctc_loss(likely, targets, *lengths).device.type == "mps"
    assert torch.arange(4, device=MPS)[torch.tensor([3, 0])].tolist() == [3, 0]


def test_generators_of_the_cpu() -> None:
    with pytest.raises(RuntimeError, match=r"^Expected a 'mps' device type for generator but found 'cpu'"):
        torch.rand(2, device=MPS, generator=torch.Generator())


def test_numpy() -> None:
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        torch.ones(2, device=MPS).numpy()


def test_sparse_tensors() -> None:
    with pytest.raises(NotImplementedError, match="only strided tensors are supported on MPS"):
        torch.eye(2, device=MPS).to_sparse()


def test_storages_cannot_be_resized_or_shared() -> None:
    storage = torch.ones(2, device=MPS).untyped_storage()
    with pytest.raises(RuntimeError, match=r"^UntypedStorage\.resize_: got unexpected device type mps"):
        storage.resize_(100)
    with pytest.raises(RuntimeError, match=r"^_share_filename_: only available on CPU"):
        reduce_storage(storage)


def test_loaders_do_not_pin() -> None:
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but not supported on MPS now"):
        batches = list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(1)), pin_memory=True))
    assert not batches[0][0].is_pinned()
    pinned = torch.ones(3).pin_memory()
    assert pinned.is_pinned()
    assert pinned.to(MPS, non_blocking=True).tolist() == [1, 1, 1]


def test_metal_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="is simulated, and has no Metal"):
        torch.mps.compile_shader("kernel void nothing() {}")
    with pytest.raises(Exception, match="is simulated, and has no Metal"):
        torch.compile(torch.sin)(torch.ones(2, device=MPS))
