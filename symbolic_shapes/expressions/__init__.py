"""Integer and float expressions and relations: canonical forms, bounds, evaluation, text, sympy.

`expr.py` has integers (interned polynomials over symbols and atoms), `floats.py` floats, `relations.py` propositions,
`intervals.py` bounds; `sympy_bridge/` goes to sympy and back.
Used by everything that is about sizes. Imports nothing of dynamo-lite, and no torch.
"""

from dynamo_lite.symbolic_shapes.expressions import operators as operators
