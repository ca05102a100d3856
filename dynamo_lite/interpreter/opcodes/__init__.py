"""The handlers of the normal form, by topic. A handler is named after its instruction."""

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
