"""The code of a generator as that of a plain function, with other instructions in place of its `yield`s and returns.

    sum(f(c) for c in pieces)       result = 0
                                    for c in pieces:
                                        result = result + f(c)       # in the place of `yield f(c)`
                                    return result

So a loop of the generator is a loop of one frame, and the consumer of its items is a part of each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dynamo_lite.interpreter.code.decode import GENERATOR, PLAIN, CodeInfo
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.normal_form import HAS_TARGET

Normal = tuple[str, Any]
RESULT, ITEM, STEP, EXIT = "(result)", "(item)", "(step)", "(exit)"
"""Arguments of instructions: variables that are added, and where `behind` begins."""
_ADDED: Final = (RESULT, ITEM, STEP)

_CALL_STEP: Final[Sequence[Normal]] = (
    ("STORE_FAST", ITEM), ("LOAD_FAST", STEP), ("PUSH_NULL", 0), ("LOAD_FAST", RESULT), ("LOAD_FAST", ITEM),
    ("DELETE_FAST", ITEM), ("CALL", 2), ("STORE_FAST", RESULT), ("LOAD_CONST", None),
)  # fmt: skip
_APPEND: Final[Sequence[Normal]] = (
    ("STORE_FAST", ITEM), ("LOAD_FAST", RESULT), ("LOAD_METHOD", "append"), ("LOAD_FAST", ITEM),
    ("DELETE_FAST", ITEM), ("CALL", 1), ("POP_TOP", 0), ("LOAD_CONST", None),
)  # fmt: skip
_RETURN_RESULT: Final[Sequence[Normal]] = (("POP_TOP", 0), ("LOAD_FAST", RESULT), ("RETURN_VALUE", 0))


def _until(jump: str, found: bool) -> tuple[Sequence[Normal], Sequence[Normal], Sequence[Normal]]:
    at_end: Sequence[Normal] = (("POP_TOP", 0), ("LOAD_CONST", not found), ("RETURN_VALUE", 0))
    return ((jump, EXIT), ("LOAD_CONST", None)), at_end, (("LOAD_CONST", found), ("RETURN_VALUE", 0))


KINDS: Final[dict[str, tuple[Sequence[Normal], Sequence[Normal], Sequence[Normal]]]] = {
    "fold": (_CALL_STEP, _RETURN_RESULT, ()),
    "append": (_APPEND, _RETURN_RESULT, ()),
    "any": _until("POP_JUMP_IF_TRUE", True),
    "all": _until("POP_JUMP_IF_FALSE", False),
    "next": ((("RETURN_VALUE", 0),), (("RETURN_VALUE", 0),), ()),
}
"""The consumer of the items: (instead of a YIELD_VALUE, instead of a RETURN_VALUE, behind the last instruction).

fold: `result = step(result, item)`; append: `result.append(item)`; next: one item, by itself.
"""


def inlined(info: CodeInfo, kind: str) -> CodeInfo:
    """The code of a generator function for one of KINDS, made once. Behind its variables are RESULT, ITEM and STEP."""
    made: CodeInfo | None = info.known.get((inlined, kind))
    if made is None:
        made = info.known[inlined, kind] = _made(info, *KINDS[kind])
    return made


def _made(
    info: CodeInfo, at_yield: Sequence[Normal], at_return: Sequence[Normal], behind: Sequence[Normal]
) -> CodeInfo:
    made = CodeInfo(info.code)
    instead = {HANDLERS["YIELD_VALUE"]: _resolved(info, at_yield), HANDLERS["RETURN_VALUE"]: _resolved(info, at_return)}
    ops: list[Any] = []
    offsets: list[int] = []
    index_of: list[int] = []  # of the old instructions
    for operation, offset in zip(info.ops, info.offsets):
        index_of.append(len(ops))
        new = instead.get(operation[0], [operation])
        ops += new
        offsets += [offset] * len(new)
    index_of.append(len(ops))
    jumps = {HANDLERS[name] for name in HAS_TARGET}
    for index, (handler, arg) in enumerate(ops):
        if handler in jumps:
            if type(arg) is tuple:
                arg = index_of[arg[0]], arg[1]
            else:
                arg = len(ops) if arg is EXIT else index_of[arg]
            ops[index] = handler, arg
    last = offsets[-1]
    ops += _resolved(info, behind)
    made.ops, made.offsets = tuple(ops), (*offsets, *[last] * len(behind))
    made.span_of = {offset: index_of[index] for offset, index in info.span_of.items()}
    made.kind, made.names = PLAIN, (*info.names, *_ADDED)
    return made


def _resolved(info: CodeInfo, instructions: Sequence[Normal]) -> list[Any]:
    places = {name: len(info.names) + at for at, name in enumerate(_ADDED)}
    return [(HANDLERS[name], places.get(arg, arg) if type(arg) is str else arg) for name, arg in instructions]


def may_be_inlined(info: CodeInfo) -> bool:
    """Whether nothing of the generator is at work while it waits at a `yield`: no `try` and no `with`."""
    code = info.code
    if info.kind != GENERATOR:
        return False
    waits = HANDLERS["YIELD_VALUE"]
    for index, (handler, _) in enumerate(info.ops):
        around = info.handler_at(code, index) if handler is waits and code.co_exceptiontable else None
        if around is not None and info.ops[around.target][0] is not HANDLERS["STOPITERATION_ERROR"]:
            return False
    return True
