"""Lookasides: C callables that the interpreter implements itself, because trampolines alone are not enough.

Most C functions need none: their callbacks have trampolines (trampolines.py). There are three reasons for an entry: the
observer must see the function's reads or writes (attributes), the function only passes a call on (calling), or it
reaches objects that are not among its arguments (elements of lazy iterables, sys.stdout, another thread). Those about
frames are in frame_queries.py (sys._getframe, warnings) and evaluation.py (locals, exec).

Called by `vm.call`. Imports the data model and `interpreter/frames`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.interpreter.lookasides import ambient, attributes, callbacks, forwarding, iterables

TABLE: dict[Any, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    **callbacks.TABLE,
    **attributes.TABLE,
    **forwarding.TABLE,
    **iterables.TABLE,
    **ambient.TABLE,
}
"""C callable → handler(vm, args, kwargs) → value."""
