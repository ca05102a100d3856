"""The stack effects of instructions of the normal form whose effect does not depend on their argument."""

from __future__ import annotations

from typing import Final

STACK_EFFECTS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("LOAD_CONST", "LOAD_FAST", "LOAD_DEREF", "LOAD_NAME", "LOAD_GLOBAL"), (0, 1)),
    "PUSH_NULL": (0, 1),
    "LOAD_GLOBAL_CALLEE": (0, 2),
    "LOAD_METHOD": (1, 2),
    **dict.fromkeys(("LOAD_ATTR", "UNARY_NEGATIVE"), (1, 1)),
    **dict.fromkeys(("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR"), (2, 1)),
}
"""Instruction → (how many values it takes, how many it leaves). Calls and displays depend on their argument."""
