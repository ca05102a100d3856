"""A deep snapshot of the user's objects, to see whether an export left them alone.

The walk goes through containers, instances (class, `__dict__` and slots), functions (code, defaults, closure), bound
methods and the program's own classes, by identity, without calling anything of the user's. Beside them stand the
process-wide settings that an export could leave changed.
"""

from __future__ import annotations

import collections
import functools
import itertools
import logging
import os
import random
import sys
import weakref
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from dynamo_lite.torch_internals._torch_dispatch import _len_torch_dispatch_stack, _len_torch_function_stack
from dynamo_lite.torch_internals._torch_fake import FakeTensor

_PLAIN_VALUES = (
    *(int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device),
    *(BuiltinFunctionType, ModuleType),
)
_LRU = type(functools.lru_cache(lambda: None))
_SEQUENCES: tuple[Any, ...] = ([], (), range(0), {}, "")
_BUILT_IN_ITERATORS = tuple(type(iter(x)) for x in _SEQUENCES)
_ITERATORS: tuple[type[Any], ...] = (*_BUILT_IN_ITERATORS, itertools.count, itertools.cycle, zip, enumerate)
_OURS = ("tests.", "benchmarks.", "lab_programs.")
_DATA = object()
_MEMBER = type(type("S", (), {"__slots__": ("x",)}).__dict__["x"])


class UserObjects:
    """All that can be reached from `roots`. Holds what it saw, so that no address is used again."""

    def __init__(self, roots: Any) -> None:
        self.rows: dict[int, tuple[str, Any, list[tuple[str, Any]]]] = {}
        self.fakes: list[str] = []
        self._walk(roots)
        self.process = process_state()

    def _walk(self, roots: Any) -> None:
        pending = [("", roots)]
        while pending:
            path, obj = pending.pop()
            if id(obj) in self.rows or isinstance(obj, _PLAIN_VALUES):
                continue
            if isinstance(obj, FakeTensor):
                self.fakes.append(path)
            held = list(contents(obj))
            self.rows[id(obj)] = (path, obj, held)
            pending += [(path + step, part) for step, part in held if not _is_data(part)]

    def changes(self) -> str | None:
        """The first difference now, in words: an object that holds something else, or a setting."""
        for path, obj, held in self.rows.values():
            now = list(contents(obj))
            if [step for step, _ in now] != [step for step, _ in held]:
                return f"{path or 'the roots'} holds {_steps(now)}, before {_steps(held)}"
            for (step, new), (_, old) in zip(now, held):
                if new is not old and not _same_atom(old, new):
                    return f"{path}{step} is {_short(new)}, before {_short(old)}"
        for name, value in process_state().items():
            if value != self.process[name]:
                return f"{name} is {_short(value)}, before {_short(self.process[name])}"
        return None


def _steps(held: list[tuple[str, Any]]) -> list[str]:
    return [step for step, _ in held][:40]


def _is_data(value: Any) -> bool:
    return type(value) is tuple and bool(value) and value[0] is _DATA


def _same_atom(old: Any, new: Any) -> bool:
    if type(old) is not type(new):
        return False
    if _is_data(old):
        return _same_data(old, new)
    return isinstance(old, _PLAIN_VALUES) and bool(old == new or (old != old and new != new))


def _same_data(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    for a, b in zip(old, new):
        if isinstance(a, torch.Tensor):
            if a.shape != b.shape or not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)):
                return False
        elif a is not b and a != b:
            return False
    return True


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__}{tuple(value.shape)}"
    if _is_data(value):
        return "data: " + ", ".join(_short(v) for v in value[1:])
    if type(value) is tuple:
        return repr(value)[:100]
    text = f"{type(value).__name__} {value!r}" if isinstance(value, _PLAIN_VALUES) else f"a {type(value).__qualname__}"
    return text[:100]


def contents(obj: Any) -> Iterator[tuple[str, Any]]:
    """(step, object) for everything that `obj` holds directly. Data that has no identity comes as a marked tuple."""
    kind = type(obj)
    if _is_torchs(obj) or isinstance(obj, logging.Logger):
        return
    if issubclass(kind, dict):
        items = collections.OrderedDict.items(obj) if issubclass(kind, collections.OrderedDict) else dict.items(obj)
        yield from ((f"[{_key(k)}]", v) for k, v in items)
    elif issubclass(kind, (list, tuple, collections.deque)):
        base = next(b for b in (list, tuple, collections.deque) if issubclass(kind, b))
        yield from ((f"[{i}]", v) for i, v in enumerate(base.__iter__(obj)))
    elif issubclass(kind, (set, frozenset)):
        yield "{}", (_DATA, frozenset(id(v) for v in obj))
    elif kind is CellType:
        yield ".cell_contents", _cell(obj)
    elif kind is FunctionType:
        yield from _function(obj)
    elif kind is MethodType:
        yield ".__func__", obj.__func__
        yield ".__self__", obj.__self__
    elif issubclass(kind, type):
        if obj.__module__.startswith(_OURS):
            # A class's order of names cannot be put back. CPython makes empty annotations where they are asked for.
            # copyreg puts __slotnames__ there for a first copy, Python 3.14 the cache for a first look at annotations
            out = ("__weakref__", "__dict__", "__slotnames__", "__annotations_cache__")
            names = sorted(k for k, v in obj.__dict__.items() if k not in out and (k, v) != ("__annotations__", {}))
            yield from ((f".{k}", obj.__dict__[k]) for k in names)
    elif isinstance(obj, _LRU):
        yield ".cache_info", (_DATA, tuple(obj.cache_info()))
        yield ".__wrapped__", obj.__wrapped__
    else:
        yield from _state(obj)


