"""The receiver of an environment's events: the trace that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Client:
    """Functions that an environment calls. What one of them raises the program cannot catch.

    Attributes:
        unanswered: gets the `DataDependentError` of a question that the program itself asked. The questions of kernels,
            which may catch it, raise it as it is.
        refuses_size: gets the error of an operation whose result is too large to be written down.
        specialized: gets an expression and its value in the example, where the program takes the value.
        deferring: gets the operator before a check of its arguments is left to run time, and what Python raises if it
            is Python's own (a division by zero). It is not called for what the program itself asserts.
        for_text: gives a number that stands for one which only run time knows, where nothing but a text that nobody
            has read is made of it; None otherwise.
        abandons: is called in the place of a new fact, and raises: what the program does then is only tried.
    """

    unanswered: Callable[[Any], Any]
    refuses_size: Callable[[Exception], Any]
    specialized: Callable[[Any, Any], None]
    deferring: Callable[[str, frozenset[type[Exception]]], None]
    for_text: Callable[[Any], Any]
    abandons: Callable[[], Any] | None = None
