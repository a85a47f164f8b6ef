"""Runs PyTorch's own OpInfo database on the simulated device and on the CPU, and writes what differs as JSON.

`python -m mps_simulator opinfo_worker.py report.json [--shard 1/2] [--full] [--only NAME]`
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

GRADIENT_DTYPE = torch.float32
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
DOUBLES = (torch.float64, torch.complex128)
SAMPLES = 4
REFUSAL = re.compile(r"The operator '([\w:.]+)' is not currently implemented for the MPS device")
DOUBLE_REFUSALS = ("the MPS framework doesn't support float64", "Trying to convert ComplexDouble to the MPS backend")

# How the texts of other refusals begin, and what they refuse.
OTHER_REFUSALS = {
    "only strided tensors are supported on MPS": "sparse tensors, not simulated",
    "Could not run 'new_compressed_tensor' from the 'mps:0'": "sparse tensors, not simulated",
    "Adaptive pool MPS: ": "an average pool with windows of several sizes",
    "Convolution is supported only for Floating types": "whole numbers in a convolution or a linear layer",
    "MPS device does not support linear for non-float": "whole numbers in a convolution or a linear layer",
}

# Their arguments must be on the CPU, whatever the device.
HOST_ARGUMENTS = frozenset({"tensor_split"})

# They make tensors where they are told, and on the CPU when they are not told.
FACTORIES = frozenset({"arange", "linspace", "logspace"})

# Their results are memory that nobody has written: only type, shape and strides can be compared.
UNWRITTEN = frozenset(
    [
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    ]
)


@dataclass
class Report:
    """What a run found. A case is "operator dtype check"."""

    passed: Counter[str] = field(default_factory=Counter)
    operators: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """As JSON, with sets as sorted lists."""
        content = {
            "passed": self.passed,
            "operators": {check: sorted(names) for check, names in self.operators.items()},
            "refused": {case: sorted(names) for case, names in self.refused.items()},
            "outcomes": self.outcomes,
            "failures": self.failures,
        }
        path.write_text(json.dumps(content, indent=1))


class Twin:
    """Makes tensors on a device that have the bytes and the layout of those of a sample, shared memory included."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.storages: dict[int, torch.UntypedStorage] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            items = [self(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, torch.device) or value == "cpu":
            return torch.device(self.device)
        return value

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout != torch.strided:
            return tensor.detach().to(self.device).requires_grad_(tensor.requires_grad)
        made = torch.empty(0, dtype=tensor.dtype, device=self.device)
        made.set_(self.storage(tensor), tensor.storage_offset(), tensor.shape, tensor.stride())  # pyrefly: ignore
        if tensor.is_conj():
            made = made.conj()
        if tensor.is_neg():
            made = torch._neg_view(made)
        return made.detach().requires_grad_(tensor.requires_grad)

    def storage(self, tensor: torch.Tensor) -> torch.UntypedStorage:
        source = tensor.untyped_storage()
        if source._cdata not in self.storages:
            content = torch.empty(0, dtype=torch.uint8).set_(source, 0, (source.nbytes(),))  # pyrefly: ignore
            self.storages[source._cdata] = content.to(self.device, copy=True).untyped_storage()
        return self.storages[source._cdata]


