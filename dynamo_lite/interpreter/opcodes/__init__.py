"""The handlers of the normal form, by topic. A handler is named after its instruction.

A handler is `(frame, stack, argument)`, and returns None to go on. `fused.py` has handlers for frequent pairs.
Registered in `interpreter/code/handler_table.py` when the package is imported, which `vm.py` does. Imports the data
model and `interpreter/frames`.
"""

from __future__ import annotations

from dynamo_lite.interpreter.code.handler_table import HANDLERS

from . import (
           building,
           calls,
           control,
           imports,
           matching,
           operators,
           raising,
           suspending,
           templates,
           typeparams,
           variables,
)

__all__ = ["HANDLERS", "building", "calls", "control", "imports", "matching", "operators", "raising", "suspending",
           "templates", "typeparams", "variables"]  # fmt: skip
