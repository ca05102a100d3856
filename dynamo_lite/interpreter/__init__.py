"""A CPython bytecode interpreter on real objects.

>>> from dynamo_lite.interpreter import interpret
>>> interpret(sorted, [3, 1, 2], key=lambda x: -x)
[3, 2, 1]

`interpret` runs a callable with the same result, exceptions and effects as CPython; an `Observer` given to an
`Interpreter` observes reads, writes, calls and decisions. Nothing here depends on torch.

`vm.py` has the loop, and the one path of all calls. Called by `run` (with a tracer) and by `interpret`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.interpreter.code.pinned_builtins import pin

from .observer import NOT_HANDLED, Observer
from .vm import Interpreter

__all__ = ["NOT_HANDLED", "Interpreter", "Observer", "interpret"]


def interpret(fn: Callable[..., Any], /, *args: Any, sentry: bool = False, **kwargs: Any) -> Any:
    """`fn(*args, **kwargs)`, run by the interpreter.

    Returns its result and raises its exceptions. With `sentry=True` (needs torch) the result is an object with `value`
    and `native_frames`: the code objects of the program that CPython evaluated without the interpreter.
    """
    vm = Interpreter()
    if not sentry:
        return vm.enter(fn, args, kwargs)
    from dynamo_lite.interpreter.frame_audit import watched  # torch is imported there only

    return watched(lambda: vm.enter(fn, args, kwargs), vm)


pin(__name__)
