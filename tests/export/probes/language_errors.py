"""Exceptions, with-blocks, warnings and logging."""

# Programs as users write them, odd ones too.
# ruff: noqa: B012, B018, SIM107

from __future__ import annotations

import contextlib
import logging
import threading
import warnings

import torch
from torch import nn

from ..probe import equal, raises, sound, t

log = logging.getLogger("probes")
LOCK = threading.RLock()


class Failure(Exception):
    def __init__(self, value, code):
        super().__init__(f"code {code}")
        self.value, self.code = value, code


@equal
def exception_with_attributes():
    def risky(x):
        raise Failure(x * 2, 7)

    def forward(x):
        try:
            risky(x)
        except Failure as f:
            return f.value + f.code, str(f)

    return forward, (t(3),)


@equal
def finally_and_else():
    def forward(x):
        order = []
        try:
            y = x + 1
        except ValueError:
            order.append("except")
        else:
            order.append("else")
        finally:
            order.append("finally")
        return y, order

    return forward, (t(3),)


@equal
def return_in_finally_wins():
    def f(x):
        try:
            return x + 1
        finally:
            return x * 100

    return f, (t(3),)


@equal
def chained_exceptions():
    def forward(x):
        try:
            try:
                {}["missing"]
            except KeyError as inner:
                raise ValueError("outer") from inner
        except ValueError as error:
            return x, type(error.__cause__).__name__, type(error.__context__).__name__, error.__suppress_context__

    return forward, (t(3),)


