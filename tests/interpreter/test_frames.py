"""Frames and tracebacks: what they show, what they keep alive, and bugs that were found there."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import traceback
import types
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dynamo_lite.interpreter import Interpreter, Observer, interpret
from dynamo_lite.interpreter.frames.recursion import HostLimit

from ..stack import needs_deep_stack
from ..webassembly import needs_processes, needs_threads
from .differential import value_of


def fail(x: int) -> float:
    return 1 / x


def calls_fail() -> float:
    return fail(0)


def entries(exc: BaseException) -> list[str]:
    return [entry.name for entry in traceback.extract_tb(exc.__traceback__)]


def test_a_traceback_has_the_programs_frames_only() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        interpret(calls_fail)
    names = entries(caught.value)
    assert names[-2:] == ["calls_fail", "fail"]
    assert "run" not in names and "unwind" not in names and "CALL" not in names


def test_frames_of_a_traceback_have_file_line_and_globals() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        interpret(calls_fail)
    last = list(traceback.walk_tb(caught.value.__traceback__))[-1]
    frame, lineno = last
    assert isinstance(frame, types.FrameType)
    assert lineno == frame.f_lineno == fail.__code__.co_firstlineno + 1
    assert frame.f_code.co_filename == __file__
    assert frame.f_globals is globals()
    assert frame.f_back is None


@pytest.mark.parametrize("how", ["returned", "raised", "generator"])
def test_a_finished_frame_keeps_its_variables_no_longer(how: str) -> None:
    class Held:
        pass

    def body(held: Any) -> Any:
        if how == "raised":
            raise KeyError
        yield 1

    def plain(held: Any) -> Any:
        if how == "raised":
            raise KeyError

    def program() -> Any:
        held = Held()
        ref = weakref.ref(held)
        try:
            list(body(held)) if how == "generator" else plain(held)
        except KeyError:
            pass
        held = None  # type: ignore[assignment]
        return ref() is None

    gc.disable()
    try:
        assert interpret(program)
    finally:
        gc.enable()


def test_the_interpreter_keeps_nothing_after_the_run() -> None:
    class Held:
        pass

    refs = []

    def program() -> None:
        held = Held()
        refs.append(weakref.ref(held))
        try:
            raise ValueError(held)
        except ValueError:
            pass

    vm = Interpreter()
    vm.enter(program, (), {})
    assert refs[0]() is None
    assert vm.frame is None and vm.depth == 0


def test_under_a_tracer_the_stubs_do_not_crash() -> None:
    """CPython 3.11 wrote out of bounds when a line table did not fit its code."""

    def program() -> list[Any]:
        def f(a: int, *, b: int = 1) -> int:
            if a:
                raise KeyError
            return b

        out: list[Any] = []
        for a in (0, 1, 0, 1):
            try:
                out.append(f(a, b=3))
            except KeyError as error:
                assert error.__traceback__ is not None
                out.append(error.__traceback__.tb_next is not None)
        return out

    before = sys.gettrace()
    sys.settrace(lambda *args: None)
    try:
        result = interpret(program)
    finally:
        sys.settrace(before)
    assert result == [3, True, 3, True]


def test_recursion_ends_with_recursion_error() -> None:
    needs_deep_stack(8000)
    value_of("""
        def case():
            def f(n): return f(n + 1)
            def g(n): return 1 if n == 0 else 1 + g(n - 1)
            try: f(0)
            except RecursionError as e: return str(e)[:32], g(500)
    """)


def test_the_recursion_limit_is_put_back_and_is_the_programs() -> None:
    needs_deep_stack(8000)
    before = sys.getrecursionlimit()

    def program() -> Any:
        inside = sys.getrecursionlimit()
        depths = []

        def down(n: int) -> None:
            depths.append(n)
            down(n + 1)

        try:
            down(0)
        except RecursionError:
            pass
        return inside, depths[-1]

    inside, deepest = interpret(program)
    assert inside == before == sys.getrecursionlimit()
    assert before - 20 < deepest < before


@needs_threads
def test_threads_have_interpreters_of_their_own_and_one_host_limit() -> None:
    before = sys.getrecursionlimit()

    def program() -> Any:
        out: list[int] = []
        threads = [threading.Thread(target=lambda i=i: out.append(i * i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(out), sys.getrecursionlimit()

    assert interpret(program) == ([0, 1, 4, 9], before)
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("set_meanwhile", [None, 30_000])
def test_a_recursion_limit_that_another_thread_sets_meanwhile_stays(set_meanwhile: int | None) -> None:
    before, limit = sys.getrecursionlimit(), HostLimit()
    limit.enter(0)
    try:
        if set_meanwhile is not None:
            sys.setrecursionlimit(set_meanwhile)
        limit.leave(0)
        assert sys.getrecursionlimit() == (set_meanwhile or before)
    finally:
        sys.setrecursionlimit(before)


def test_the_outer_exception_is_the_context() -> None:
    """What is being handled where interpret() is called is handled for the program too."""

    def program() -> Any:
        try:
            raise KeyError("inner")
        except KeyError as error:
            return sys.exc_info()[1] is error, repr(error.__context__)

    try:
        raise ValueError("outer")
    except ValueError:
        assert interpret(program) == program() == (True, "ValueError('outer')")


def test_an_exception_that_propagates_is_not_chained_again() -> None:
    assert value_of("""
        import contextlib
        def case():
            class Mine(Exception): pass
            @contextlib.contextmanager
            def manager():
                try: yield
                except BaseException:
                    exc = Mine()
                    try: raise exc
                    finally: exc.__context__ = None
            try:
                with manager(): raise IndexError
            except Mine as e: return e.__context__
    """) == "None"


def test_modules_imported_by_interpreted_importlib() -> None:
    """Once importlib's own functions were interpreted, the interpreter's imports ran in the interpreter, for ever."""

    def program() -> Any:
        import importlib

        sys.modules.pop("colorsys", None)
        return importlib.import_module("colorsys").__name__

    assert interpret(program) == "colorsys"


@needs_processes
def test_no_sentinel_of_the_interpreter_is_shown_by_the_collector() -> None:
    """A loop over gc.get_objects() once met the mark of an unbound variable and found its own variable unbound."""

    # In a process of its own: what the collector shows of this one are the functions of pytest and of its workers, too.
    script = """
        import gc
        from dynamo_lite.interpreter import interpret

        def program():
            count = 0
            for found in gc.get_objects():
                count += type(found) is not None
            return count

        assert interpret(program) > 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, cwd=Path(__file__).parents[2])


