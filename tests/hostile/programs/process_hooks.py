"""Hooks of the process, and what the program writes to its streams."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import logging
import signal
import sys
import traceback
import warnings

from tests.export.probe import equal, refused, t

from .listeners import Base, Tee, _hold


@refused("process-state")
def settrace():

    def f(x):
        sys.settrace(lambda *a: None)
        sys.settrace(None)
        return x + 1

    return (f, (t(3),))


@refused("process-state")
def setprofile():

    def f(x):
        sys.setprofile(None)
        return x + 1

    return (f, (t(3),))


@refused("process-state")
def excepthook_set():

    def f(x):
        sys.excepthook = lambda *a: None
        return x + 1

    return (f, (t(3),))


@refused("process-state")
def atexit_reg():

    def f(x):
        atexit.register(_hold)
        return x + 1

    return (f, (t(3),))


@refused("process-state")
def signal_set():

    def f(x):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        return x + 1

    return (f, (t(3),))


@refused("process-state")
def audit():

    def f(x):
        sys.addaudithook(lambda *a: None)
        return x

    return (f, (t(3),))


@refused("python-state")
def gc_cb():

    def f(x):
        gc.callbacks.append(_hold)
        return x + 1

    return (f, (t(3),))


@refused("unrecordable-value")
def gc_collect():

    def f(x):
        return x * gc.collect()

    return (f, (t(3),))


@refused("outside-object")
def print_file_user_old():

    class M(Base):
        def forward(s, x):
            print("a", file=s.tee)
            return x * len(s.tee.text)

    return (M(tee=Tee()), (t(3),))


@equal
def print_file_user_new():

    def f(x):
        tee = Tee()
        print("a", file=tee)
        return x * len(tee.text)

    return (f, (t(3),))


@equal
def print_stringio():

    def f(x):
        b = io.StringIO()
        print("abc", file=b)
        return x * len(b.getvalue())

    return (f, (t(3),))


@equal
def redirect():

    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stdout(b):
            print("abc")
        return x * len(b.getvalue())

    return (f, (t(3),))


@equal
def redirect_user():

    def f(x):
        b = Tee()
        with contextlib.redirect_stdout(b):
            print("abc")
        return x * len(b.text)

    return (f, (t(3),))


@equal
def sys_stdout_assign():

    def f(x):
        b = Tee()
        old = sys.stdout
        sys.stdout = b
        try:
            print("abc")
            sys.stdout.write("a")
        finally:
            sys.stdout = old
        return x * len(b.text)

    return (f, (t(3),))


@refused("outside-object")
def stdout_write():

    def f(x):
        n = sys.stdout.write("")
        return x + (n or 0)

    return (f, (t(3),))


@refused("outside-object")
def stderr_redirect_warn_always():

    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stderr(b), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("abc", stacklevel=1)
        return x * (len(b.getvalue()) > 0)

    return (f, (t(3),))


@equal
def stderr_redirect_traceback():

    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stderr(b):
            try:
                _ = 1 / 0
            except ZeroDivisionError:
                traceback.print_exc()
        return x * len(b.getvalue().splitlines())

    return (f, (t(3),))


@refused("outside-object")
def stderr_redirect_logging():
    logger = logging.getLogger("without.handlers")
    logger.propagate = False  # the root has handlers in a test run: they take the record, and stderr gets nothing

    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stderr(b):
            logger.warning("abc")
        return x * len(b.getvalue())

    return (f, (t(3),))


@equal
def stderr_redirect_logging_handled():
    logger = logging.getLogger("with.a.handler")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())

    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stderr(b):
            logger.warning("abc")
        return x * (1 + len(b.getvalue()))

    return (f, (t(3),))


@equal
def progress_bar():

    class Bar:
        def __init__(s, it):
            s.it = it
            s.n = 0

        def __iter__(s):
            for i in s.it:
                yield i
                s.n += 1
                print(f"\r{s.n}", end="", file=sys.stderr)

    def f(x):
        for i in Bar(range(3)):
            x = x + i
        return x

    return (f, (t(3),))


@equal
def print_returns_none():

    def f(x):
        return x + 1 if print("", end="") is None else x

    return (f, (t(3),))


@refused("python-state")
def print_str_effect():

    class V:
        n = 0

        def __str__(s):
            s.n += 1
            return ""

    class M(Base):
        def forward(s, x):
            print(s.v, end="")
            return x * s.v.n

    return (M(v=V()), (t(3),))


@equal
def print_error_type():

    def f(x):
        try:
            print("", sep=3)
        except TypeError:
            return x - 1
        return x

    return (f, (t(3),))


@equal
def log_bad_args():

    def f(x):
        logging.getLogger("q").debug("%d", "a")
        return x

    return (f, (t(3),))


@equal
def logging_missing_msg():

    def f(x):
        try:
            logging.getLogger("q").warning()
        except TypeError:
            return x - 1
        return x

    return (f, (t(3),))


@equal
def logger_warning_once():

    @functools.lru_cache(None)
    def once(m):
        logging.getLogger("q").warning(m)

    def f(x):
        once("a")
        return x + 1

    return (f, (t(3),))


@equal
def warn_once_flag():

    class M(Base):
        def forward(s, x):
            if not s.warned:
                warnings.warn("a", stacklevel=1)
                s.warned = True
            return x + 1

    return (M(warned=False), (t(3),))
