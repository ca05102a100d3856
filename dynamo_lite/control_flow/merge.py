"""The merge of two program states: after the two sides of a branch, or before and after one iteration of a loop.

`Merge.plan(left, right)` returns a function that computes the merged value from results that do not exist yet. The
first row of `RULES` that accepts a pair decides:

    equal constants                     kept
    tensors of one dtype, device, rank  a result of the operator (sizes that differ become unbacked)
    numbers of one type                 a result: two ints as such in torch.cond, others in a tensor
    tuples, bound methods               part by part
    iterators                           kept, if at the same position
    lists, dicts an iteration creates   the same, as a new one
    containers, objects that both made  the left one is kept, with the contents merged part by part

Values that no row accepts raise `Differs`.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.fakes import fake_attributes
from dynamo_lite.control_flow.differences.constants import are_same, is_same
from dynamo_lite.control_flow.undoing import iterators
from dynamo_lite.control_flow.undoing.new_objects import KeptAlive
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.heap import snapshots
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, real_type, shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.value_types import MUTABLE_CONTAINERS, UNIQUE_OR_CONSTANT

Plan = Callable[[], Any]

_NUMBERS = {int: "int64", bool: "bool", float: "float64"}
_SHARED = (type, types.FunctionType, types.ModuleType, types.GeneratorType, types.CellType, types.CodeType)
"""Compared by identity; two distinct objects are never merged."""


class Differs(Exception):
    """Values that no operator can give. `why` in words, `what` the path to the part that differs."""

    def __init__(self, why: str, what: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.what = what


@dataclass
class Pair:
    """Two values that become a result. `kind`: "tensor", "predicate", "int" (two constants; a cond gives a symbol), or
    a number as a tensor of no dimensions: "int64", "float64", "bool"."""

    kind: str
    left: Any
    right: Any
    place: str = ""  # the variable, or what it is in, for notes
    growth: Any = None  # how iterations of a loop make it longer (loops/growing.py)


def describe(value: Any) -> str:
    """Return a short text for an error message."""
    if value is snapshots.MISSING or value is UNBOUND:
        return "nothing"
    if is_tensor(value):
        return f"a tensor {str(value.dtype).removeprefix('torch.')}{shape_text(value.shape)}"
    if type(value) is not value.__class__ and value.__class__ in (list, tuple):  # lists/grown.py
        return f"a {value.__class__.__name__} whose length depends on the data"
    return descriptions.describe(value)


def differ(left: Any, right: Any) -> Differs:
    """Return the error for two values that cannot be merged."""
    return Differs(f"{describe(left)} on one side, {describe(right)} on the other")


class Merge:
    """One merge. `is_new(obj)`: whether one of the two states has made it, so that no other object refers to it.

    native: the operator is torch.cond, which can give one of two constant ints; else it is a loop.
    """

    def __init__(self, is_new: Callable[[Any], bool], native: bool = True) -> None:
        self.is_new = is_new
        self.native = native
        self.choice: Callable[[Any, Any], Any] | None = None
        """Merges two ints, or two bools, into one expression, for a branch on sizes. None: a result of the operator."""
        self.replaced: Any = None
        """Finds objects that one side has replaced by new ones, for a branch (replaced.py)."""
        self.carries_sizes = False
        """Whether a choice is carried on while a variable has a size of 1 on one side only: an operator broadcasts one
        and takes the other as it is."""
        self.rebound: Any = None
        """Determines which lists and dicts an iteration of a loop creates anew (loops/rebound.py)."""
        self.containers: list[tuple[Any, Any]] = []  # such containers of the last results, and copies of them
        self.epoch = 0  # which results it is: a plan may be carried out several times
        self.pairs: list[Pair] = []
        self.place = "the result"
        self.results: list[Any] = []
        self.fills: list[Callable[[], None]] = []
        self.plans: dict[tuple[int, int], Plan] = {}
        self.partner: dict[int, int] = {}
        self._keep = KeptAlive()

    def plan(self, left: Any, right: Any) -> Plan:
        """How the value is made that is `left` on one side and `right` on the other. Raises Differs."""
        if left is right:
            return lambda: left
        key = id(left), id(right)
        found = self.plans.get(key)
        if not self.native and (is_tensor(left) or not (isinstance(left, (list, dict)) or hasattr(left, "__dict__"))):
            found = None  # two places that change alike in one iteration need not in the next
        if found is None:
            self._keep += (left, right)
            found = self.plans[key] = self._by_rule(left, right)
        return found

    def _by_rule(self, left: Any, right: Any) -> Plan:
        for rule in RULES:
            plan = rule(self, left, right)
            if plan is not None:
                return plan
        raise differ(left, right)

    def pair(self, kind: str, left: Any, right: Any) -> Plan:
        """The next result of the operator."""
        index = len(self.pairs)
        self.pairs.append(Pair(kind, left, right, self.place))
        return lambda: self.results[index]

    def give(self, results: list[Any]) -> None:
        """The results are there."""
        self.results[:] = results
        self.containers.clear()
        self.epoch += 1

    def fill(self) -> None:
        """Put the results into the containers and objects that were merged."""
        for action in self.fills:
            action()

    def once(self, make: Callable[[], Any]) -> Plan:
        """A plan that gives one object for the same results."""
        made: list[Any] = [-1, None]

        def plan() -> Any:
            if made[0] != self.epoch:
                made[:] = self.epoch, make()
            return made[1]

        return plan

    def contents(self, left: Any, right: Any) -> Plan:
        """Return the same for the contents of a snapshot: a dict, a list, a set or bytes."""
        if isinstance(left, dict):
            return self._entries(left, right)
        if isinstance(left, list):
            if len(left) != len(right):
                raise Differs(f"{len(left)} items on one side, {len(right)} on the other")
            items = [self._part(a, b, f"[{index}]") for index, (a, b) in enumerate(zip(left, right))]
            return lambda: [item() for item in items]
        if isinstance(left, set):
            if are_same([*left], [*right]):
                return lambda: left
            raise Differs("a set with other members, or that gives them in another order")
        if type(left) is type(right) and left == right:
            return lambda: left
        raise Differs("other contents")

    def _part(self, left: Any, right: Any, path: str) -> Plan:
        try:
            return self.plan(left, right)
        except Differs as error:
            raise Differs(error.why, path + error.what) from None

    def _entries(self, left: dict[Any, Any], right: dict[Any, Any]) -> Plan:
        if not are_same([*left], [*right]):
            odd = [k for k in [*left, *right] if (k in left) != (k in right)]
            raise Differs(f"{odd[0]!r} is there on one side only" if odd else "its keys, or their order, differ")
        parts = [(k, self._part(a, b, f"[{k!r}]")) for k, a, b in zip(left, left.values(), right.values())]
        return lambda: {k: part() for k, part in parts}


def has_one_on_one_side(left: Any, right: Any) -> bool:
    """Whether two tensors differ in a size that is 1 in one of them, and another number, or a symbolic size, in the
    other one: what the result's size means is open."""
    if not (is_tensor(left) and is_tensor(right)) or left.dim() != right.dim():
        return False
    return any(_is_one(a) != _is_one(b) for a, b in zip(left.shape, right.shape))


