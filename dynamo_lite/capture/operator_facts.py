"""The recorder's data about operators, looked up once: a record for each, by identity.

An OpOverload has a `__hash__` in Python, so each look-up in a table keyed by operators costs a call.
"""

from __future__ import annotations

from typing import Final

import torch

from dynamo_lite.capture import operator_questions as questions
from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.constant_values import READS_DATA
from dynamo_lite.capture.in_place_checks import may_reshape
from dynamo_lite.capture.kernels import collectives, composites, data_errors
from dynamo_lite.capture.kernels.eager_errors import SEES_MEMORY
from dynamo_lite.capture.kernels.layout_questions import ANSWERED, COPIES_OR_VIEWS, FAILS_BY_LAYOUT
from dynamo_lite.capture.operator_rules.table import ELEMENTWISE, IN_PLACE, VIEWS

aten = torch.ops.aten
_STATISTICS = frozenset({aten.batch_norm.default, aten.instance_norm.default})
_NOT_RECORDED = frozenset({torch.ops.prim.device.default})
_METADATA_ASSERTED = frozenset({aten.to.device, aten.to.dtype, aten.to.dtype_layout})


class OperatorFacts:
    """The properties of one operator, which is kept alive.

    is_mutable, returns: by its schema
    lifts_fresh, detaches: it is lift_fresh, or detach
    by_parts: it is recorded by the operators that it consists of
    is_collective: collectives.check applies to it
    reads_data: it turns data into a Python number
    keeps_statistics: it changes statistics that its schema does not name
    reshapes: it may give a tensor that it changes another shape
    changes_elements: there is a rule for its change in place
    is_unrecorded: it leaves no node
    question: the layout property that it reads, if it returns a number
    asks_contiguity: whether its result is a view depends on its argument's layout
    asserts_metadata: torch.export records its assumptions as assertions
    has_no_kernel: it makes a view; if a rule or the cache has its result, eager succeeds as well
    is_elementwise: its kernel raises nothing that depends on the sizes, if they fit
    sees_memory: its errors depend on memory besides the elements of its arguments
    fails_by_layout: its errors depend on the strides of its arguments
    may_raise: the errors that the data may raise (data_errors.TABLE)
    without_generator: the same operator without the argument `generator`, if it is one of two
    instead, answers, checks, results: the questions that the recorder asks of it (operator_questions.py)
    """

    __slots__ = (
        *("func", "is_mutable", "returns", "lifts_fresh", "detaches", "by_parts", "is_collective", "reads_data"),
        *("keeps_statistics", "reshapes", "changes_elements", "is_unrecorded", "question", "asks_contiguity"),
        *("asserts_metadata", "has_no_kernel", "is_elementwise", "may_raise", "sees_memory", "fails_by_layout"),
        *("without_generator", "instead", "answers", "checks", "results"),
    )

    def __init__(self, func: OpOverload) -> None:
        self.func: OpOverload = func
        self.is_mutable: bool = bool(func._schema.is_mutable)
        self.returns: bool = bool(func._schema.returns)
        self.lifts_fresh: bool = func is aten.lift_fresh.default
        self.detaches: bool = func is aten.detach.default
        self.by_parts: bool = func in composites.BY_PARTS
        self.is_collective: bool = collectives.concerns(func)
        self.reads_data: bool = func in READS_DATA
        self.keeps_statistics: bool = func in _STATISTICS
        self.reshapes: bool = self.is_mutable and may_reshape(func)
        self.changes_elements: bool = func in IN_PLACE
        self.is_unrecorded: bool = func in _NOT_RECORDED
        self.question: str | None = ANSWERED.get(func)
        self.asks_contiguity: bool = func in COPIES_OR_VIEWS
        self.asserts_metadata: bool = func in _METADATA_ASSERTED
        self.has_no_kernel: bool = func in VIEWS
        self.is_elementwise: bool = func in ELEMENTWISE
        self.sees_memory: bool = id(func) in SEES_MEMORY
        self.fails_by_layout: bool = func in FAILS_BY_LAYOUT
        self.may_raise: data_errors.MayRaise | None = data_errors.TABLE[func._overloadpacket._qualified_op_name]
        self.without_generator: OpOverload | None = _without_generator(func)
        self.instead: tuple[questions.Instead, ...] = questions.questions_of(self, questions.INSTEAD)
        self.answers: tuple[questions.Answer, ...] = questions.questions_of(self, questions.ANSWERS)
        self.checks: tuple[questions.Check, ...] = questions.questions_of(self, questions.CHECKS)
        self.results: tuple[questions.Result, ...] = questions.questions_of(self, questions.RESULTS)


def _without_generator(func: OpOverload) -> OpOverload | None:
    """`randn` for `randn.generator`, which has no kernel for sizes that vary (torch 2.13)."""
    if "generator" not in func._overloadname:
        return None
    wanted = [(a.name, str(a.type)) for a in func._schema.arguments if a.name != "generator"]
    packet = func._overloadpacket
    others = (getattr(packet, name) for name in packet.overloads())
    return next((o for o in others if [(a.name, str(a.type)) for a in o._schema.arguments] == wanted), None)


KNOWN: Final[dict[int, OperatorFacts]] = {}
"""By the id of the operator."""


def facts_of(func: OpOverload) -> OperatorFacts:
    """The record of an operator."""
    facts = KNOWN.get(id(func))
    if facts is None:
        facts = KNOWN[id(func)] = OperatorFacts(func)
    return facts
