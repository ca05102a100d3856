"""An end to what an exporter, or a program that it made, may not end by itself."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class TimeIsUp(BaseException):
    """No Exception: an exporter, or a program, would handle it and go on."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raises TimeIsUp in the body after so many seconds. In the main thread only, as signals are."""

    def stop(number: int, frame: object) -> None:
        raise TimeIsUp(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
