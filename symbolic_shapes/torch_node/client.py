"""The receiver of an environment's events: the trace that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Client:
    """Functions that an environment calls. The program cannot catch their exceptions.

    Attributes:
        on_undecided: gets the `DataDependentError` of a question of the program itself. Those of kernels,
            which may catch it, raise it as it is.
        refuses_size: gets the error of an operation whose result is too large to be written down.
        specialized: gets an expression and its value in the example, if the program takes the value.
        before_deferring: gets the operator before a check of its arguments is left to run time, and the errors of
            Python if it is Python's own (a division by zero). It is not called for assertions of the program itself.
        for_text: returns a placeholder for an unbacked number that is used only for a text that the program
            has not read; None otherwise.
        abandons: is called in place of a new fact, and raises: what the program does then is only tried.
    """

    on_undecided: Callable[[Any], Any]
    refuses_size: Callable[[Exception], Any]
    specialized: Callable[[Any, Any], None]
    before_deferring: Callable[[str, frozenset[type[Exception]]], None]
    for_text: Callable[[Any], Any]
    abandons: Callable[[], Any] | None = None
