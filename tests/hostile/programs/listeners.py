"""Listeners of the program: logging, warnings, streams, hooks of the process"""

from __future__ import annotations

import io
import logging
import warnings

from torch import nn

from tests.export.probe import equal, refused, t


class Counting(logging.Handler):
    def __init__(self):
        super().__init__()
        self.n = 0

    def emit(self, record):
        self.n += 1


class Tee:
    def __init__(self):
        self.text = []

    def write(self, text):
        self.text.append(text)

    def flush(self):
        pass


def _hold(*args):
    """Called by whatever the programs register."""


def logger(name, handler=None, level=logging.DEBUG):
    made = logging.Logger(name, level)
    if handler:
        made.addHandler(handler)
    return made


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)


@refused("outside-object")
def handler_counts_read_next():

    class M(Base):
        def forward(s, x):
            s.log.info("hi")
            return x * s.h.n

    h = Counting()
    return (M(h=h, log=logger("a", h)), (t(3),))


@equal
def handler_counts_unread():

    class M(Base):
        def forward(s, x):
            s.log.info("hi")
            return x + 1

    h = Counting()
    return (M(h=h, log=logger("a", h)), (t(3),))


@refused("process-state")
def handler_local_read():

    def f(x):
        h = Counting()
        log = logging.Logger("l")
        log.addHandler(h)
        log.warning("a %d", 3)
        return x * h.n

    return (f, (t(3),))


@refused("outside-object")
def filter_state():

    class F(logging.Filter):
        def __init__(s):
            super().__init__()
            s.n = 0

        def filter(s, r):
            s.n += 1
            return s.n < 2

    class M(Base):
        def forward(s, x):
            s.log.info("hi")
            return x * s.f.n

    f = F()
    log = logger("a")
    log.addFilter(f)
    return (M(f=f, log=log), (t(3),))


@refused("python-state")
def adapter_state():

    class A(logging.LoggerAdapter):
        n = 0

        def process(s, m, k):
            s.n += 1
            return (m, k)

    class M(Base):
        def forward(s, x):
            s.a.info("hi")
            return x * s.a.n

    return (M(a=A(logger("a"), {})), (t(3),))


@refused("outside-object")
def formatter_state():

    class Fm(logging.Formatter):
        n = 0

        def format(s, r):
            s.n += 1
            return "x"

    class M(Base):
        def forward(s, x):
            s.log.warning("hi")
            return x * s.fm.n

    fm = Fm()
    h = logging.StreamHandler(io.StringIO())
    h.setFormatter(fm)
    return (M(fm=fm, log=logger("a", h)), (t(3),))


@equal
def logger_is_enabled_for():

    class M(Base):
        def forward(s, x):
            return x + 1 if s.log.isEnabledFor(logging.DEBUG) else x - 1

    return (M(log=logger("a")), (t(3),))


@refused("python-state")
def lazy_arg_str_effect():

    class V:
        n = 0

        def __str__(s):
            s.n += 1
            return "v"

    class M(Base):
        def forward(s, x):
            s.log.warning("v=%s", s.v)
            return x * s.v.n

    return (M(log=logger("a", logging.StreamHandler(io.StringIO())), v=V()), (t(3),))


@equal
def lazy_arg_str_effect_disabled():

    class V:
        n = 0

        def __str__(s):
            s.n += 1
            return "v"

    class M(Base):
        def forward(s, x):
            s.log.debug("v=%s", s.v)
            return x * s.v.n

    return (M(log=logger("a", logging.StreamHandler(io.StringIO()), logging.ERROR), v=V()), (t(3),))


@refused("python-state")
def logger_subclass():

    class LG(logging.Logger):
        def __init__(s, n):
            super().__init__(n)
            s.k = 0

        def _log(s, *a, **k):
            s.k += 1

    class M(Base):
        def forward(s, x):
            s.log.warning("hi")
            return x * s.log.k

    return (M(log=LG("a")), (t(3),))


@refused("python-state")
def logger_subclass_method():

    class LG(logging.Logger):
        def __init__(s, n):
            super().__init__(n)
            s.k = 0

        def warning(s, *a, **k):
            s.k += 1
            super().warning(*a, **k)

    class M(Base):
        def forward(s, x):
            s.log.warning("hi")
            return x * s.log.k

    return (M(log=LG("a")), (t(3),))


@refused("outside-object")
def record_factory():
    N = [0]

    def factory(*a, **k):
        N[0] += 1
        return logging.LogRecord(*a, **k)

    def f(x):
        old = logging.getLogRecordFactory()
        logging.setLogRecordFactory(factory)
        try:
            logging.getLogger("zz").warning("a")
        finally:
            logging.setLogRecordFactory(old)
        return x * N[0]

    return (f, (t(3),))


@equal
def plain_logging_of_size():

    def f(x):
        logging.getLogger("zz").debug("n %s", x.shape)
        return x + 1

    return (f, (t(3),))


@refused("outside-object")
def warn_registry():
    R = {}

    def f(x):
        warnings.warn_explicit("a", UserWarning, "f.py", 1, registry=R)
        return x * len(R)

    return (f, (t(3),))


@refused("outside-object")
def warn_registry_local():

    def f(x):
        R = {}
        warnings.warn_explicit("a", UserWarning, "f.py", 1, registry=R)
        return x * len(R)

    return (f, (t(3),))


@equal
def warnings_filters_len():

    def f(x):
        with warnings.catch_warnings():
            n = len(warnings.filters)
            warnings.simplefilter("always")
            return x * (len(warnings.filters) - n)

    return (f, (t(3),))


@refused("outside-object")
def warnings_caught():

    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("a", stacklevel=1)
        return x * len(w)

    return (f, (t(3),))


@refused("outside-object")
def warnings_caught_torch():

    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            y = x.T
        return y * len(w)

    return (f, (t(3, 2, 2),))


@equal
def warnings_error_caught():

    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("a", stacklevel=1)
                return x + 1
            except UserWarning:
                return x - 1

    return (f, (t(3),))


@equal
def warnings_ignored_fine():

    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("a", stacklevel=1)
            return x + 1

    return (f, (t(3),))


@refused("outside-object")
def showwarning_override():
    L = []

    def f(x):
        old = warnings.showwarning
        warnings.showwarning = lambda *a, **k: L.append(1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("a", stacklevel=1)
        finally:
            warnings.showwarning = old
        return x * len(L)

    return (f, (t(3),))