@dataclass
class Call:
    """One sample on one device."""

    device: str
    input: Any
    args: Any
    kwargs: Any

    @classmethod
    def of(cls, op: Any, sample: Any, device: str) -> Call:
        twin = Twin(device)
        others = Twin("cpu") if op.name in HOST_ARGUMENTS else twin
        return cls(device, twin(sample.input), others(sample.args), others(sample.kwargs))

    def run(self, function: Callable[..., Any], **extra: Any) -> Any:
        torch.manual_seed(0)
        return function(self.input, *self.args, **self.kwargs, **extra)

    def tensors(self) -> list[torch.Tensor]:
        leaves = tree_leaves((self.input, self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def bits_differ(host: torch.Tensor, device: torch.Tensor) -> bool:
    """Whether a value is another one; all that are not numbers are one."""
    mine, theirs = flat(device), flat(host)
    if torch.equal(mine.view(torch.uint8), theirs.view(torch.uint8)):
        return False
    if not (mine.is_floating_point() or mine.is_complex()):
        return True
    # A difference that is left can be one of zero's sign, or of which of the many values stands for no number.
    same_zeros = torch.equal(signs(mine), signs(theirs))
    return not (same_zeros and torch.allclose(mine, theirs, rtol=0, atol=0, equal_nan=True))


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Its values as a dense row on the CPU."""
    row = torch.empty(tensor.numel(), dtype=tensor.dtype)
    return row.copy_(tensor.detach().reshape(-1))


def signs(row: torch.Tensor) -> torch.Tensor:
    """The signs of its numbers."""
    parts = torch.view_as_real(row) if row.is_complex() else row
    return parts.signbit().logical_and(~parts.isnan())


def furthest(host: torch.Tensor, device: torch.Tensor) -> str:
    """How far apart, for the message."""
    wide = torch.complex128 if host.is_complex() else torch.float64
    gap = (device.detach().cpu().to(wide) - host.detach().to(wide)).abs()
    return f"values differ by up to {gap.nan_to_num(nan=float('inf')).max().item():.3g}"


def compare(host: Any, device: Any, values: bool = True) -> str | None:
    """What is different, or None."""
    ours, theirs = tree_leaves(device), tree_leaves(host)
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    for mine, other in zip(ours, theirs, strict=True):
        found = compare_leaf(other, mine, values)
        if found:
            return found
    return None


def compare_leaf(host: Any, device: Any, values: bool) -> str | None:
    if not isinstance(host, torch.Tensor):
        same = host == device or (host != host and device != device) or isinstance(host, torch.device)
        return None if same else f"{device!r} instead of {host!r}"
    if device.device.type != "mps":
        return f"a result on {device.device}"
    for what in ("dtype", "shape", "layout"):
        if getattr(host, what) != getattr(device, what):
            return f"{what} {getattr(device, what)} instead of {getattr(host, what)}"
    if host.layout != torch.strided:
        return None
    mine = (strides(device), device.storage_offset(), device.is_conj(), device.is_neg(), device._is_view())
    other = (strides(host), host.storage_offset(), host.is_conj(), host.is_neg(), host._is_view())
    if mine != other:
        return f"(strides, offset, conjugate, negative, view) {mine} instead of {other}"
    return furthest(host, device) if values and bits_differ(host, device) else None


def strides(tensor: torch.Tensor) -> list[int]:
    """Those that say something: of dimensions that have more than one place."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1 and tensor.numel()]


def aliases(call: Call, result: Any) -> list[list[int]]:
    """For each tensor of the result, the arguments whose memory it shares."""
    inputs = [tensor.untyped_storage()._cdata for tensor in call.tensors() if tensor.layout == torch.strided]
    found = []
    for leaf in tree_leaves(result):
        if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
            own = leaf.untyped_storage()._cdata
            found.append([index for index, given in enumerate(inputs) if given == own])
    return found


def has_doubles(*values: Any) -> bool:
    leaves = tree_leaves(values)
    return any(leaf in DOUBLES or getattr(leaf, "dtype", None) in DOUBLES for leaf in leaves if not is_array(leaf))


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray)


class Measure:
    """Runs samples on both devices and keeps the score."""

    def __init__(self, samples: int | None) -> None:
        self.samples = samples
        self.report = Report()

    def operator(self, op: Any) -> None:
        for dtype in DTYPES:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            gradient = dtype == GRADIENT_DTYPE and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
            for sample in self.first(op, dtype, gradient):
                self.sample(op, dtype, sample, gradient)

    def first(self, op: Any, dtype: torch.dtype, gradient: bool) -> Iterator[Any]:
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        return itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradient), self.samples)

    def sample(self, op: Any, dtype: torch.dtype, sample: Any, gradient: bool) -> None:
        if op.name in FACTORIES and sample.kwargs.get("device") is None:
            self.report.outcomes["made on the CPU, since no device is named"] += 1
            return
        case = f"{key(op)} {str(dtype).removeprefix('torch.')}"
        checks: dict[str, Callable[[Any, Any], str | None]] = {"forward": self.forward}
        if gradient:
            checks["gradient"] = self.gradient
        if dtype == GRADIENT_DTYPE and op.inplace_variant and not sample.broadcasts_input:
            checks["inplace"] = self.inplace
        if dtype == GRADIENT_DTYPE and op.supports_out:
            checks["out"] = self.out
            checks["resized"] = self.resized
        for name, check in checks.items():
            if not self.judge(f"{case} {name}", lambda check=check: check(op, sample)) and name == "forward":
                break

    def judge(self, case: str, check: Callable[[], str | None]) -> bool:
        """Run one check. False when it could not be made."""
        name, dtype, kind = case.rsplit(" ", 2)
        try:
            found = check()
        except NotOnHost:
            self.report.outcomes["both raise"] += 1
            return False
        except Refused as error:
            self.report.outcomes[error.why] += 1
            self.report.refused[case].add(error.operator or error.why)
            return False
        if found:
            self.report.failures.setdefault(case, found)
            return True
        check_name = f"{kind} {dtype}"
        self.report.passed[check_name] += 1
        self.report.operators[check_name].add(name)
        return True

    def both(self, op: Any, sample: Any, function: Callable[[Call], Any]) -> tuple[Any, Any, Call, Call]:
        host_call = Call.of(op, sample, "cpu")
        try:
            host = function(host_call)
        except Exception as error:
            must_raise(lambda: function(Call.of(op, sample, "mps")), error)
            raise NotOnHost from error
        doubles = has_doubles(sample.input, sample.args, sample.kwargs, host)
        try:
            device_call = Call.of(op, sample, "mps")
            device = function(device_call)
        except Exception as error:
            raise_if_refused(error, doubles)
            raise
        return host, device, host_call, device_call

    def forward(self, op: Any, sample: Any) -> str | None:
        def run(call: Call) -> Any:
            return call.run(op.op)

        try:
            host, device, host_call, device_call = self.both(op, sample, run)
        except (NotOnHost, Refused):
            raise
        except Exception as error:
            return describe(error)
        found = compare(host, device, values=op.name not in UNWRITTEN)
        mine, other = aliases(device_call, device), aliases(host_call, host)
        return found or (None if mine == other else f"shares memory with arguments {mine} instead of {other}")

    def gradient(self, op: Any, sample: Any) -> str | None:
        def run(call: Call) -> Any:
            outputs = tree_leaves(sample.output_process_fn_grad(call.run(op.op)))
            roots = [leaf for leaf in outputs if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            inputs = [tensor for tensor in call.tensors() if tensor.requires_grad]
            if not roots or not inputs:
                return ()
            generator = torch.Generator().manual_seed(1)
            weights = [torch.randn(root.shape, dtype=root.dtype, generator=generator) for root in roots]
            placed = [weight.to(call.device) for weight in weights]
            return torch.autograd.grad(roots, inputs, placed, allow_unused=True)

        return self.same(op, sample, run)

    def inplace(self, op: Any, sample: Any) -> str | None:
        def run(call: Call) -> Any:
            with torch.no_grad():
                before = call.input.data_ptr()
                result = call.run(op.inplace_variant)
                assert result is call.input, "another object than the argument is returned"
                assert result.data_ptr() == before, "the memory of the argument has moved"
                return result

        return self.same(op, sample, run)

    def out(self, op: Any, sample: Any) -> str | None:
        def run(call: Call) -> Any:
            with torch.no_grad():
                wanted = call.run(op.op)
                out = [torch.zeros_like(tensor) for tensor in tensors_of(wanted)]
                places = [tensor.data_ptr() for tensor in out]
                call.run(op.op, out=out[0] if isinstance(wanted, torch.Tensor) else type_like(wanted, out))
                assert [tensor.data_ptr() for tensor in out] == places, "the memory of out= has moved"
                return out

        return self.same(op, sample, run)

    def resized(self, op: Any, sample: Any) -> str | None:
        def run(call: Call) -> Any:
            with torch.no_grad():
                wanted = call.run(op.op)
                out = [tensor.new_empty(0) for tensor in tensors_of(wanted)]
                call.run(op.op, out=out[0] if isinstance(wanted, torch.Tensor) else type_like(wanted, out))
                return out

        return self.same(op, sample, run)

    def same(self, op: Any, sample: Any, run: Callable[[Call], Any]) -> str | None:
        try:
            host, device, *_ = self.both(op, sample, run)
        except (NotOnHost, Refused):
            raise
        except Exception as error:
            return describe(error)
        return compare(host, device, values=op.name not in UNWRITTEN)


def key(op: Any) -> str:
    """The name of an operator and of its variant."""
    return f"{op.name}/{op.variant_test_name}" if op.variant_test_name else op.name


class NotOnHost(Exception):
    """The CPU cannot do it either."""


class Refused(Exception):
    """The device refuses it by a rule."""

    def __init__(self, why: str, operator: str = "") -> None:
        super().__init__(why)
        self.why, self.operator = why, operator


def raise_if_refused(error: Exception, doubles: bool) -> None:
    found = REFUSAL.search(str(error))
    if isinstance(error, NotImplementedError) and found:
        raise Refused("an operator without a kernel for MPS", found[1]) from error
    if isinstance(error, TypeError) and doubles and any(text in str(error) for text in DOUBLE_REFUSALS):
        raise Refused("float64 or complex128 asked for") from error
    for text, why in OTHER_REFUSALS.items():
        if isinstance(error, RuntimeError) and str(error).startswith(text):
            raise Refused(why) from error


def must_raise(call: Callable[[], Any], error: Exception) -> None:
    """What the CPU does not do, the device does not either."""
    try:
        call()
    except Exception:
        return
    raise AssertionError(f"the CPU raises {type(error).__name__}, and the device does not")


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def tensors_of(wanted: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(wanted) if isinstance(leaf, torch.Tensor)]


def type_like(wanted: Any, out: list[torch.Tensor]) -> Any:
    return out if isinstance(wanted, list) else tuple(out)


def main() -> None:
    """Measure a share of the database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--shard", default="1/1", help="which part of the database, such as 1/2")
    parser.add_argument("--full", action="store_true", help="all samples, not the first few of each")
    parser.add_argument("--only", help="the name of one operator")
    options = parser.parse_args()
    part, parts = (int(number) for number in options.shard.split("/"))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    measure = Measure(None if options.full else SAMPLES)
    for op in sorted(op_db, key=key)[part - 1 :: parts]:
        if options.only in (None, key(op)):
            measure.operator(op)
    measure.report.write(options.report)


if __name__ == "__main__":
    main()
