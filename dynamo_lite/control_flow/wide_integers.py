"""Integers of data that have to fit into 64 bits, since an operator returns them as tensors.

Elsewhere in a program an integer of data is a Python int, which has any size, as in eager. The result of a branch or a
loop, and an item of a list whose length depends on data, is a tensor of int64: beyond that the program raises an error.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import ge, le
from dynamo_lite.tracing.vocabulary.program_points import origin_of

_LEAST, _MOST = -(2**63), 2**63 - 1
_USUAL = 2**62
"""The bound of an integer of data in the decision whether the program needs an assertion: `n + 1` and `n // 2` need
none. Beyond it torch's own error is raised."""


def as_tensor(tracer: Forking, value: Any, dtype: torch.dtype) -> torch.Tensor:
    """Return a number as a tensor of no dimensions. An integer of data that may be too large is asserted not to be."""
    if type(value) is torch.SymInt and dtype is torch.int64 and _may_overflow(tracer, value):
        recorder, text = tracer.recorder, _text(tracer)
        for holds in (value >= _LEAST, value <= _MOST):
            if type(holds) is torch.SymBool:
                args = recorder.lower_symbolic(holds), text
                recorder.call_node(torch.ops.aten._assert_scalar.default, args, {}, "_assert_scalar")
    return torch.full((), value, dtype=dtype)


def total(tracer: Forking, rows: torch.Tensor) -> torch.Tensor:
    """Return the sum of a tensor of int64, which is asserted to fit: the halves of the numbers are added as well."""
    result = rows.sum()
    high, low = (rows >> 32).sum(), (rows & 0xFFFFFFFF).sum()
    torch._assert_async(result >> 32 == high + (low >> 32), _text(tracer))
    return result


def _may_overflow(tracer: Forking, value: Any) -> bool:
    env = tracer.recorder.env
    assert env is not None
    expr = env.unwrap(value)
    unknown = [symbol.as_int() for symbol in symbols_of(expr) if symbol.unbacked]
    if not unknown or expr in unknown:
        return False
    mark = env.core.snapshot()
    try:
        for symbol in unknown:
            for relation in (ge(symbol, -_USUAL), le(symbol, _USUAL)):
                env.core.assume(relation, Origin("user line", note="the usual size of an integer"), "axiom")
        least, most = env.core.bounds(expr)
    except ContradictoryFacts:
        return True
    finally:
        env.core.rollback(mark)
    return bool(least < _LEAST or most > _MOST)


def _text(tracer: Forking) -> str:
    where = str(origin_of(tracer.mark())).replace('"', "'")
    return (
        f"an integer that a branch, a loop or a list gives does not fit into 64 bits ({where}); "
        "eager computes it with Python's unbounded integers"
    )
