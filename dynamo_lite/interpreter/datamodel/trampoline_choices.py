"""Which functions get a trampoline: decided once for a function, its module and the observer's policy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from dynamo_lite.interpreter.code.keyed_ref import KeyedRef
from dynamo_lite.interpreter.datamodel.trampoline_code import trampoline_code


class Choice(NamedTuple):
    """Whether a function gets a trampoline: decided once for its code, its module and the observer's policy."""

    ref: Any
    """A KeyedRef of the function."""
    code: CodeType
    module: Any
    policy: Any
    trampoline: CodeType | None
    """None for a function that is trusted."""


_new_choice: Callable[[Any], Choice] = partial(tuple.__new__, Choice)  # its own constructor is a Python function
CHOICES: dict[int, Choice] = {}
"""By the id of the function, which `Choice.ref` shows to be the function's own."""


def _forget(reference: KeyedRef, choices: dict[int, Choice] = CHOICES) -> None:  # at exit the globals are gone
    known = choices.get(reference.key)
    if known is not None and known.ref is reference:
        del choices[reference.key]


def choice(
    fn: FunctionType, code: CodeType, policy: Any, runs_natively: Callable[[FunctionType], bool] | None
) -> Choice:
    """Whether `fn`, which has its own code, gets a trampoline. Kept for runs of the same policy."""
    key, module = id(fn), fn.__globals__.get("__name__")
    known = CHOICES.get(key)
    if known is not None and (known.ref() is not fn or known.code is not code):
        known = None
    if known is not None and policy is not None and known.policy is policy and known.module is module:
        return known
    if str(module).startswith("dynamo_lite.") or (runs_natively is not None and runs_natively(fn)):
        trampoline = None
    else:
        trampoline = (known.trampoline if known is not None else None) or trampoline_code(fn)
    reference = KeyedRef(fn, _forget)
    reference.key = key
    found = CHOICES[key] = _new_choice((reference, code, module, policy, trampoline))
    return found
