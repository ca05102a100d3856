"""Programs whose state is changed at random, one change at a time: what a change is, and how it is made.

Everything within reach of a program can be changed: attributes, slots, items, order and length of containers, closure
cells, defaults and code of functions, globals and classes of its own file, tensors (data, dtype, another one in the
same place), submodules, and torch's switches. Within reach is what strict=False looks at
(dynamo_lite/nonstrict/reachability.py); its journal puts everything back.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Iterator
from types import CellType, FunctionType
from typing import Any, NamedTuple

import torch
from torch import nn

from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.replay.equal import same
from dynamo_lite.replay.python_state import memory_of
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.policy.native_modules import in_library


class Change(NamedTuple):
    """One change: in words, and what makes it."""

    text: str
    make: Callable[[], Any]


class _Reach(Reachable):
    """Keeps the tensors, with copies of their data, and leaves the functions of libraries alone."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.tensors: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def _tensor(self, tensor: torch.Tensor) -> None:
        super()._tensor(tensor)
        if memory_of(tensor) is not None:
            self.tensors.append((tensor, tensor.data, tensor.detach().clone()))

    def _function(self, fn: FunctionType) -> None:
        if not in_library(str(fn.__globals__.get("__name__", ""))):
            super()._function(fn)


class State:
    """The state of a program: `changes` lists what can be changed, `restore` puts everything back."""

    def __init__(self, program: Any) -> None:
        self._journal = Journal(lambda: ())
        self._reach = _Reach(self._journal)
        self._reach.take(program)
        self._switches = torch.is_grad_enabled(), torch.get_default_dtype()

    def changes(self, rng: random.Random) -> list[Change]:
        """All changes that one can think of, in an order that `rng` gives. Tensors that are shared come up once."""
        found: dict[tuple[int, str], Change] = {}
        for owner in self._journal.owners():
            for change in _of(owner, rng):
                found.setdefault((id(owner), change.text), change)
        changes = [*found.values(), *SWITCHES]
        rng.shuffle(changes)
        return changes

    def restore(self) -> None:
        """Everything is as before."""
        torch.set_grad_enabled(self._switches[0])
        torch.set_default_dtype(self._switches[1])
        with torch.no_grad():
            for tensor, data, before in self._reach.tensors:
                if tensor.data_ptr() != data.data_ptr() or tensor.dtype is not data.dtype:
                    tensor.data = data
                if not same(before, tensor.detach()):
                    data.copy_(before)
        self._journal.rollback()


SWITCHES = [
    Change("torch.set_grad_enabled", lambda: torch.set_grad_enabled(not torch.is_grad_enabled())),
    Change("torch.set_default_dtype", lambda: torch.set_default_dtype(torch.float64)),
]


SPECIAL_METHODS: dict[str, Callable[..., Any]] = {
    "__bool__": lambda self: False,
    "__len__": lambda self: 0,
    "__contains__": lambda self, item: True,
    "__eq__": lambda self, other: True,
}
"""What a class may be given later, and no read shows that it is not there."""


def _of(owner: Any, rng: random.Random) -> Iterator[Change]:
    kind = type(owner).__qualname__
    if isinstance(owner, type):
        for name, value in vars(owner).items():
            if not name.startswith("__") and (new := other(value, rng)) is not None:
                yield Change(f"class {owner.__qualname__}.{name}", _setter(setattr, owner, name, new))
        for name, method in SPECIAL_METHODS.items():
            if name not in vars(owner):
                yield Change(f"class {owner.__qualname__} has {name}", _setter(setattr, owner, name, method))
    elif isinstance(owner, CellType):
        value = _contents(owner)
        if (new := other(value, rng)) is not None:
            yield Change(f"a variable ({type(value).__qualname__})", _setter(setattr, owner, "cell_contents", new))
    elif isinstance(owner, FunctionType):
        yield from _of_function(owner, rng)
    elif isinstance(owner, dict):
        yield from _of_dict(owner, kind, rng)
    elif isinstance(owner, (list, collections.deque)):
        yield from _of_sequence(owner, kind, rng)
    elif isinstance(owner, set):
        yield Change("a set is given one more", lambda: set.add(owner, "one more"))
    else:
        yield from _of_object(owner, kind, rng)


