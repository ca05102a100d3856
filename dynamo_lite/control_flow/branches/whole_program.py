"""A branch on sizes that is carried through the whole program: one torch.cond of the program on either side.

The result of a branch may be used up to the end: `if n == 1: mask = None`, and each layer tests `if mask is not None`.
The sides of a branch cannot leave callers with running loops and generators. Then the condition is evaluated before the
program begins, and the program is run on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute


def _either_side(program: Any, args: Any, kwargs: Any, conditions: Any) -> Any:
    if not conditions:
        return program(*args, **kwargs)
    if conditions[0]:
        return _either_side(program, args, kwargs, conditions[1:])
    else:
        return _either_side(program, args, kwargs, conditions[1:])


def is_before_program(frame: Any) -> bool:
    """Whether a frame is the one that evaluates the condition before the program begins."""
    return frame.code is _either_side.__code__


def split_by(conditions: Sequence[Bool]) -> Callable[..., Any]:
    """Return a `RunRequest.enter` that runs the program on both sides of each of these conditions, which belong to an
    earlier run."""

    def enter(tracer: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        env = tracer.recorder.env
        ours = env.core.symbols
        asked = []
        for condition in conditions:
            mapping: dict[Atom, Int] = {symbol: ours[symbol.name].as_int() for symbol in symbols_of(condition)}
            asked.append(env.wrap(substitute(condition, mapping)))
        tracer.interpret(tracer.interpreted | {_either_side.__code__})
        return tracer.vm.enter(_either_side, (program, args, kwargs, tuple(asked)), {})

    return enter