def _is_one(size: Any) -> bool:
    return type(size) is int and size == 1


# -- rules: (merge, left, right) → a plan, or None to leave the pair to the next rule; raises Differs ------------------


def _tensors(merge: Merge, left: Any, right: Any) -> Plan | None:
    if not (is_tensor(left) and is_tensor(right)):
        if is_tensor(left) or is_tensor(right):
            raise differ(left, right)
        return None
    for name in ("dtype", "device", "layout", "ndim"):
        a, b = getattr(left, name), getattr(right, name)
        if a != b:
            raise Differs(f"{name} {a} on one side, {b} on the other")
    if real_type(left) is not real_type(right) and torch.nn.Parameter not in (real_type(left), real_type(right)):
        raise differ(left, right)
    names = [*fake_attributes.of_the_user(left), *fake_attributes.of_the_user(right)]
    names = [name for name in names if not fake_attributes.is_mark_of_torch(name)]
    if names:
        raise Differs(f"a tensor with the attribute {names[0]!r}, which the result of an operator has not")
    return merge.pair("tensor", left, right)


def _types(merge: Merge, left: Any, right: Any) -> Plan | None:
    if real_type(left) is not real_type(right):
        raise differ(left, right)
    return None


def _numbers(merge: Merge, left: Any, right: Any) -> Plan | None:
    kind = real_type(left)
    symbolic = type(left) in PYTHON_TYPE or type(right) in PYTHON_TYPE
    if kind not in _NUMBERS:
        return None
    if not symbolic and is_same(left, right):
        return lambda: left
    if not symbolic and left != left and right != right:
        raise Differs("an object that is nan on each side, which `is` and `in` distinguish")
    chosen = merge.choice(left, right) if merge.choice is not None and kind in (int, bool) else None
    if chosen is not None:
        return lambda: chosen
    if kind is int and not all(type(n) in PYTHON_TYPE or -(2**63) <= n < 2**63 for n in (left, right)):
        raise differ(left, right)
    return merge.pair("int" if merge.native and not symbolic and kind is int else _NUMBERS[kind], left, right)


