"""Whether a program goes on after an exception: what the bytecode tells, against CPython running the program."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.observer import NOT_HANDLED, Observer
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught


def boom() -> None:
    """Raises, in CPython. In the interpreter the observer answers instead."""
    raise RuntimeError("boom")


class Asked(Observer):
    """Asks at each call of `boom`, which then returns None."""

    def __init__(self) -> None:
        self.answers: list[bool] = []
        self.vm = Interpreter(self)

    def before_call(self, fn: Any, args: Any, kwargs: Any) -> Any:
        if fn is not boom:
            return NOT_HANDLED
        self.answers.append(may_be_caught(self.vm.frame, frozenset({RuntimeError})))
        return None


def goes_on(program: Callable[[], Any]) -> bool:
    """Whether the program ends otherwise than by an exception: boom()'s own, or what a handler makes of it."""
    try:
        program()
    except Exception:
        return False
    return True


def plain() -> None:
    boom()


def bare() -> None:
    try:
        boom()
    except:  # noqa: E722
        pass


def other_class() -> None:
    try:
        boom()
    except (KeyError, OSError):
        pass


def base_class() -> None:
    try:
        boom()
    except ArithmeticError:
        pass
    except Exception:
        pass


def subclass() -> None:
    try:
        boom()
    except NotImplementedError:
        pass


def in_a_variable() -> None:
    kinds = (KeyError, RuntimeError)
    try:
        boom()
    except kinds:
        pass


def in_a_variable_that_does_not_match() -> None:
    kinds = (KeyError, ValueError)
    try:
        boom()
    except kinds:
        pass


def again() -> None:
    try:
        boom()
    except RuntimeError:
        raise


def again_by_name() -> None:
    try:
        boom()
    except RuntimeError as error:
        raise error


def as_another() -> None:
    try:
        boom()
    except RuntimeError as error:
        raise ValueError from error


def as_another_of_its_class() -> None:
    try:
        boom()
    except RuntimeError as error:
        raise RuntimeError("boom") from error


def as_another_of_its_class_that_is_caught() -> None:
    try:
        as_another_of_its_class()
    except RuntimeError:
        pass


def as_another_that_is_caught() -> None:
    try:
        as_another()
    except ValueError:
        pass


def as_another_with_a_message() -> None:
    data = [1, 2]
    try:
        boom()
    except (IndexError, RuntimeError) as error:
        if len(data) > int(max(data)):
            raise ValueError(f"{max(data)} is not more than {len(data)}") from error
        raise error


class Lazy:
    def __getattr__(self, name: str) -> int:
        try:
            boom()
        except RuntimeError as error:
            raise AttributeError(name) from error
        return 1


def as_what_c_code_takes_for_an_answer() -> None:
    hasattr(Lazy(), "a")


def other() -> str:
    raise KeyError("other")


def as_another_whose_message_raises() -> None:
    try:
        try:
            boom()
        except RuntimeError:
            raise RuntimeError(other()) from None
    except KeyError:
        pass


def sometimes_again() -> None:
    try:
        boom()
    except RuntimeError as error:
        if "other" in str(error):
            raise


def cleanup() -> None:
    x = 0
    try:
        boom()
    finally:
        x += 1


def returns_in_finally() -> int:
    try:
        boom()
    finally:
        return 1  # noqa: B012


def breaks_in_finally() -> None:
    for _ in range(2):
        try:
            boom()
        finally:
            break  # noqa: B012


def continues() -> None:
    for _ in range(2):
        try:
            boom()
        except RuntimeError:
            continue


def nested_inner_catches() -> None:
    try:
        try:
            boom()
        except RuntimeError:
            pass
    finally:
        pass


def nested_outer_catches() -> None:
    try:
        try:
            boom()
        except KeyError:
            pass
        finally:
            pass
    except RuntimeError:
        pass


def nested_again_and_caught() -> None:
    try:
        try:
            boom()
        except RuntimeError:
            raise
    except Exception:
        pass


def handler_that_is_over() -> None:
    try:
        pass
    except RuntimeError:
        pass
    boom()


def in_a_handler() -> None:
    try:
        try:
            raise KeyError
        except KeyError:
            boom()
    except RuntimeError:
        pass


def in_a_handler_uncaught() -> None:
    try:
        raise KeyError
    except KeyError:
        boom()


def in_an_else() -> None:
    try:
        pass
    except RuntimeError:
        pass
    else:
        boom()


def suppresses() -> None:
    with contextlib.suppress(RuntimeError):
        boom()


def suppresses_others() -> None:
    with contextlib.suppress(KeyError, OSError):
        boom()


def suppresses_nothing() -> None:
    with contextlib.suppress():  # noqa: B022
        boom()


def null() -> None:
    with contextlib.nullcontext():
        boom()


def on_a_stack() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.nullcontext())
        stack.callback(print, end="")
        stack.enter_context(contextlib.suppress(KeyError))
        boom()


def suppressed_on_a_stack() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(RuntimeError))
        stack.enter_context(contextlib.nullcontext())
        boom()


LOCK = threading.Lock()


def with_a_lock() -> None:
    with LOCK:
        boom()


def with_warnings() -> None:
    with warnings.catch_warnings():
        boom()


class Swallows:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *args: object) -> bool:
        return True


class Looks(Swallows):
    def __exit__(self, *args: object) -> bool:
        return False


