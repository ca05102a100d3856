"""Whether torch can make the gradient of a scan.

torch makes it when the program is called: it traces the iteration and its gradient together, and raises an error for
many constructs that the iteration itself may contain (torch 2.13: numbers of the data, sizes known at run time only,
branches whose gradients have different layouts, an LSTM). It is therefore tried while the program is made, on tensors
without data of the example's sizes.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from dynamo_lite.capture.graph import subgraph_calls
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.torch_internals._torch_fake import FakeTensorMode
from dynamo_lite.torch_internals._torch_functorch import without_common_subexpressions
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.undoing import attributes, changed

_UNKNOWN = 3
"""The number that represents one known at run time only."""

_SAVE_NOTHING = frozenset({torch.ops.aten.lstm.input, torch.ops.aten.lstm.data})
"""Operators whose kernel has autograd save an undefined tensor (oneDNN's workspace), which fake tensors hide."""


def failure(tracer: Forking, combine: Any, initial: Sequence[Any], slices: Sequence[Any], operands: Any) -> str | None:
    """Return torch's error for the gradient of `scan(combine, initial, slices, operands)`; None if there is none."""
    used = [node.target for node in combine.graph.nodes if node.target in _SAVE_NOTHING]
    if used:
        return f"{used[0]} saves an undefined tensor"
    with modes_off(), FakeTensorMode(shape_env=ShapeEnv()), torch.enable_grad():
        parts = [[_example(tracer, value) for value in values] for values in (initial, slices, operands)]
        key = _key(combine, parts)
        if key is None:
            return _raised(tracer, combine, parts)
        if key not in _known:
            if len(_known) >= _LIMIT:
                _known.clear()
            _known[key] = _raised(tracer, combine, parts)
        return _known[key]


_known: dict[Any, str | None] = {}
"""torch's errors for iterations with this code and such operands: the layers of a model have the same loop."""
_LIMIT = 1000


def _key(combine: Any, parts: list[list[Any]]) -> Any:
    """Return all that an iteration's gradient depends on; None if it has more than operators and sub-graphs of them."""
    rows = _rows(combine)
    return None if rows is None else (rows, tuple([tuple(map(_seen, part)) for part in parts]), _switches())


class _Result(NamedTuple):
    """A node, by its place in the graph: names differ from layer to layer."""

    place: int


def _rows(module: fx.GraphModule) -> Any:
    """A graph without its names."""
    places = {node: _Result(number) for number, node in enumerate(module.graph.nodes)}
    rows: list[Any] = [subgraph_calls.grad_mode(module)]
    for node in module.graph.nodes:
        target: Any = node.target if node.op == "call_function" else None
        if node.op == "get_attr":
            inner = getattr(module, str(node.target), None)
            target = _rows(inner) if isinstance(inner, fx.GraphModule) else None
            if target is None:
                return None
        elif node.op not in ("placeholder", "output", "call_function"):
            return None
        given: Any = (node.args, node.kwargs)
        rows.append((node.op, target, repr(fx.map_arg(given, places.__getitem__))))
    return tuple(rows)


def _seen(value: Any) -> Any:
    if not is_tensor(value):
        return type(value), value
    return tuple(value.shape), value.stride(), value.dtype, value.device, value.requires_grad


def _switches() -> Any:
    return torch.get_default_dtype(), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")


def _raised(tracer: Forking, combine: Any, parts: list[list[Any]]) -> str | None:
    """Return the error that torch raises; None if it computes the gradient."""
    with _silent(), without_common_subexpressions():
        was, tracer.recorder.running = tracer.recorder.running, True  # texts that torch makes are not the program's
        try:
            results = torch.ops.higher_order.scan(combine, parts[0], parts[1], tuple(parts[2]))
            wanted = [t for part in parts for t in part if is_tensor(t) and t.requires_grad]
            reached = [t for t in results if is_tensor(t) and t.requires_grad]
            if wanted and reached:
                torch.autograd.grad([t.sum() for t in reached], wanted, allow_unused=True)
        except Exception as error:
            return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        finally:
            tracer.recorder.running = was
    return None


def _example(tracer: Forking, value: Any) -> Any:
    """An operand, with the example's sizes."""
    if not is_tensor(value):
        return _number(tracer, value)
    like = tracer.recorder.fake(value)
    sizes, strides = ([_number(tracer, n) for n in numbers] for numbers in (like.shape, like.stride()))
    sizes = [max(size, 1) for size in sizes]  # of a piece, at iterations that its tensor does not have
    made = torch.empty_strided(sizes, strides, dtype=like.dtype, device=like.device)
    return made.requires_grad_(like.requires_grad)


def _number(tracer: Forking, value: Any) -> Any:
    env = tracer.recorder.env
    if type(value) is not torch.SymInt or env is None:
        return value
    expression = env.unwrap(value)
    if type(expression) is int:
        return expression
    return evaluate(expression, {symbol: _likely(symbol) for symbol in symbols_of(expression)})


def _likely(symbol: Symbol) -> int:
    return int(min(max(_UNKNOWN, symbol.lo), symbol.hi)) if symbol.hint is None else symbol.hint


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress logs and warnings of torch about errors that it raises."""
    with changed(partial(logging.disable, logging.root.manager.disable)), changed(attributes(warnings, "filters")):
        logging.disable(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
