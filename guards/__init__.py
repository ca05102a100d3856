"""Guards: the conditions under which an exported program is right.

A `Source` says where a value was read from, a `Guard` what it has to be there, a `GuardSet` checks all guards of a
trace with one generated function and explains what failed. docs/guards.md has the whole picture.

Made by `tracing/assumptions` after a run; asked by users and by dynamo_lite.check. Imports no tracer, and of torch's
private API only what `_torch_dispatch.py` names.
"""

if __name__ == "guards":  # by the name of the folder, in a checkout
    from dynamo_lite.folders import serve

    serve(__name__)

from dynamo_lite.guards.guard import Failure, Guard, State
from dynamo_lite.guards.guard_set import GuardSet
from dynamo_lite.guards.source import Source, child, root
from dynamo_lite.guards.tensors import TensorFacts, facts_of

__all__ = ["Failure", "Guard", "GuardSet", "Source", "State", "TensorFacts", "child", "facts_of", "root"]
