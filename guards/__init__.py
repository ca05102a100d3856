"""Guards: the conditions under which an exported program is right.

A `Source` is the path from which a value was read, a `Guard` a condition on the value at a source. A `GuardSet` checks
all guards of a trace with one generated function and explains a failure. docs/guards.md has an overview.

Created by `tracing/assumptions` after a run; checked by users and by dynamo_lite.check. Imports no tracer, and of
torch's private API only the names in `_torch_dispatch.py`.
"""

if __name__ == "guards":  # by the name of the folder, in a checkout
    from dynamo_lite.folders import serve

    serve(__name__)

from dynamo_lite.guards.guard import Failure, Guard, State
from dynamo_lite.guards.guard_set import GuardSet
from dynamo_lite.guards.source import Source, child, root
from dynamo_lite.guards.tensors import TensorFacts, facts_of

__all__ = ["Failure", "Guard", "GuardSet", "Source", "State", "TensorFacts", "child", "facts_of", "root"]
