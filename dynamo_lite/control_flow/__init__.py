"""Control flow on data, captured as it is written: `if x.sum() > 0`, `while err > eps`, early returns.

    if x.sum() > 0:          # fork: the frame's state is kept, the heap has a journal of its own
        y = x.sin()          # one side, recorded into a sub-graph; then everything is put back
    else:
        y = x.cos()          # the other side, likewise
    return y                 # join: the two states are merged; what differs comes out of a torch.cond

A program that a plain trace refuses for a question about data is run under `ForkingTracer` (attempts.py). On the
way of one branch:

| question | file |
|---|---|
| does the jump depend on data? | predicates.py |
| where do its ways meet? does it decide a loop? | interpreter/flow |
| one side: run it, keep what it left, undo it | sides.py, states.py, undoing/ |
| the two states as one | merge.py (values), places.py (variables, heap) |
| both sides, joins further on and in the caller, sides that raise | branches/ |
| how many ways there are, whether they multiply | ways.py |
| rounds of a loop, what it carries | loops/ |
| lists whose length is data | lists/ |
| which item of a list Python takes | branches/choices.py |
| the operator | emission.py, capture/graph/subgraphs.py |
| memory that may be shared in eager, objects that are not used any more | capture/may_share.py, reachable.py |
| what tells two values apart: constants, layouts, sizes | unlike/ |
| what is told of it | notes.py |

docs/control_flow.md has the picture, the rules of the merge, and what is refused.

`attempts.py` makes the tracer. Imports `tracing` and `interpreter/flow`.
"""

from dynamo_lite.control_flow.tracer import ForkingTracer
from dynamo_lite.control_flow.variants import ExampleSizesTracer, FixedListsTracer, UnrollingTracer

__all__ = ["ExampleSizesTracer", "FixedListsTracer", "ForkingTracer", "UnrollingTracer"]
