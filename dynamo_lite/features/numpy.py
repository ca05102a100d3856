"""numpy arrays of tensors, and numpy's functions of varying sizes.

The rules are in `tracing/tensors/numpy_rules.py` and `tracing/sizes/numpy_functions.py`, the answers in
`tracing/arrays`.
"""

from dynamo_lite.tracing.feature import Feature, WhileAwake
from dynamo_lite.tracing.sizes import numpy_functions
from dynamo_lite.tracing.tensors import numpy_rules

FEATURE = Feature(
    name="numpy",
    rules=numpy_functions.table,
    wraps=numpy_rules.table,
    c_steps=(numpy_rules.plan,),
    while_awake=WhileAwake(numpy_rules.plan_library),
    graph_breaks=("numpy-function",),
)
