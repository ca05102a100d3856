"""Relations of input sizes and data-dependent sizes that a bound on the inputs alone decides.

`s0 + u0 == 0`: u0, a number of rows, is known at run time only; s0 is a size of an input, 10 in the example. Whatever
u0 is, the answer is False if s0 >= 1. That bound is a fact about the input: it becomes a guard, as the answer to a
question about s0 alone would. torch.export answers so too, as it takes each dynamic size to be 2 at least.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion, UnknownValue
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, ge
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

_BOUNDS = (1, 2)
"""The least sizes that are tried, the weaker first."""


def settles(env: TorchShapeEnv, question: DataDependentQuestion | UnknownValue) -> bool:
    """Makes guards of the least sizes that answer `question` whatever the data is; False if none do."""
    if not isinstance(question, DataDependentQuestion):
        return False
    relation = question.relation
    for bound in _BOUNDS:
        raised = [symbol for symbol in symbols_of(relation) if _may_be_less(env, symbol, bound)]
        for symbols in [*([one] for one in raised), raised]:
            if symbols and _decides(env, relation, symbols, bound):
                for symbol in symbols:
                    bool(env.wrap(ge(symbol.as_int(), bound)))
                return True
    return False


def _may_be_less(env: TorchShapeEnv, symbol: Symbol, bound: int) -> bool:
    """Whether it is a size that is `bound` at least in the example, and might be less in another call."""
    size = symbol.as_int()
    hint, (lo, _) = env.hint_of(size), env.core.bounds(size)
    return hint is not None and lo < bound <= hint


def _decides(env: TorchShapeEnv, relation: Bool, symbols: Sequence[Symbol], bound: int) -> bool:
    """Whether the relation has one answer for all sizes from `bound` on: size = bound + t with t >= 0."""
    shifted: dict[Atom, Int] = {s: Symbol(f"{s}_less_{bound}", 0).as_int() + bound for s in symbols}
    return env.core.decide(substitute(relation, shifted)).verdict is not None
