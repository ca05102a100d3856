"""Errors of eager's kernels that fake tensors do not raise, if the program may catch them.

A kernel without data checks sizes, and often neither the dtype ("not implemented for 'Long'") nor numbers (a complex
bound, a probability of 2). If nothing catches it, the exported program raises the error when it runs. If a handler
does, eager enters the handler: then the real kernel is run, on memory of the same sizes. Operators that fail for some
data only are in data_errors.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from dynamo_lite.capture._torch import FakeTensor, OpOverload
from dynamo_lite.capture.context import NodeContext
from dynamo_lite.capture.kernels import eager_errors
from dynamo_lite.capture.kernels.eager_errors import SEES_MEMORY
from dynamo_lite.capture.kernels.layout_questions import LayoutQuestions
from dynamo_lite.symbolic_shapes.expressions.expr import Apply
from dynamo_lite.symbolic_shapes.expressions.substitution import top_atoms
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_fake import device_of

KINDS: Final[frozenset[type[BaseException]]] = frozenset(
    {RuntimeError, IndexError, TypeError, NotImplementedError, ValueError, ZeroDivisionError}
)
_LIMIT = 1 << 18
"""Elements of all arguments of a call that is made for the question: the kernel may run to its end."""
_OPERATORS = 16
"""Operators in a size whose number is worked out for the question."""
_PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format,
          OpOverload)  # fmt: skip
_INT = {int}
_SUCCEEDED: dict[Any, OpOverload] = {}
"""Calls that eager does not fail in, with their operators, so that an id stays its operator's own."""


def withheld(
    func: OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    context: NodeContext,
    layout: LayoutQuestions,
    sizes_fit: bool = False,
) -> tuple[Exception, list[Any]] | None:
    """(the exception of eager for this call, the symbolic sizes that it depends on); None if it raises nothing on
    zeros, if the program does not catch it, or if eager cannot run.

    sizes_fit: the operator is elementwise and a rule has its result, so that the outcome does not depend on the sizes.
    """
    if func.namespace not in eager_errors.OURS or (torch.Tag.nondeterministic_seeded in func.tags and not args):
        return None
    if not context.catches(KINDS):
        return None
    described = _kind if sizes_fit else _described
    sees_memory = id(func) in SEES_MEMORY
    if sees_memory:
        described = _in_memory
        layout.memory_matters(args)
        layout.tried(func)
        _ask_for_bounds(func, args, kwargs)
    key = _key((args, tuple(kwargs.items())), func, described)
    if key in _SUCCEEDED:
        return None
    symbolic = eager_errors.symbolic_sizes((args, kwargs))
    if not all(map(_is_short, symbolic)):
        return None
    try:
        error = eager_errors.raised_on(0, func, args, kwargs, _LIMIT)
    except eager_errors.NotAsked:
        return None
    if error is not None and not sees_memory and eager_errors.rests_on_data(error, func, args, kwargs, _LIMIT):
        context.may_raise(str(func), frozenset({type(error)}))
        return None
    if error is not None:
        # A dtype that no kernel takes is not taken for other sizes either.
        return error, [] if isinstance(error, NotImplementedError) else symbolic
    if symbolic:
        key = _key((args, tuple(kwargs.items())), func, described)  # their numbers have been worked out since
    if key is not None:
        _SUCCEEDED[key] = func
    return None


def _ask_for_bounds(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Makes it a guard that what `as_strided` shows is in its argument's memory, or is not, if that hangs on sizes."""
    of = dict(zip([argument.name for argument in func._schema.arguments], args)) | kwargs
    if "stride" not in of or not eager_errors.symbolic_sizes((args, kwargs)):
        return
    offset = of.get("storage_offset")
    last = sum((size - 1) * step for size, step in zip(of["size"], of["stride"]))
    end = (args[0].storage_offset() if offset is None else offset) + last + 1
    if all(bool(size > 0) for size in of["size"]):
        bool(end * args[0].dtype.itemsize <= args[0].untyped_storage().nbytes())


def _is_short(size: Any) -> bool:
    """Whether a size has few operators: the number of a longer one may have more digits than memory has room for."""
    seen: set[Any] = set()
    todo = [size.node.core]
    while todo:
        for atom in top_atoms(todo.pop()):
            if isinstance(atom, Apply) and atom not in seen:
                seen.add(atom)
                todo += atom.args
        if len(seen) > _OPERATORS:
            return False
    return True


def _key(value: Any, func: OpOverload, described: Callable[[Any], Any]) -> Any:
    """The key of the outcome; None if it is not hashable. Symbolic sizes are replaced by their values in the example,
    on which the kernel runs; if those have not been computed, there is no key."""
    try:
        key = id(func), described(value)  # by id: the hash of an operator is a call of Python
        hash(key)
    except TypeError:
        return None
    return key


def _number(size: Any) -> Any:
    """The number in the example, if it is known already. Raises TypeError."""
    number = getattr(size.node, "known_hint", None)
    if number is None:
        raise TypeError
    return number


def _kind(value: Any) -> Any:
    """As `_described`, of tensors without their sizes; one without dimensions counts less in the common dtype."""
    if type(value) is FakeTensor and value.layout is torch.strided:
        return FakeTensor, value.dtype, device_of(value).type, value.dim() == 0
    return (type(value), tuple(map(_kind, value))) if isinstance(value, list | tuple) else _described(value)


def _in_memory(value: Any) -> Any:
    """As `_described`, with the size of a tensor's memory."""
    if type(value) is FakeTensor and value.layout is torch.strided:
        nbytes = value.untyped_storage().nbytes()
        return *_described(value), nbytes if type(nbytes) is int else _number(nbytes)
    return (type(value), tuple(map(_in_memory, value))) if isinstance(value, list | tuple) else _described(value)


def _described(value: Any) -> Any:
    if type(value) is FakeTensor and value.layout is torch.strided:
        sizes = (*value.shape, *value.stride(), value.storage_offset())
        if set(map(type, sizes)) != _INT:
            sizes = tuple([size if type(size) is int else _number(size) for size in sizes])
        return FakeTensor, sizes, value.dtype, device_of(value).type
    if type(value) in SYMBOLIC_TYPES:
        number = _number(value)
        return type(number), number
    if isinstance(value, torch.Tensor):
        raise TypeError
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_described, value))
    if not isinstance(value, _PLAIN):  # the key would keep it alive
        raise TypeError
    return type(value), value