def _is_torchs(obj: Any) -> bool:
    """Whether an object belongs to torch's machinery (its compiler's caches, ...) and is not a model's part."""
    module = getattr(obj if type(obj) is FunctionType else type(obj), "__module__", None)
    mine = (torch.Tensor, torch.nn.Module, tuple, list, dict)
    return str(module).partition(".")[0] == "torch" and not isinstance(obj, mine)


def _position(iterator: Any) -> str | None:
    """The iterators of itertools have no `__reduce__` from Python 3.14 on; the text of a count has its next number."""
    try:
        return repr(iterator.__reduce__()[1:])
    except TypeError:
        return repr(iterator) if type(iterator) is itertools.count else None


def _state(obj: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(obj, torch.Tensor) and not isinstance(obj, FakeTensor) and not is_lazy(obj):
        yield from _tensor(obj)
    elif isinstance(obj, GeneratorType):
        yield ".gi", (_DATA, obj.gi_frame.f_lasti if obj.gi_frame else None)
    elif isinstance(obj, _ITERATORS):
        yield ".state", (_DATA, _position(obj))
    elif isinstance(obj, weakref.ref):
        yield ".alive", (_DATA, obj() is not None)
    elif isinstance(obj, (bytearray, random.Random)):
        yield ".value", (_DATA, bytes(obj) if isinstance(obj, bytearray) else obj.getstate())
    if type(obj).__module__.startswith(_OURS):
        yield ".__class__", type(obj)
    try:
        namespace = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        namespace = {}
    for name, value in namespace.items():
        if not str(name).startswith("_dynamo_"):  # torch.compile's own marks on parameters
            yield f".{name}", value
    for name, member in _slots(type(obj)):
        yield f".{name}", _slot(member, obj)


def _key(key: Any) -> str:
    return repr(key) if isinstance(key, _PLAIN_VALUES) else f"<{type(key).__qualname__} at {id(key):#x}>"


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


_known_slots: weakref.WeakKeyDictionary[type, list[tuple[str, Any]]] = weakref.WeakKeyDictionary()


def _slots(kind: type) -> list[tuple[str, Any]]:
    """The slots that a class and its bases define; CPython adds none to a class that is there."""
    found = _known_slots.get(kind)
    if found is None:
        found = _known_slots[kind] = [
            (name, member)
            for cls in kind.__mro__
            for name, member in cls.__dict__.items()
            if type(member) is _MEMBER and name != "__vectorcalloffset__"  # a partial's, which CPython sets at calls
        ]
    return found


def _slot(member: Any, obj: Any) -> Any:
    try:
        return member.__get__(obj)
    except AttributeError:
        return None


def _function(fn: FunctionType) -> Iterator[tuple[str, Any]]:
    yield ".__code__", fn.__code__
    yield ".__defaults__", fn.__defaults__
    yield ".__kwdefaults__", fn.__kwdefaults__
    yield from ((f".{k}", v) for k, v in fn.__dict__.items())
    yield from ((f".{name}", cell) for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()))


def _tensor(tensor: torch.Tensor) -> Iterator[tuple[str, Any]]:
    data = tensor.detach().clone() if tensor.device.type != "meta" and tensor.layout is torch.strided else None
    version = None if tensor.is_inference() else tensor._version
    storage = tensor.untyped_storage()._cdata if tensor.layout is torch.strided else None
    facts = (tensor.dtype, tensor.shape, tensor.requires_grad, version, storage)
    yield ".data", (_DATA, data, *facts)
    yield ".grad", tensor.grad if tensor.is_leaf else None


def process_state() -> dict[str, Any]:
    """Process-wide settings by name."""
    return {
        "torch's random state": torch.get_rng_state().tolist(),
        "Python's random state": random.getstate(),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": str(torch.get_default_device()),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "the recursion limit": sys.getrecursionlimit(),
        "the trace function": sys.gettrace(),
        "the profile function": sys.getprofile(),
        "the environment": {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "PYTEST"))},
        "torch function modes": _len_torch_function_stack(),
        "dispatch modes": _len_torch_dispatch_stack(),
    }
