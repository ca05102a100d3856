"""User annotations for functions that a trace cannot look into, of three kinds.

    dynamo_lite.allow(fn, pure=True)            call it as it is; its result depends on its arguments alone
    dynamo_lite.assume_constant_result(fn)      call it now; its result is a constant of the program
    dynamo_lite.substitute(fn, python_version)  trace `python_version` in its place

An annotation holds for the process, for every export. A method is named on its class (`Tokenizer.encode`): annotating a
bound method annotates it for all instances. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import MethodType
from typing import Any, Literal, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Treatment(Enum):
    """The treatment of calls of an annotated function in a trace."""

    ALLOWED = "called as it is"
    CONSTANT = "called once; the result is a constant"
    SUBSTITUTED = "another function is traced in its place"


class UserAnnotation(NamedTuple):
    """An annotation of `fn` (kept here, so that its id stays its own); `instead` is traced in its place."""

    fn: Any
    treatment: Treatment
    instead: Callable[..., Any] | None = None


USER_ANNOTATIONS: dict[int, UserAnnotation] = {}
"""id of a callable, as the interpreter reports it → its annotation."""


def allow(fn: F, *, pure: Literal[True]) -> F:
    """Allow `fn` to be called during a trace, natively.

    pure: must be True: the result depends on the arguments alone, and nothing is changed that anybody else could see. A
    function of which that is not true cannot be allowed; `effects="drop"` of `export` is about changes. Tensor
    operators in it are recorded; its Python code, if it has any, is not interpreted. Returns `fn`, so that it works as
    a decorator (`functools.partial(allow, pure=True)`).

    Raises TypeError if `fn` is not callable, ValueError unless `pure` is True.
    """
    if pure is not True:
        raise ValueError("allow(fn, pure=True) is the only form: use it only for a function of which it is true")
    return _say(fn, Treatment.ALLOWED)


def assume_constant_result(fn: F) -> F:
    """Make the results of `fn` constants of the program: it is called during the trace, outside of the recording.

    The arguments must not be tensors of the program. The same as `torch.compiler.assume_constant_result`, which is
    honoured too. Returns `fn`.

    Raises TypeError if `fn` is not callable.
    """
    return _say(fn, Treatment.CONSTANT)


def substitute(fn: Any, python_version: F) -> F:
    """Trace `python_version` wherever the program calls `fn`. Returns `python_version`.

    The same as `torch.compiler.substitute_in_graph`, which is honoured too.

    Raises TypeError if either is not callable.
    """
    if not callable(python_version):
        raise TypeError(f"python_version must be callable, not {type(python_version).__qualname__}")
    _say(fn, Treatment.SUBSTITUTED, python_version)
    return python_version


def branch(pred: Any) -> Any:
    """`pred` itself, as a word for readers of `if dynamo_lite.branch(x.sum() > 0):`. Nothing depends on it."""
    return pred


def forget(fn: Any) -> None:
    """Remove the annotation of `fn`, if there is one."""
    USER_ANNOTATIONS.pop(id(key_of(fn)), None)


def _say(fn: F, treatment: Treatment, instead: Callable[..., Any] | None = None) -> F:
    if not callable(fn):
        raise TypeError(f"fn must be callable, not {type(fn).__qualname__}")
    key = key_of(fn)
    USER_ANNOTATIONS[id(key)] = UserAnnotation(key, treatment, instead)
    return fn


def key_of(fn: Any) -> Any:
    """The object that the interpreter reports for a call of `fn`: the function of a method."""
    from dynamo_lite.interpreter.vm import callee_key

    while type(fn) is MethodType:
        fn = fn.__func__
    return callee_key(fn, ())[0]
