"""The data of a program that torch's file does not have: a further entry of the archive, as JSON."""

from __future__ import annotations

import json
from typing import Any

from torch.export import ExportedProgram

from dynamo_lite.program.modules import lost_gradients
from dynamo_lite.program.modules.questions import Questions
from dynamo_lite.program.trees import twins
from dynamo_lite.program.trees.container_context import decode, encode
from dynamo_lite.program.trees.container_state import StateRead

ENTRY = "dynamo_lite_program.json"
"""The name of the entry; torch.export.load does not read it."""


def facts_of(program: ExportedProgram) -> dict[str, Any]:
    """JSON-able; empty for a program of torch's own, and where there is nothing to keep."""
    asked = getattr(program, "questions", None)
    orders, state = getattr(program, "key_orders", ()), getattr(program, "state_reads", ())
    facts: dict[str, Any] = {"asked": asked.to_json()} if asked is not None else {}
    if orders:
        facts["key_orders"] = encode(orders)
    if (apart := getattr(program, "must_not_alias", None)) is not None:
        facts["apart"] = twins.to_json(apart)
    if (lost := getattr(program, "lost_gradients", None)) is not None:
        facts["lost_gradients"] = lost_gradients.to_json(lost)
    if hooks := getattr(program, "without_hooks", None):
        facts["without_hooks"] = [[number, *attributes] for number, attributes in hooks.items()]
    if state:
        facts["state_reads"] = [read.to_json() for read in state]
    return facts


def give_facts(program: Any, facts: dict[str, Any]) -> None:
    """The inverse of `facts_of`: `program` gets its attributes."""
    program.questions = Questions.from_json(facts["asked"]) if "asked" in facts else None
    program.key_orders = decode(facts["key_orders"]) if "key_orders" in facts else ()
    program.must_not_alias = twins.from_json(facts["apart"]) if "apart" in facts else None
    lost = facts.get("lost_gradients")
    program.lost_gradients = None if lost is None else lost_gradients.from_json(lost)
    program.without_hooks = {number: tuple(attributes) for number, *attributes in facts.get("without_hooks", ())}
    program.state_reads = tuple(map(StateRead.from_json, facts.get("state_reads", ())))


def with_facts(program: ExportedProgram, files: dict[str, Any] | None) -> dict[str, Any] | None:
    """The further entries of a program's file: those that the caller wants, and its facts."""
    facts = facts_of(program)
    return {**(files or {}), ENTRY: json.dumps(facts)} if facts else files
