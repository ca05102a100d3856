"""Guards: the conditions under which an exported program is right.

A `Source` says where a value was read from, a `Guard` what it has to be there, a `GuardSet` checks all guards of a
trace with one generated function and explains what failed. docs/guards.md has the whole picture.
"""

from guards.guard import Failure, Guard, State
from guards.guard_set import GuardSet
from guards.source import Source, child, root
from guards.tensors import TensorFacts, facts_of

__all__ = ["Failure", "Guard", "GuardSet", "Source", "State", "TensorFacts", "child", "facts_of", "root"]
