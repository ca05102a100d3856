"""Runs the test methods of one module of CPython's `test` package, natively or interpreted, one JSON line per method.

    python worker.py test_dict native|interpreted cpu-seconds-per-method [method ids...]

Run as a script in a process of its own: these tests replace sys.stdout, exhaust memory limits, and may crash or hang.
Interpreted, the interpreter runs setUp, the method and tearDown; the loop of unittest around them is native.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from typing import Any, TextIO


class TooSlow(BaseException):
    """The method had no more time; a BaseException, so that no test catches it."""


class Outcome(unittest.TestResult):
    """What became of one method: its worst event, subtests included, and the last line of the error."""

    def __init__(self) -> None:
        super().__init__()
        self.status = "pass"
        self.detail = ""

    def _note(self, status: str, err: Any) -> None:
        self.status = status
        kind, value = err[0], err[1]
        lines = f"{kind.__name__}: {value}".strip().splitlines()
        self.detail = " | ".join(lines[:3])[:300]
        if os.environ.get("CPYTHON_TESTS_TRACEBACK"):
            self.detail = "".join(traceback.format_exception(*err))

    def addError(self, test: Any, err: Any) -> None:
        self._note("timeout" if err[0] is TooSlow else "error", err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._note("fail", err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note("fail", err)

    def addSkip(self, test: Any, reason: str) -> None:
        if self.status == "pass":
            self.status = "skip"

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.status = "expected failure"

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.status = "unexpected success"


def cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def interpreted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` run by the interpreter; for a coroutine function a coroutine function (IsolatedAsyncioTestCase asks)."""
    from dynamo_lite.interpreter import interpret

    if inspect.iscoroutinefunction(fn):

        async def run_async() -> Any:
            return await interpret(fn)

        return run_async
    return lambda: interpret(fn)


def interpret_case(case: unittest.TestCase) -> None:
    """Makes setUp, the method and tearDown of `case` run interpreted."""
    for name in ("setUp", "asyncSetUp", case._testMethodName, "asyncTearDown", "tearDown"):  # type: ignore[attr-defined]
        if hasattr(case, name):
            setattr(case, name, interpreted(getattr(case, name)))


def run_one(case: unittest.TestCase, mode: str, seconds: float) -> Outcome:
    outcome = Outcome()
    if mode == "interpreted":
        interpret_case(case)

    def expire(*_: Any) -> None:
        raise TooSlow(f"{seconds} s")

    previous = [(number, signal.signal(number, expire)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)  # CPU time: a busy machine must not fail a test
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        case.run(outcome)
    except TooSlow as slow:
        outcome.status, outcome.detail = "timeout", str(slow)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in previous:
            signal.signal(number, handler)
    return outcome


def run_group(group: list[unittest.TestCase], mode: str, seconds: float, out: TextIO) -> None:
    """The methods of one class between its setUpClass and tearDownClass."""
    cls = type(group[0])
    try:
        cls.setUpClass()
    except unittest.SkipTest:
        return
    for case in group:
        name, start = case.id(), time.process_time()
        print(json.dumps({"id": name, "status": "started"}), file=out, flush=True)
        outcome = run_one(case, mode, seconds)
        record = {"id": name, "status": outcome.status, "detail": outcome.detail, "s": time.process_time() - start}
        print(json.dumps(record), file=out, flush=True)
    cls.tearDownClass()
    cls.doClassCleanups()


def main(module_name: str, mode: str, seconds: float, only: list[str], skip: set[str]) -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what tests print goes to stderr
    module = importlib.import_module(f"test.{module_name}")
    set_up = getattr(module, "setUpModule", None)
    if set_up is not None:
        set_up()
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    groups: dict[type, list[unittest.TestCase]] = {}
    for case in cases(suite):
        wanted = any(part in case.id() for part in only) if only else True
        if wanted and case.id() not in skip and not getattr(type(case), "__unittest_skip__", False):
            groups.setdefault(type(case), []).append(case)
    for group in groups.values():
        run_group(group, mode, seconds, out)
    out.flush()
    os._exit(0)  # threads and objects that the tests left behind are not waited for


if __name__ == "__main__":
    skipped = set(filter(None, os.environ.get("CPYTHON_TESTS_SKIP", "").split("\n")))
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:], skipped)
