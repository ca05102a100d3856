"""Integer and float expressions and relations: canonical forms, bounds, evaluation, text, sympy."""

from dynamo_lite.symbolic_shapes.expressions import operators as operators
