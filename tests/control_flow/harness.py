"""One program against eager: exported once, on its first inputs, and compared on all of them."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.errors import InputMismatch
from tests.control_flow.programs import Program


def module_of(program: Program) -> torch.nn.Module:
    torch.manual_seed(0)
    return program.make().eval()


def exported(program: Program, module: torch.nn.Module) -> torch.export.ExportedProgram:
    """Raises what export raises."""
    with torch.no_grad() if program.no_grad else contextlib.nullcontext():
        args = copy.deepcopy(program.inputs[0])
        return dynamo_lite.export(module, args, control_flow="capture", **program.options)


def saved_and_loaded(ep: torch.export.ExportedProgram, load: Any = torch.export.load) -> Any:
    file = io.BytesIO()
    torch.export.save(ep, file)
    file.seek(0)
    return load(file)


def laid_out_otherwise(call: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values in another order in memory, or with gaps."""

    def other(value: Any) -> Any:
        if type(value) is not torch.Tensor or not value.dim():
            return value
        if value.dim() == 1:
            return torch.stack([value, value], 1)[:, 0]
        return value.transpose(0, -1).contiguous().transpose(0, -1)

    return pytree.tree_map(other, copy.deepcopy(call))


def differences(
    make: Callable[[], Any],
    module: torch.nn.Module,
    calls: Iterable[tuple[Any, ...]],
    relaid: Iterable[tuple[Any, ...]] = (),
) -> list[str]:
    """What a call of `make()` does differently from the module: results, errors, inputs and buffers afterwards.

    `make` is called anew after a call that changed the state of what it made. From the second call on nothing is
    recorded for gradients (unless the program takes some), for which torch.cond and its like trace both sides in each
    call; test_gradients.py and its neighbours compare gradients.
    relaid: further calls, which the program may reject as other than its example.
    """
    found = []
    ours, state_before, with_gradients = None, None, True
    for number, (call, may_be_rejected) in enumerate([*((c, False) for c in calls), *((c, True) for c in relaid)]):
        eager = copy.deepcopy(module)
        if ours is None or _versions(ours) != state_before:
            ours = make()
            state_before = _versions(ours)
        given, also = copy.deepcopy(call), copy.deepcopy(call)
        with torch.set_grad_enabled(with_gradients):
            want, got = _outcome(eager, given), _outcome(ours, also)
        if not number:
            with_gradients = _takes_gradients(module, call)
        if may_be_rejected and (isinstance(got, InputMismatch) or str(got).startswith("Guard failed")):
            continue
        if isinstance(want, Exception) or isinstance(got, Exception):
            if not (isinstance(want, Exception) and isinstance(got, Exception)):
                found.append(f"call {number}: eager {want!r:.200}, program {got!r:.400}")
            continue
        buffers = dict(ours.named_buffers())
        state = {name: (value, buffers[name]) for name, value in eager.named_buffers() if name in buffers}
        for what, a, b in (("results", want, got), ("inputs", given, also), *((n, *v) for n, v in state.items())):
            if not same(a, b):
                found.append(f"call {number}: {what}: eager {a}, program {b}")
    return found


def _takes_gradients(module: torch.nn.Module, call: tuple[Any, ...]) -> bool:
    """Whether a call of the module raises where nothing is recorded for gradients."""
    with torch.no_grad():
        return isinstance(_outcome(copy.deepcopy(module), copy.deepcopy(call)), Exception)


def _versions(module: torch.nn.Module) -> list[tuple[int, int]]:
    """Of all tensors that the module and its parts hold: which they are, and how often they were written to."""
    held = [value for part in module.modules() for value in vars(part).values() if isinstance(value, torch.Tensor)]
    return [(id(tensor), tensor._version) for tensor in (*module.parameters(), *module.buffers(), *held)]


def _outcome(module: Any, args: tuple[Any, ...]) -> Any:
    try:
        return module(*args)
    except Exception as error:
        return error


def same(a: Any, b: Any) -> bool:
    """Equal structure, types, dtypes, shapes and (nearly) values."""
    left, right = pytree.tree_leaves(a), pytree.tree_leaves(b)
    return len(left) == len(right) and all(map(_same_leaf, left, right))


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        close = a.dtype == b.dtype and a.shape == b.shape
        return close and torch.allclose(a, b, atol=1e-5, rtol=1e-5, equal_nan=True)
    return type(a) is type(b) and bool(a == b)
