"""Marks for a compiler that do not change what a program computes: nested_compile_region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer


def call_region(tracer: Tracer, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function under torch.compiler.nested_compile_region is called: its operators are the program's.

    torch.export inlines the region as well.
    """
    function, *rest = args
    return tracer.vm.call(function, tuple(rest), kwargs)
