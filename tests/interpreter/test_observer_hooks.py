"""What an observer is told, and what it may decide."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_lite.interpreter import NOT_HANDLED, Interpreter, Observer
from dynamo_lite.interpreter.observer import DELETED


class Recorder(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        self.seen.append((kind, key, value))
        return value

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> None:
        self.seen.append((kind, key, value))


def run(observer: Observer, fn: Any, *args: Any) -> Any:
    return Interpreter(observer).enter(fn, args, {})


GLOBAL = 5


def test_reads_and_writes_have_kind_and_key() -> None:
    class Box:
        pass

    box = Box()
    items: dict[str, int] = {"a": 1}
    free = 7

    def program() -> int:
        box.x = GLOBAL  # type: ignore[attr-defined]
        items["b"] = items["a"]
        del items["a"]
        return free + box.x  # type: ignore[attr-defined]

    recorder = Recorder()
    assert run(recorder, program) == 12
    assert ("global", "GLOBAL", 5) in recorder.seen
    assert ("attr", "x", 5) in recorder.seen
    assert ("item", "a", 1) in recorder.seen
    assert ("item", "b", 1) in recorder.seen
    assert ("item", "a", DELETED) in recorder.seen
    assert ("cell", "free", 7) in recorder.seen


def test_a_read_may_be_replaced_and_a_write_refused() -> None:
    class Replace(Observer):
        def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
            return 100 if key == "GLOBAL" else value

        def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> None:
            raise PermissionError(kind)

    def program() -> Any:
        try:
            {}["k"] = 1  # type: ignore[var-annotated]
        except PermissionError as error:
            return GLOBAL, str(error)

    assert run(Replace(), program) == (100, "item")


def test_before_call_sees_one_spelling_and_may_answer() -> None:
    class Calls(Observer):
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def before_call(self, fn: Any, args: Any, kwargs: Any) -> Any:
            self.seen.append(fn)
            return 42 if fn is len else NOT_HANDLED

    class C:
        def method(self) -> int:
            return 1

    def program() -> Any:
        out = [C().method()]
        out.append(2)
        list.append(out, len("abc"))
        return out

    calls = Calls()
    assert run(calls, program) == [1, 2, 42]
    assert calls.seen.count(list.append) == 2
    assert C.method in calls.seen and C in calls.seen


def test_trusted_functions_run_natively_and_are_reported() -> None:
    class Trust(Observer):
        def __init__(self) -> None:
            self.asked: list[str] = []

        def runs_natively(self, fn: Any) -> bool:
            self.asked.append(fn.__name__)
            return fn.__name__ == "trusted"

        def after_native_call(self, fn: Any, args: Any, kwargs: Any, result: Any) -> Any:
            return ("seen", result) if getattr(fn, "__name__", "") == "trusted" else result

    def trusted(x: int) -> int:
        return x + 1

    def program() -> Any:
        return [trusted(i) for i in range(2)]

    trust = Trust()
    assert run(trust, program) == [("seen", 1), ("seen", 2)]
    assert trust.asked.count("trusted") == 1


def test_truth_may_be_answered() -> None:
    class Yes(Observer):
        def on_truth(self, value: Any) -> Any:
            return True if isinstance(value, list) else NOT_HANDLED

    def program() -> Any:
        empty: list[int] = []
        return ("yes" if empty else "no"), ("yes" if "" else "no"), not empty, [x for x in (0, 1) if empty and x]

    assert run(Yes(), program) == ("yes", "no", False, [1])


def test_frames_are_entered_and_left_in_order() -> None:
    class Frames(Observer):
        def __init__(self) -> None:
            self.log: list[str] = []

        def on_enter(self, frame: Any) -> None:
            self.log.append("+" + frame.code.co_name)

        def on_exit(self, frame: Any) -> None:
            self.log.append("-" + frame.code.co_name)

    def gen() -> Any:
        yield 1

    def program() -> Any:
        return list(gen())

    frames = Frames()
    run(frames, program)
    assert frames.log == ["+program", "+gen", "-gen", "+gen", "-gen", "-program"]


def test_instructions_are_seen_in_order() -> None:
    class Log(Observer):
        def __init__(self) -> None:
            self.names: list[str] = []

        def on_instruction(self, frame: Any, instruction: Any) -> None:
            self.names.append(instruction[0].__name__)

    def program(a: int) -> int:
        return a

    log = Log()
    run(log, program, 3)
    assert log.names == ["LOAD_FAST", "RETURN_VALUE"]


def test_an_exception_of_the_observer_is_raised_at_the_call() -> None:
    class Refuse(Observer):
        def before_call(self, fn: Any, args: Any, kwargs: Any) -> Any:
            if fn is len:
                raise LookupError("refused")
            return NOT_HANDLED

    def caught() -> Any:
        try:
            return len("x")
        except LookupError as error:
            return str(error)

    assert run(Refuse(), caught) == "refused"
    with pytest.raises(LookupError):
        run(Refuse(), lambda: len("x"))


def test_what_the_program_handles_is_seen_first() -> None:
    class Caught(Observer):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def on_caught(self, error: BaseException) -> None:
            self.seen.append(type(error).__name__)
            error.args = ("seen",)

    def program() -> list[Any]:
        said = []
        try:
            int("x")
        except ValueError as error:
            said.append(str(error))
        try:
            try:
                raise KeyError(1)
            finally:
                said.append("finally")
        except LookupError as error:
            said.append(error.args[0])
        return said

    caught = Caught()
    assert run(caught, program) == ["seen", "finally", "seen"]
    assert list(dict.fromkeys(caught.seen)) == ["ValueError", "KeyError"]