def test_an_exception_that_is_no_Exception_passes_through_generators() -> None:
    class Abort(BaseException):
        pass

    class Stop(Observer):
        def before_call(self, fn: Any, args: Any, kwargs: Any) -> Any:
            if fn is len:
                raise Abort
            return super().before_call(fn, args, kwargs)

    def gen() -> Any:
        try:
            yield len("x")
        except Exception:
            yield "caught"

    with pytest.raises(Abort):
        Interpreter(Stop()).enter(lambda: list(gen()), (), {})


def frames_variables(x: int) -> list[Any]:
    """What f_locals of a running function shows and takes (PEP 667: from 3.13 on a live view)."""

    def attempt(ask: Any) -> Any:
        try:
            return ask()
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            return type(error).__name__, str(error)

    kept = [x]
    seen = sys._getframe().f_locals
    said: list[Any] = [len(seen), list(seen), seen == sys._getframe().f_locals, seen is sys._getframe().f_locals]
    x = 5
    said += [seen["x"], type(seen).__name__, isinstance(seen, dict), isinstance(seen, Mapping)]
    seen["x"], seen["new"] = 7, 8
    seen.update({"kept": [9]})
    said += [x, kept, seen.get("new"), seen.setdefault("new", 1), "new" in seen, sorted(map(str, seen.keys()))]
    said += [(lambda: kept)(), {**seen}["new"], (seen | {"x": 1})["x"], ({"x": 1} | seen)["x"], seen.copy()["x"]]
    said += [attempt(lambda: seen["none"]), attempt(lambda: hash(seen)), list(seen.values())[:1], [*reversed(seen)][-1]]
    match seen:
        case {"x": found}:
            said.append(found)
    said += [eval("x + 1", {}, seen), "{x}".format_map(seen)]
    said += [len(dict(seen)), type(locals()).__name__, "new" in locals()]

    def inner() -> int:
        sys._getframe().f_back.f_locals["x"] = 11  # type: ignore[union-attr]
        return kept[0]

    said += [inner(), x]
    return said


def test_the_variables_of_a_frame_are_what_cpython_gives() -> None:
    assert repr(interpret(frames_variables, 3)) == repr(frames_variables(3))


@pytest.mark.skipif(sys.version_info < (3, 13), reason="f_locals cannot be asked to delete before PEP 667")
def test_what_a_frames_variables_refuse() -> None:
    def program() -> list[str]:
        x, seen, said = 1, sys._getframe().f_locals, []
        for name in ("x", "none"):
            try:
                del seen[name]
            except Exception as error:
                said.append(repr(error))
        seen["new"] = 3
        for name in ("x", "none", "new"):
            try:
                said.append(str(seen.pop(name)))
            except Exception as error:
                said.append(repr(error))
        return [*said, str(hasattr(seen, "pop")), str(x)]

    assert interpret(program) == program()