def _atoms(merge: Merge, left: Any, right: Any) -> Plan | None:
    if not isinstance(left, UNIQUE_OR_CONSTANT):
        return None
    if is_same(left, right):
        return lambda: left
    raise differ(left, right)


def _tuples(merge: Merge, left: Any, right: Any) -> Plan | None:
    if not isinstance(left, tuple):
        return None
    if len(left) != len(right):
        raise Differs(f"a tuple of {len(left)} on one side, of {len(right)} on the other")
    parts = [merge.plan(a, b) for a, b in zip(tuple.__iter__(left), tuple.__iter__(right))]
    kind, attributes = type(left), getattr(left, "__dict__", None)
    if attributes or (kind is not tuple and kind is not torch.Size and not hasattr(kind, "_fields")):
        raise differ(left, right)

    def make() -> Any:
        items = [part() for part in parts]
        return kind(items) if kind in (tuple, torch.Size) else tuple.__new__(kind, items)

    return merge.once(make)


def _slices(merge: Merge, left: Any, right: Any) -> Plan | None:
    if type(left) is not slice:
        return None
    start, stop, step = (merge.plan(getattr(left, n), getattr(right, n)) for n in ("start", "stop", "step"))
    return lambda: slice(start(), stop(), step())


def _methods(merge: Merge, left: Any, right: Any) -> Plan | None:
    if not isinstance(left, types.MethodType):
        return None
    if left.__func__ is not right.__func__:
        raise Differs("different functions")
    owner = merge.plan(left.__self__, right.__self__)
    return lambda: types.MethodType(left.__func__, owner())


def _iterators(merge: Merge, left: Any, right: Any) -> Plan | None:
    if not iterators.is_copied(left):
        return None
    if iterators.is_copied(right) and iterators.position(left) == iterators.position(right):
        return lambda: left
    raise Differs("an iterator that was moved on differently")


def _rebound(merge: Merge, left: Any, right: Any) -> Plan | None:
    """Merge a list or dict that an iteration of a loop creates anew."""
    if type(left) not in (list, dict) or merge.rebound is None or not merge.rebound.holds(left, right):
        return None
    contents = merge.contents(left, right)

    def make() -> Any:
        made = contents()
        merge.containers.append((made, made.copy()))
        return made

    return merge.once(make)


def _objects(merge: Merge, left: Any, right: Any) -> Plan | None:
    """A mutable object that each side made: the left one stays, and gets what both agree on. Or one that one side made
    in the place of an older one: the new one stays."""
    if isinstance(left, _SHARED) or not _is_open(left, right):
        raise differ(left, right)
    kept, replaced = left, None
    if not (merge.is_new(left) and merge.is_new(right)):
        replaced = merge.replaced
        kept = None if replaced is None else replaced.new_of(left, right)
        if kept is None:
            raise differ(left, right)
    if merge.partner.setdefault(id(left), id(right)) != id(right) or (
        merge.partner.setdefault(id(right), id(left)) != id(left)
    ):
        raise Differs(f"{describe(left)} that is one object on one side and two on the other")
    both = (
        (snapshots.container(left), snapshots.container(right)),
        (
            snapshots.attributes(left),
            snapshots.attributes(right),
        ),
    )
    views = [(one, other) for one, other in both if one is not None and other is not None]
    if not views:
        raise differ(left, right)
    merge.plans[id(left), id(right)] = lambda: kept
    for views_of_part in views:
        now = [
            view.contents if replaced is None else replaced.contents(at, view) for at, view in enumerate(views_of_part)
        ]
        contents, of_kept = merge.contents(*now), views_of_part[kept is right]
        merge.fills.append(lambda view=of_kept, contents=contents: view.restore(contents()))  # type: ignore[misc]
    return lambda: kept


def _is_open(left: Any, right: Any) -> bool:
    """Whether all that the objects hold is in their items, attributes and slots: no class in C has fields beside."""
    kind = type(left)
    if issubclass(kind, collections.defaultdict):
        return kind is collections.defaultdict and left.default_factory is right.default_factory
    if issubclass(kind, collections.deque) and left.maxlen != right.maxlen:
        return False
    base = next((base for base in kind.__mro__ if base in MUTABLE_CONTAINERS), object)
    own = (vars(cls) for cls in kind.__mro__ if "__slots__" in vars(cls))  # a class in C has such descriptors, too
    slots = sum(type(member) is types.MemberDescriptorType for names in own for member in names.values())
    words = slots + bool(kind.__dictoffset__) + bool(kind.__weakrefoffset__)
    return kind.__basicsize__ <= base.__basicsize__ + 8 * words and kind.__itemsize__ == base.__itemsize__


RULES = (_tensors, _types, _numbers, _atoms, _tuples, _slices, _methods, _iterators, _rebound, _objects)