def _setter(write: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: write(*args)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _of_function(fn: FunctionType, rng: random.Random) -> Iterator[Change]:
    defaults = fn.__defaults__
    if defaults and (new := other(defaults[-1], rng)) is not None:
        yield Change(f"a default of {fn.__name__}", _setter(setattr, fn, "__defaults__", (*defaults[:-1], new)))
    if not fn.__closure__:
        yield Change(f"the code of {fn.__name__}", _setter(setattr, fn, "__code__", _another.__code__))


def _another(*args: Any, **kwargs: Any) -> Any:
    return args[-1] if args else None


def _of_dict(owner: dict[Any, Any], kind: str, rng: random.Random) -> Iterator[Change]:
    is_globals = "__builtins__" in owner
    base: Any = collections.OrderedDict if isinstance(owner, collections.OrderedDict) else dict
    for key, value in [*owner.items()]:
        if isinstance(key, str) and key.startswith("__"):
            continue
        if (new := other(value, rng)) is not None:
            yield Change(f"an entry of a {kind}: {key!r:.40}", _setter(base.__setitem__, owner, key, new))
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield Change(f"the dtype of {key!r:.40}", _setter(setattr, value, "data", value.data.double()))
            yield Change(f"the data of {key!r:.40}", _setter(value.data.add_, 1))
        if not is_globals:
            yield Change(f"an entry less of a {kind}: {key!r:.40}", _setter(base.pop, owner, key, None))
    if not is_globals:
        yield Change(f"an entry more of a {kind}", _setter(base.__setitem__, owner, "one_more", 1))
        if len(owner) > 1:
            yield Change(f"the order of a {kind}", lambda: _turn(owner))


def _turn(owner: dict[Any, Any]) -> None:
    key = next(iter(owner))
    if isinstance(owner, collections.OrderedDict):
        collections.OrderedDict.move_to_end(owner, key)
    else:
        dict.__setitem__(owner, key, dict.pop(owner, key))


def _of_sequence(owner: Any, kind: str, rng: random.Random) -> Iterator[Change]:
    for index, value in enumerate(owner):
        if (new := other(value, rng)) is not None:
            yield Change(f"item {index} of a {kind}", _setter(type(owner).__setitem__, owner, index, new))
    if owner:
        yield Change(f"an item less of a {kind}", lambda: owner.pop())
        yield Change(f"an item more of a {kind}", lambda: owner.append(owner[0]))
    if len(owner) > 1:
        yield Change(f"a {kind} turned round", lambda: owner.reverse())


def _of_object(owner: Any, kind: str, rng: random.Random) -> Iterator[Change]:
    namespace = getattr(owner, "__dict__", None)
    names = [*namespace] if type(namespace) is dict else []
    slots = [name for base in type(owner).__mro__ for name in vars(base).get("__slots__", ()) if isinstance(name, str)]
    for name in names:
        value = namespace[name]  # type: ignore[index]
        if (new := other(value, rng)) is not None:
            yield Change(f"{kind}.{name}", _setter(dict.__setitem__, namespace, name, new))
    for name in slots:
        if hasattr(owner, name) and (new := other(getattr(owner, name), rng)) is not None:
            yield Change(f"{kind}.{name}", _setter(object.__setattr__, owner, name, new))
    if isinstance(owner, nn.Module):
        yield Change(f"{kind} in the other mode", lambda: owner.train(not owner.training))
        yield Change(f"{kind} has a hook", lambda: owner.register_forward_hook(_double))


def _double(module: Any, args: Any, output: Any) -> Any:
    return output * 2 if isinstance(output, torch.Tensor) else None


def other(value: Any, rng: random.Random) -> Any:
    """Another value that could stand there; None if none comes to mind."""
    if isinstance(value, bool):
        return not value
    if type(value) in (int, float):
        return value + rng.choice([1, 2, -1])
    if type(value) is str:
        return value + "x"
    if value is None:
        return rng.choice([1, "text"])
    if isinstance(value, torch.Tensor):
        return _other_tensor(value, rng)
    if type(value) in (list, tuple):
        return type(value)([*value, value[0]]) if value else type(value)([1])
    if type(value) is FunctionType:
        return _another
    if isinstance(value, nn.Module):
        return rng.choice([nn.Identity(), nn.Tanh()])
    return None


def _other_tensor(tensor: torch.Tensor, rng: random.Random) -> torch.Tensor:
    with torch.no_grad():
        made = tensor.detach().clone()
        if made.is_floating_point() and rng.random() < 0.7:
            made += 1
        if rng.random() < 0.3:
            made = made[None]
    return nn.Parameter(made) if isinstance(tensor, nn.Parameter) else made
