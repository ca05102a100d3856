"""Tensors that wrap others: classes with `__tensor_flatten__`, `__tensor_unflatten__` and `__torch_dispatch__`.

The graph holds such a tensor as one value, as torch.export's does: an operator on it is one node, and when the program
runs, `__torch_dispatch__` is called again. While a program is recorded it runs natively, on fake tensors, like the
kernel of a custom operator. `run_decompositions()` takes the wrappers apart.

The fake tensor for a wrapper is a wrapper of the same class around FakeTensors. An attribute of it that the program
reads (`x.scale`) becomes `torch.ops.export.access_subclass_inner_tensor`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import torch
from torch import fx, nn

from dynamo_lite.capture._torch import FakeTensor, HigherOrderOperator
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, is_traceable_wrapper_subclass_type
from dynamo_lite.torch_internals._torch_pytree import pytree

ACCESS: Any = torch.ops.export.access_subclass_inner_tensor.default


@cache
def is_wrapper_class(cls: type) -> bool:
    """Whether tensors of this class wrap others, and list them."""
    return cls is not FakeTensor and is_traceable_wrapper_subclass_type(cls)


def is_wrapper(value: Any) -> bool:
    """Whether `value` is a tensor that wraps others."""
    cls: Any = type(value)
    return is_wrapper_class(cls)


class Parts(NamedTuple):
    """The parts of a wrapper: tensors by attribute name, other attributes (a DTensor's mesh), and the context that its
    class keeps."""

    tensors: dict[str, torch.Tensor]
    others: dict[str, Any]
    context: Any


def parts(tensor: Any) -> Parts:
    """Takes one level off a wrapper."""
    names, context = tensor.__tensor_flatten__()
    values = {name: getattr(tensor, name) for name in names}
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    return Parts(tensors, {name: value for name, value in values.items() if name not in tensors}, context)


def leaves(tensor: Any) -> Iterator[torch.Tensor]:
    """The tensors inside that wrap no others; `tensor` itself if it wraps none."""
    if not is_wrapper(tensor):
        yield tensor
        return
    for inner in parts(tensor).tensors.values():
        yield from leaves(inner)


def rebuilt(tensor: Any, change: Callable[[torch.Tensor], torch.Tensor], size: Any = None, stride: Any = None) -> Any:
    """A wrapper like `tensor` around `change` of each tensor inside; size and stride: its own, if they are others."""
    tensors, others, context = parts(tensor)
    inner = others | {name: rebuilt(t, change) if is_wrapper(t) else change(t) for name, t in tensors.items()}
    size = tensor.size() if size is None else size
    stride = tensor.stride() if stride is None else stride
    return type(tensor).__tensor_unflatten__(inner, context, size, stride)


def among(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether one of an operator's arguments is a wrapper."""
    return any(map(is_wrapper, pytree.tree_leaves((args, kwargs))))


class _InnerPlace(NamedTuple):
    inner: weakref.ref[torch.Tensor]
    wrapper: fx.Node | torch.Tensor
    name: str
    fake: torch.Tensor


class InnerTensors:
    """Where a tensor inside of a wrapper is found: by identity, weak in the tensors."""

    def __init__(self) -> None:
        self._places: dict[int, _InnerPlace] = {}
        self.any = False
        """Whether a wrapper has been seen."""

    def add(self, wrapper: Any, holder: fx.Node | torch.Tensor, real: Any = None) -> None:
        """Registers the tensors in `wrapper`, the value of `holder`; `real`: the tensor that it represents."""
        self.any = True
        fakes = parts(wrapper).tensors
        self._add(fakes, holder, fakes)
        if real is not None and real is not wrapper:
            self._add(parts(real).tensors, holder, fakes)

    def _add(self, tensors: dict[str, torch.Tensor], holder: fx.Node | torch.Tensor, fakes: dict[str, Any]) -> None:
        for name, tensor in tensors.items():
            self._places[id(tensor)] = _InnerPlace(weakref.ref(tensor), holder, name, fakes[name])
            if is_wrapper(tensor):
                self.add(fakes[name], fakes[name], tensor)

    def find(self, tensor: torch.Tensor) -> tuple[fx.Node | torch.Tensor, str, torch.Tensor] | None:
        """(the wrapper's node or fake tensor, the attribute's name, the fake tensor there); None for other tensors."""
        place = self._places.get(id(tensor))
        return None if place is None or place.inner() is not tensor else (place.wrapper, place.name, place.fake)


def fake(tensor: Any, of: Callable[[torch.Tensor], torch.Tensor], size: Any = None, stride: Any = None) -> Any:
    """The fake tensor for a wrapper of real tensors; `of` makes that of an inner tensor."""
    with torch.no_grad(), DisableTorchFunction():
        fake = rebuilt(tensor, of, size, stride)
    if fake.requires_grad != tensor.requires_grad:
        fake.requires_grad_(tensor.requires_grad)
    if isinstance(tensor, nn.Parameter):
        fake._is_param = True
    return fake


def symbolic_fake_of_wrapper(tensor: Any, of: Callable[[torch.Tensor, Any], torch.Tensor], sizes: Sequence[Any]) -> Any:
    """The same where sizes are symbols (`sizes`: a policy for each): tensors inside that are as large as the wrapper
    have its symbols, those of another shape have constant sizes. A call with others is refused
    (program/trees/wrapper_inputs.py).

    `of` takes a tensor inside and its policy. Raises ValueError if no tensor inside is as large as the wrapper.
    """
    known: list[torch.Tensor] = []

    def make(inner: torch.Tensor) -> torch.Tensor:
        if inner.shape != tensor.shape or inner.stride() != tensor.stride():
            return of(inner, [None] * inner.dim())
        policy = [_policy(size) for size in known[0].shape] if known else list(sizes)
        known.append(of(inner, policy))
        return known[-1]

    tensors = parts(tensor).tensors
    made = {id(inner): make(inner) for inner in leaves(tensor)}
    if not known:
        shapes = ", ".join(f"{name}: {list(t.shape)}" for name, t in tensors.items())
        raise ValueError(f"no tensor inside ({shapes}) has its shape {list(tensor.shape)}: give it constant sizes")
    return fake(tensor, lambda inner: made[id(inner)], known[0].shape, known[0].stride())


def _policy(size: Any) -> Any:
    return size.node.core if isinstance(size, torch.SymInt) else None


class Assemble(HigherOrderOperator):
    """`(inner tensors..., size, stride)` → a wrapper: represents the creation of a wrapper by the program.

    Wrappers are created by Python code of their class, which no operator shows; `__tensor_unflatten__` creates them
    again. There is one operator for each class and context that a recording meets, because these cannot be arguments.
    """

    def __init__(self, made: Any) -> None:
        self._cls: Any = type(made)
        tensors, self._others, self._context = parts(made)
        self._attributes = [*tensors]
        super().__init__(f"assemble_{type(made).__name__}_{next(_NUMBERS)}")

    def __call__(self, *args: Any) -> Any:
        *tensors, size, stride = args
        inner = self._others | dict(zip(self._attributes, tensors))
        return self._cls.__tensor_unflatten__(inner, self._context, torch.Size(size), tuple(stride))


_NUMBERS = count()
