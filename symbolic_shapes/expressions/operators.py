"""The operators of expressions that are defined beside the classes: comparisons, division, powers, text.

expr.py, floats.py and nodes.py define the classes and import no file that builds on them. Their methods look the
operation up in `OPERATIONS`.
"""

from __future__ import annotations

from dynamo_lite.symbolic_shapes.expressions.division import floordiv
from dynamo_lite.symbolic_shapes.expressions.float_relations import opaque_truth
from dynamo_lite.symbolic_shapes.expressions.nodes import OPERATIONS, Bool
from dynamo_lite.symbolic_shapes.expressions.piecewise import maximum, power
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.expressions.relations import and_, as_bool, ge, gt, le, lt, not_, or_


def _and(left: Bool, right: Bool | bool) -> Bool:
    return and_(left, as_bool(right))


def _or(left: Bool, right: Bool | bool) -> Bool:
    return or_(left, as_bool(right))


OPERATIONS.update(
    {
        "and": _and,
        "or": _or,
        "not": not_,
        "le": le,
        "lt": lt,
        "ge": ge,
        "gt": gt,
        "floordiv": floordiv,
        "power": power,
        "maximum": maximum,
        "to_python": to_python,
        "opaque_truth": opaque_truth,
    }
)
