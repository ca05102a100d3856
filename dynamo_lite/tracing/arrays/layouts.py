"""Memory sharing and strides of numpy's results, found by calling numpy itself on arrays of ones.

torch._numpy's functions give a view where numpy makes a copy (`flatten`, `astype`, `conj`, an item), a copy where numpy
makes a view (`a[::-1]`, which no tensor can be; `np.diag`), and another order of strides. A later write through one of
the two shows the first two, `stride()` and `view()` of a tensor made of the array the third. Checked with torch 2.13,
numpy 2.4.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import Unwritable
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_array

_EXAMPLE = 3  # stands for a size that varies: only dimensions, dtypes and memory are compared
_LAYOUT = "_dynamo_lite_layout"


class ArrayLayout(NamedTuple):
    """Properties of a numpy array that its tensor lacks: strides in elements, and whether it may be written to."""

    strides: tuple[int, ...]
    writeable: bool


class NumpyAnswer(NamedTuple):
    """numpy's results for arrays of ones like the arguments; `given` are those arrays."""

    results: list[Any]
    given: list[Any]


def reference(tracer: TracerView, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> NumpyAnswer:
    """Return numpy's results for arrays of ones like these; none if it raises on ones.

    Where ones are singular (`inv`, `cholesky`), numpy is called again, with ones and an identity matrix added. Raises
    numpy's ValueError for a write into an array that it makes read-only (`a.diagonal()`).
    """
    import numpy

    try:
        return _answer(tracer, fn, args, kwargs, add_identity=False)
    except numpy.linalg.LinAlgError:
        return _answer(tracer, fn, args, kwargs, add_identity=True)


def _answer(tracer: TracerView, fn: Any, args: list[Any], kwargs: dict[str, Any], add_identity: bool) -> NumpyAnswer:
    import numpy

    given: list[Any] = []
    try:
        with tracer.suspended(), numpy.errstate(all="ignore"):
            values = [_ones(v, given, add_identity) for v in args]
            result = fn(*values, **{key: _ones(v, given, add_identity) for key, v in kwargs.items()})
    except numpy.linalg.LinAlgError:
        if not add_identity:
            raise
        return NumpyAnswer([], given)
    except ValueError as error:
        if "read-only" in str(error) and not all(array.flags.writeable for array in given):
            raise
        return NumpyAnswer([], given)
    except Exception:
        return NumpyAnswer([], given)
    return NumpyAnswer([*result] if isinstance(result, (tuple, list)) else [result], given)


def ones_like(array: Any) -> Any:
    """Return a real array of ones with numpy's own strides: for errors that depend on the layout alone."""
    return _ones(array, [])


def is_as_its_tensor(array: Any) -> bool:
    return _LAYOUT not in vars(array)


def as_in_numpy(tracer: TracerView, name: str, asked: NumpyAnswer, args: list[Any], results: list[Any]) -> None:
    """Give the results of numpy's function `name` the memory and the layout that numpy's have."""
    import numpy

    sources = [value for value in _flat(args) if is_array(value)]
    known = {id(value.tensor) for value in sources}
    shared = {storage_key(value.tensor) for value in sources}
    for result, like in zip(results, asked.results):
        if id(result.tensor) in known and any(result is value for value in sources):
            continue  # what was written in place
        shares = isinstance(like, numpy.ndarray) and any(numpy.may_share_memory(like, array) for array in asked.given)
        if shares:
            if storage_key(result.tensor) not in shared:
                _sever(tracer, name, [result, *sources])
            _note_layout(result, like)
        elif storage_key(result.tensor) in shared:
            result.tensor = _laid_out(result.tensor.clone(memory_format=torch.contiguous_format), like)
        else:
            result.tensor = _laid_out(result.tensor, like)


def _sever(tracer: TracerView, name: str, arrays: list[Any]) -> None:
    """In numpy these are one memory, and here they are not: neither may be written to."""
    details = {"function": f"{name}, a view of the same memory, and then a write to that memory,"}
    reason = Unwritable(
        "numpy-function",
        f"writes into memory of which {name} made a view; no tensor is such a view",
        "copy() it first",
        details,
        [array.tensor for array in arrays],
    )
    for array in arrays:
        tracer.recorder.computed_storages[storage_key(array.tensor)] = reason


def _note_layout(result: Any, like: Any) -> None:
    strides = tuple(stride // like.itemsize for stride in like.strides)
    if any(stride < 0 for stride in strides) or not like.flags.writeable:
        vars(result)[_LAYOUT] = ArrayLayout(strides, like.flags.writeable)


def _laid_out(tensor: torch.Tensor, like: Any) -> torch.Tensor:
    """The same elements in the order of numpy's result, which has memory of its own."""
    if tensor.ndim < 2 or getattr(like, "ndim", 0) != tensor.ndim:
        return tensor
    order = _order([abs(stride) for stride in like.strides], like.shape)
    ours = _order([*map(_hint, tensor.stride())], [*map(_hint, tensor.shape)])
    if order == ours:
        return tensor
    return tensor.permute(order).contiguous().permute(_inverse(order))


def _order(strides: Any, sizes: Any) -> list[int]:
    """The dimensions from the outermost to the innermost; those of one element stay before what follows them."""
    outer, following = [0] * len(sizes), 0
    for place in reversed(range(len(sizes))):
        outer[place] = following = following if sizes[place] == 1 else strides[place]
    return sorted(range(len(sizes)), key=lambda place: -outer[place])


def _inverse(order: list[int]) -> list[int]:
    return [order.index(place) for place in range(len(order))]


def _hint(size: Any) -> int:
    """The example's value of a size, without asking for it; that of one which only run time knows is as good as any."""
    hint = size.node.hint if type(size) in SYMBOLIC else size
    return _EXAMPLE if hint is None else int(hint)


def _flat(values: Any) -> list[Any]:
    found = []
    for value in values:
        found += _flat(value) if type(value) in (list, tuple) else [value]
    return found


def _ones(value: Any, given: list[Any], add_identity: bool = False) -> Any:
    """Ones in place of arrays and of numbers that vary; `given` receives the arrays."""
    if is_array(value):
        made = _array_of_ones(value)
        if add_identity and made.ndim > 1 and made.dtype.kind in "fc" and made.flags.writeable:
            made += sys.modules["numpy"].eye(*made.shape[-2:], dtype=made.dtype)
        given.append(made)
        return made
    if type(value) in SYMBOLIC:
        return real_type(value)(_EXAMPLE)
    if type(value) in (list, tuple):
        return type(value)(_ones(part, given, add_identity) for part in value)
    return value


def _array_of_ones(array: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    tensor, layout = array.tensor, vars(array).get(_LAYOUT)
    dtype = numpy.dtype(str(tensor.dtype).removeprefix("torch."))
    sizes = [_EXAMPLE if type(size) in SYMBOLIC else size for size in tensor.shape]
    strides = [*layout.strides] if layout is not None else [*map(_hint, tensor.stride())]
    if any(type(number) in SYMBOLIC for number in (*tensor.shape, *tensor.stride())):
        order = _order([*map(abs, strides)], sizes)
        made = numpy.ones([sizes[place] for place in order], dtype).transpose(_inverse(order))
    else:
        reach = [(size - 1) * stride for size, stride in zip(sizes, strides)]
        extent = 0 if 0 in sizes else 1 + sum(map(abs, reach))
        memory = numpy.ones(extent, dtype)
        start = -sum(step for step in reach if step < 0)
        made = numpy.ndarray(sizes, dtype, memory, start * dtype.itemsize, [s * dtype.itemsize for s in strides])
    made.flags.writeable = layout is None or layout.writeable
    return made
