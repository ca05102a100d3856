"""Trampolines: functions handed to C code are armed for the run and have their own code again afterwards."""

from __future__ import annotations

import gc
import inspect
import io
import operator
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from dynamo_lite.interpreter import Interpreter, Observer, interpret
from dynamo_lite.interpreter.datamodel.trampoline_code import active, is_trampoline, original_code
from tests.webassembly import needs_processes, needs_threads


class Entered(Observer):
    """Notes the code names of interpreted frames."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_enter(self, frame: Any) -> None:
        self.names.append(frame.code.co_name)


def _every_kind(a: int, /, b: int = 2, *rest: int, c: int, d: int = 4, **more: int) -> Any:
    return a, b, rest, c, d, more


def test_a_trampoline_keeps_the_signature_and_passes_every_kind_of_argument() -> None:
    vm = Interpreter(observer := Entered())
    signature = inspect.signature(_every_kind)
    vm.trampolines.arm(_every_kind)
    assert is_trampoline(_every_kind.__code__)
    assert original_code(_every_kind.__code__).co_name == "_every_kind"
    assert inspect.signature(_every_kind) == signature
    expected = (1, 5, (6,), 7, 4, {"e": 8})
    assert _every_kind(1, 5, 6, c=7, e=8) == expected  # trampolines closed: natively, by its own code
    assert observer.names == []
    vm.trampolines.open = True
    assert _every_kind(1, 5, 6, c=7, e=8) == expected
    vm.trampolines.open = False
    vm.trampolines.release()
    assert observer.names == ["_every_kind"]
    assert not is_trampoline(_every_kind.__code__)


def test_functions_get_their_code_back_when_the_program_raises() -> None:
    def key(x: int) -> int:
        raise ValueError(x)

    code = key.__code__
    try:
        interpret(sorted, [1], key=key)
    except ValueError as error:
        assert str(error) == "1"
    assert key.__code__ is code


def test_generator_functions_can_be_armed() -> None:
    class Lazy:
        def __iter__(self) -> Iterator[int]:
            yield from (1, 2)

    observer = Entered()
    assert Interpreter(observer).enter(list, (Lazy(),), {}) == [1, 2]
    assert "__iter__" in observer.names
    assert inspect.isgeneratorfunction(Lazy.__iter__)


def test_a_nested_run_leaves_the_outer_one_armed() -> None:
    calls: list[str] = []

    def key(x: int) -> int:
        calls.append("trampoline" if is_trampoline(key.__code__) else "own")
        return x

    def outer(x: int) -> int:
        interpret(sorted, [2, 1], key=key)
        return key(x)

    observer = Entered()
    assert Interpreter(observer).enter(sorted, ([2, 1],), {"key": outer}) == [1, 2]
    assert observer.names.count("outer") == 2
    assert not is_trampoline(key.__code__)
    assert not is_trampoline(outer.__code__)


@needs_threads
def test_another_thread_calls_an_armed_function_natively() -> None:
    seen: list[bool] = []

    def work() -> None:
        seen.append(True)

    vm = Interpreter()
    vm.trampolines.arm(work)
    vm.trampolines.open = True
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    vm.trampolines.release()
    assert seen == [True]


def test_armed_functions_and_seen_classes_are_not_kept_alive() -> None:
    def run() -> Any:
        class Local:
            def __lt__(self, other: Any) -> bool:
                return True

        sorted([Local(), Local()])
        return weakref.ref(Local), weakref.ref(Local.__lt__)

    references = interpret(run)
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_trusted_function_is_not_armed() -> None:
    class Trusts(Entered):
        def runs_natively(self, fn: Any) -> bool:
            return fn.__name__ == "trusted"

    def trusted(x: int) -> int:
        assert not is_trampoline(trusted.__code__)
        return -x

    observer = Trusts()
    assert Interpreter(observer).enter(sorted, ([1, 2],), {"key": trusted}) == [2, 1]
    assert observer.names == []


def _later(x: int) -> int:
    return -x


def test_a_generator_resumed_after_its_run_leaves_no_trampoline() -> None:
    """Found by test_contextlib_async on 3.13: IsolatedAsyncioTestCase.asyncSetUp was no coroutine function any more."""

    def squares() -> Iterator[list[int]]:
        yield []
        yield sorted([1, 2], key=_later)

    vm = Interpreter(observer := Entered())
    generator = vm.enter(squares, (), {})
    assert [*generator] == [[], [2, 1]]
    assert observer.names.count("_later") == 2
    assert not is_trampoline(_later.__code__)
    assert vm.trampolines not in [trampolines for running in active.values() for trampolines in running]


def test_code_set_on_an_armed_function_is_compared_with_the_programs_code() -> None:
    """3.13 warns when code of another kind replaces that of a generator; a trampoline has no such flags."""

    def generates() -> Iterator[int]:
        yield 1

    def plain() -> int:
        return 2

    def program() -> tuple[int, Any]:
        sorted([generates], key=id)  # arms it
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            generates.__code__ = plain.__code__
        return len(caught), generates()

    assert interpret(program) == (int(sys.version_info >= (3, 13)), 2)


@needs_processes
def test_an_audit_hook_of_the_process_can_be_armed() -> None:
    """CPython tells audit hooks of what trampolines do themselves; that once recursed until the stack was full."""
    script = """
        import sys
        from dynamo_lite.interpreter import interpret

        heard = []

        def hook(event, args, *, log=heard):
            log.append(event)

        sys.addaudithook(hook)
        before = hook.__code__
        assert interpret(lambda: sorted([hook], key=id)) == [hook]
        assert hook.__code__ is before
        heard.clear()
        sys.audit("of.ours")
        assert heard == ["of.ours"], heard
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