class Translates(Swallows):
    def __exit__(self, *args: object) -> None:  # type: ignore[override]
        raise KeyError


def with_one_that_swallows() -> None:
    with Looks(), Swallows(), Looks():
        boom()


def with_some_that_look() -> None:
    with Looks(), Looks() as _:
        boom()


def with_one_that_translates() -> None:
    with Translates():
        boom()


@contextlib.contextmanager
def swallowing() -> Any:
    try:
        yield
    except RuntimeError:
        pass


@contextlib.contextmanager
def looking() -> Any:
    try:
        yield
    finally:
        pass


@contextlib.contextmanager
def translating() -> Any:
    try:
        yield
    except RuntimeError as error:
        raise ValueError from error


def with_a_generator_that_swallows() -> None:
    with swallowing():
        boom()


def with_a_generator_that_looks() -> None:
    with looking(), looking():
        boom()


def with_a_generator_that_translates() -> None:
    with translating():
        boom()


def generator() -> Any:
    yield 1
    boom()
    yield 2


def delegating() -> Any:
    yield from generator()


def catching_generator() -> Any:
    try:
        yield from generator()
    except RuntimeError:
        yield 3


def from_a_generator() -> None:
    list(delegating())


def from_a_generator_that_catches() -> None:
    list(catching_generator())


def caught_around_a_generator() -> None:
    try:
        for _ in delegating():
            pass
    except RuntimeError:
        pass


def called_back() -> None:
    sorted([2, 1], key=lambda _: boom() or 1)


def called_back_and_caught() -> None:
    try:
        sorted([2, 1], key=lambda _: boom() or 1)
    except RuntimeError:
        pass


def group() -> None:
    try:
        boom()
    except* RuntimeError:
        pass


def in_a_comprehension() -> None:
    [boom() for _ in range(1)]


def in_a_comprehension_caught() -> None:
    try:
        [boom() for _ in range(1)]
    except RuntimeError:
        pass


GENERATORS = (generator, delegating, catching_generator)
PROGRAMS = [value for value in list(vars().values()) if type(value) is FunctionType and value.__module__ == __name__
            and value not in (boom, goes_on, other, *GENERATORS) and not hasattr(value, "__wrapped__")]  # fmt: skip


TOO_CAREFUL = (with_one_that_translates,)
"""An `__exit__` that may raise counts as a catch, whatever it raises."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_bytecode_tells_what_cpython_does(program: Callable[[], Any]) -> None:
    asked = Asked()
    with contextlib.suppress(ValueError, KeyError):
        asked.vm.enter(program, (), {})
    assert asked.answers[0] is (goes_on(program) or program in TOO_CAREFUL)


ERROR: Any = RuntimeError


def by_a_global() -> None:
    try:
        boom()
    except ERROR:
        pass


def translated_by_a_global() -> None:
    try:
        try:
            boom()
        except RuntimeError:
            raise ERROR  # noqa: B904
    except ValueError:
        pass


def by_an_argument(kind: Any) -> None:
    try:
        boom()
    except kind:
        pass


def in_a_context(manager: Any) -> None:
    with manager:
        boom()


class Swallows:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> bool:
        return True


KINDS = (RuntimeError, ValueError, (KeyError, RuntimeError), KeyError)
MANAGERS = (torch.no_grad, Swallows, threading.Lock, lambda: contextlib.suppress(RuntimeError), torch.enable_grad)
AGAIN = {
    by_a_global: [lambda kind=kind: globals().update(ERROR=kind) or () for kind in KINDS],
    translated_by_a_global: [lambda kind=kind: globals().update(ERROR=kind) or () for kind in KINDS[:2]],
    by_an_argument: [lambda kind=kind: (kind,) for kind in KINDS],
    in_a_context: [lambda make=make: (make(),) for make in MANAGERS],
}  # fmt: skip
"""Functions whose answer hangs on more than their code: how the arguments of each call are made."""


@pytest.mark.parametrize("program", AGAIN, ids=lambda program: program.__name__)
def test_a_kept_answer_is_that_of_the_same_names(program: Callable[..., Any]) -> None:
    calls = [*AGAIN[program], *AGAIN[program]]
    asked, expected = Asked(), []
    for arguments in calls:
        args = arguments()
        with contextlib.suppress(Exception):
            asked.vm.enter(program, args, {})
        expected.append(goes_on(lambda args=args: program(*args)))
    assert asked.answers == expected and len({*expected}) == 2


def log() -> None:
    """Could raise anything, for all that the bytecode of its caller tells."""


def logs() -> None:
    try:
        boom()
    except RuntimeError:
        log()
        raise


def logs_within_a_handler_of_others() -> None:
    try:
        try:
            boom()
        except RuntimeError:
            log()
            raise
    except KeyError:
        pass


def test_what_a_handler_calls_may_raise_anything() -> None:
    for program, answer in ((logs, False), (logs_within_a_handler_of_others, True)):
        asked = Asked()
        asked.vm.enter(program, (), {})
        assert asked.answers == [answer]


class Factor(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError as error:
            raise ValueError("not positive definite") from error


def test_another_class_is_noted() -> None:
    trace = dynamo_lite.trace(Factor(), (torch.eye(3),))
    assert any("may raise ValueError instead" in str(note) for note in trace.notes)
    other = dynamo_lite.trace(torch.nn.Linear(3, 3), (torch.eye(3),))
    assert not any("ValueError" in str(note) for note in other.notes)
