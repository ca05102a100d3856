"""Where lines go: to stderr, unless the program has set up Python's `logging` itself."""

from __future__ import annotations

import logging
import sys

ROOT = "dynamo_lite"


class _Stderr(logging.Handler):
    """Writes to the current sys.stderr. Silent once the program has handlers, which get the records."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers:
            return
        text = self.format(record)
        if not (sys.stderr.isatty() and _print_rich(record, text)):
            print(text, file=sys.stderr)


def _print_rich(record: logging.LogRecord, text: str) -> bool:
    """On a terminal, with colours if `rich` is installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return False
    line = Text(text)
    line.highlight_words([f"[{record.name}]"], "cyan")
    line.highlight_regex(r"\S+\.py:\d+", "green")
    Console(file=sys.stderr, soft_wrap=True).print(line)
    return True


_handler = _Stderr()
_FORMAT = "%(asctime)s.%(msecs)03d #%(export)s [%(name)s] %(message)s"
_handler.setFormatter(logging.Formatter(_FORMAT, "%H:%M:%S", defaults={"export": "-"}))


def ensure_handler() -> None:
    """The package's logger has our handler, once."""
    logger = logging.getLogger(ROOT)
    if _handler not in logger.handlers:
        logger.addHandler(_handler)
