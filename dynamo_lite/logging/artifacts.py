"""The artifacts of the logs. `name` turns on the ordinary lines (INFO), `+name` those of DEBUG too."""

from __future__ import annotations

from typing import NamedTuple


class Artifact(NamedTuple):
    """`what` it shows; `more` is the addition by `+` ("" if nothing)."""

    what: str
    more: str = ""


ARTIFACTS: dict[str, Artifact] = {
    "dynamic": Artifact(
        "sizes: each symbol, guard, run-time assertion and specialisation, with the program's line",
        "each replacement, change of a range, and what is known by declaration",
    ),
    "guards": Artifact("the guards of each trace as a tree, with the lines that need them"),
    "graph_breaks": Artifact("each graph break, with the program's stack"),
    "locals": Artifact("at a graph break, the local variables of the innermost function that is not a library's"),
    "bytecode": Artifact("the instructions as they run, with the stack", "those of torch and the library too"),
    "trace_source": Artifact("the source lines as they run", "those of torch and the library too"),
    "calls": Artifact("the program's calls, with their arguments", "calls by torch and the library too"),
    "graph": Artifact("the nodes of each program"),
    "graph_code": Artifact("each program as Python code"),
    "assumptions": Artifact("the outer state that each trace read, with the line that read it"),
    "effects": Artifact("the outer state that each trace changed, and how that is treated"),
    "control_flow": Artifact("the operators that branches and loops on data became"),
    "timing": Artifact("how long each phase of an export took"),
}
"""By name, in the order in which `help` lists them."""

GUARD_VARIABLE = "DYNAMO_LITE_EXTENDED_DEBUG_GUARD_ADDED"
"""A relation as `dynamic` prints it (`Eq(s2, s4)`): when that fact is recorded, the whole stacks are logged."""
SYMBOL_VARIABLE = "DYNAMO_LITE_EXTENDED_DEBUG_CREATE_SYMBOL"
"""The name of a symbol (`s0`): when it is made, the whole stacks are logged."""
