"""Data-dependent control flow, captured as it is written: `if x.sum() > 0`, `while err > eps`, early returns.

    if x.sum() > 0:          # fork: the frame's state is saved, the heap gets a journal of its own
        y = x.sin()          # one side, recorded into a sub-graph; then all its effects are undone
    else:
        y = x.cos()          # the other side, likewise
    return y                 # join: the two states are merged; values that differ are results of a torch.cond

A program that a plain trace rejects because it branches on data is run under `ForkingTracer` (attempts.py). The steps
for one branch:

| question | file |
|---|---|
| does the jump depend on data? | predicates.py |
| where do its sides join? does it decide a loop? | interpreter/flow |
| one side: run it, save its effects, undo it | sides.py, states.py, undoing/ |
| merging the two states | merge.py (values), places.py (variables, heap) |
| both sides, later joins, joins in the caller, sides that raise | branches/ |
| the number of paths, and whether it multiplies | path_counter.py |
| iterations of a loop, the values it carries | loops/ |
| lists whose length depends on data | lists/ |
| which item of a list Python takes | branches/choices.py |
| the operator | emission.py, capture/graph/subgraphs.py |
| memory that may be shared in eager, unreachable objects | capture/may_share.py, reachable.py |
| differences between two values: constants, layouts, sizes | differences/ |
| notes and log rows | notes.py |

docs/control_flow.md has the picture, the rules of the merge, and the unsupported cases.

`attempts.py` makes the tracer. Imports `tracing` and `interpreter/flow`.
"""

from dynamo_lite.control_flow.tracer import ForkingTracer
from dynamo_lite.control_flow.variants import ExampleSizesTracer, FixedListsTracer, UnrollingTracer

__all__ = ["ExampleSizesTracer", "FixedListsTracer", "ForkingTracer", "UnrollingTracer"]