@equal
def reraise_and_notes():
    def forward(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                e.add_note("noted")
                raise
        except ValueError as e:
            return x * len(e.__notes__), e.args

    return forward, (t(3),)


@equal
def exception_group():
    def forward(x):
        got = []
        try:
            raise ExceptionGroup("g", [ValueError("v"), TypeError("t"), KeyError("k")])
        except* ValueError as g:
            got.append(len(g.exceptions))
        except* (TypeError, KeyError) as g:
            got.append(len(g.exceptions))
        return x * sum(got), got

    return forward, (t(3),)


@equal
def operator_shape_error_is_caught():
    def forward(x):
        try:
            return x @ torch.ones(7, 7)
        except RuntimeError:
            return x * 2

    return forward, (t(3, 3),)


@equal
def operator_index_error_is_caught():
    def forward(x):
        try:
            return x[5]
        except IndexError:
            return x[-1]

    return forward, (t(3),)


@equal
def view_error_falls_back_to_reshape():
    def forward(x):
        try:
            return x.t().view(-1)
        except RuntimeError:
            return x.t().reshape(-1)

    return forward, (t(2, 3),)


@raises
def operator_shape_error():
    def forward(x):
        return x + torch.ones(5)

    return forward, (t(3),)


@raises
def own_exception_leaves():
    def forward(x):
        raise ValueError("this model is broken")

    return forward, (t(3),)


@raises
def key_error_leaves():
    def forward(x):
        return {"a": x}["b"]

    return forward, (t(3),)


@raises
def not_implemented_forward():
    class M(nn.Module):
        pass

    return M(), (t(3),)


@equal
def custom_context_manager():
    class Scope:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            self.log.append("in")
            return self

        def __exit__(self, kind, value, tb):
            self.log.append("none" if kind is None else kind.__name__)
            return kind is KeyError

    def forward(x):
        log = []
        with Scope(log) as a, Scope(log):
            y = x + len(a.log)
        with Scope(log):
            {}["k"]
        return y, log

    return forward, (t(3),)


@equal
def enter_is_looked_up_on_the_type():
    class Scope:
        def __enter__(self):
            return 1

        def __exit__(self, *args):
            return None

    def forward(x):
        s = Scope()
        s.__enter__ = lambda: 100
        with s as n:
            return x * n

    return forward, (t(3),)


@equal
def contextmanager_decorator():
    @contextlib.contextmanager
    def scaled(by):
        box = [by]
        try:
            yield box
        except ZeroDivisionError:
            box.append("caught")
        finally:
            box.append("out")

    def forward(x):
        with scaled(3) as box:
            y = x * box[0]
        with scaled(4) as other:
            1 / 0
        return y, box, other

    return forward, (t(3),)


@equal
def exit_stack():
    class Scope:
        def __init__(self, n, out):
            self.n, self.out = n, out

        def __enter__(self):
            return self.n

        def __exit__(self, *args):
            self.out.append(self.n)

    def forward(x):
        out = []
        with contextlib.ExitStack() as stack:
            total = sum(stack.enter_context(Scope(i, out)) for i in range(3))
            stack.callback(out.append, 99)
        return x * total, out

    return forward, (t(3),)


@equal
def suppress_nullcontext_closing():
    class Thing:
        closed = False

        def close(self):
            self.closed = True

    def forward(x):
        with contextlib.suppress(KeyError), contextlib.nullcontext(3) as n:
            x = x * n
            {}["k"]
        with contextlib.closing(Thing()) as thing:
            pass
        return x, thing.closed

    return forward, (t(3),)


@equal
def lock_as_context_manager():
    def forward(x):
        with LOCK:
            return x + 1

    return forward, (t(3),)


@equal
def lock_on_the_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def forward(self, x):
            with self.lock:
                y = x * 2
            return y + int(self.lock.locked())

    return M(), (t(3),)


@equal
def printing():
    def forward(x):
        print("shape", x.shape, end="")
        return x + 1

    return forward, (t(3),)


@equal
def logging_and_warnings():
    def forward(x):
        log.debug("entering %s", x.shape)
        log.warning("careful")
        warnings.warn("this is slow", stacklevel=2)
        return x + 1

    return forward, (t(3),)


@sound()
def warning_as_error_is_caught():
    def forward(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("now an error", stacklevel=1)
            except UserWarning:
                return x * 2
        return x

    return forward, (t(3),)


@equal
def sys_exc_info_in_handler():
    import sys

    def forward(x):
        try:
            raise KeyError("k")
        except KeyError:
            kind, value, _ = sys.exc_info()
        return x, kind.__name__, value.args, sys.exc_info() == (None, None, None)

    return forward, (t(3),)


@equal
def traceback_of_the_program():
    import traceback

    def inner():
        raise ValueError("deep")

    def forward(x):
        try:
            inner()
        except ValueError as e:
            names = [f.name for f in traceback.extract_tb(e.__traceback__)]
        return x, names

    return forward, (t(3),)


@equal
def stop_iteration_inside_generator():
    def bad():
        yield 1
        raise StopIteration

    def forward(x):
        try:
            list(bad())
        except RuntimeError as e:
            return x, str(e)

    return forward, (t(3),)


@equal
def exception_name_is_deleted():
    def forward(x):
        e = 5
        try:
            raise ValueError
        except ValueError:
            pass
        return x * ("e" in locals())

    return forward, (t(3),)


@equal
def inplace_on_leaf_error_is_caught():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            try:
                self.w.add_(1)
            except RuntimeError:
                return x * self.w
            return x

    return M(), (t(3),)


@equal
def error_after_in_place_change_is_caught():
    def forward(x):
        y = x.clone()
        try:
            y.add_(1)
            y.mul_(torch.ones(9))
        except RuntimeError:
            pass
        return y

    return forward, (t(3),)


@equal
def error_message_of_an_operator_is_not_looked_at():
    def forward(x):
        try:
            torch.cat([x, x[0]])
        except RuntimeError as e:
            reason = type(e).__name__
        return x, reason

    return forward, (t(2, 3),)


@equal
def traceback_of_the_handled_exception():
    import io
    import traceback

    def forward(x):
        buffer = io.StringIO()
        try:
            1 / 0
        except ZeroDivisionError:
            try:
                {}["missing"]
            except KeyError:
                traceback.print_exc(file=buffer)
                inner = traceback.format_exc(chain=False)
            outer = traceback.format_exc(limit=1)
        texts = (buffer.getvalue(), inner, outer, traceback.format_exc())
        return x + 1, [[name in text for name in ("ZeroDivisionError", "KeyError", "NoneType")] for text in texts]

    return forward, (t(3),)


@equal
def traceback_printed_to_the_console():
    import traceback

    def forward(x):
        try:
            1 / 0
        except ZeroDivisionError as error:
            with contextlib.suppress(ImportError):
                traceback.print_exc(file=None)
            return x + len(error.args)

    return forward, (t(3),)
