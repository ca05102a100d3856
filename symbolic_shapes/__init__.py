"""Symbolic shapes: integer expressions, facts about them, and proofs.

    >>> from dynamo_lite.symbolic_shapes import ShapeEnv
    >>> env = ShapeEnv()
    >>> n = env.backed(16, lo=1)
    >>> env.decide(((n + 7) // 8) * 8 >= n).verdict
    True

`torch_env` implements torch's protocol with it, `program/shapes` makes its symbols. Below it: expressions, proofs,
prover; on top of it: size_guards and dims. No torch here.
"""

if __name__ == "symbolic_shapes":  # by the name of the folder, in a checkout
    from dynamo_lite.folders import serve

    serve(__name__)

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts, DataDependentQuestion, ShapeError, UnknownValue
from dynamo_lite.symbolic_shapes.expressions.division import ceildiv, floordiv
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare as compare_floats
from dynamo_lite.symbolic_shapes.expressions.floats import (
    Float,
    as_float,
    float_const,
    float_symbol,
    int_truediv,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    bool_to_int,
    ite,
    ite_bool,
    maximum,
    minimum,
    power,
    round_float,
    round_int,
)
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    and_,
    as_bool,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    not_,
    or_,
)
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.prover.decide import PROVED, REFUTED, UNKNOWN, Answer

__all__ = [
    "FALSE", "PROVED", "REFUTED", "TRUE", "UNKNOWN", "Answer", "Bool", "ContradictoryFacts",
    "DataDependentQuestion", "Fact", "Float", "Int", "Node", "Origin", "ShapeEnv", "ShapeError", "Symbol",
    "UnknownValue", "and_", "as_bool", "as_float", "as_int", "bool_to_int", "ceildiv", "compare_floats", "eq",
    "evaluate", "float_const", "float_symbol", "floordiv", "ge", "gt", "int_truediv", "ite", "ite_bool", "le",
    "lt", "maximum", "minimum", "ne", "not_", "or_", "power", "register_function", "round_float", "round_int",
    "symbols_of", "to_float", "to_python",
]