class Weighed:
    """A class as a model's: special methods, a method of a protocol, and others."""

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def __add__(self, other: Weighed) -> int:
        return self.weight + other.weight

    def __len__(self) -> int:
        return self.weight

    def keys(self) -> list[str]:
        return ["weight"]

    def __getitem__(self, key: str) -> int:
        return self.weight

    def doubled(self) -> int:
        return 2 * self.weight

    @property
    def half(self) -> float:
        return self.weight / 2


def _armed(cls: type) -> set[str]:
    return {name for name, value in vars(cls).items() if inspect.isfunction(value) and is_trampoline(value.__code__)}


def test_operators_arm_what_c_code_calls_by_itself() -> None:
    vm = Interpreter()
    try:
        assert vm.trampolines.apply_shallow(operator.add, Weighed(1), Weighed(2)) == 3
        assert _armed(Weighed) == {"__init__", "__add__", "__len__", "keys", "__getitem__"}
        assert is_trampoline(Weighed.half.fget.__code__)  # type: ignore[attr-defined]
        vm.trampolines.arm(Weighed(1))
        assert "doubled" in _armed(Weighed)
    finally:
        vm.trampolines.release()
    assert not _armed(Weighed)


def test_a_special_method_that_runs_natively_may_call_any_other() -> None:
    class Trusting(Observer):
        def runs_natively(self, fn: Any) -> bool:
            return fn.__name__ == "__len__"

    vm = Interpreter(Trusting())
    try:
        assert vm.trampolines.apply_shallow(len, Weighed(3)) == 3
        assert "doubled" in _armed(Weighed)
    finally:
        vm.trampolines.release()


class Raw(io.RawIOBase):
    """C code calls `readable` and `readinto` to read a line."""

    def __init__(self) -> None:
        self.left = b"one\ntwo\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), len(self.left))
        buffer[:count], self.left = self.left[:count], self.left[count:]
        return count


def _protocols() -> Any:
    weighed = [Weighed(2), Weighed(1)]
    by_call = sorted(weighed, key=operator.methodcaller("doubled"))
    return dict(weighed[0]), [*Raw()], [w.weight for w in by_call], weighed[0].half, [*map(Weighed.doubled, weighed)]


def test_methods_of_protocols_are_interpreted_wherever_c_code_calls_them() -> None:
    names = (observer := Entered()).names
    assert Interpreter(observer).enter(_protocols, (), {}) == _protocols()
    assert {"keys", "__getitem__", "readinto", "doubled", "half"} <= {*names}
