"""Which artifacts are on: from DYNAMO_LITE_LOGS, or set_logs."""

from __future__ import annotations

import difflib
import logging
import os
import sys
from typing import Any

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.logging.artifacts import ARTIFACTS, GUARD_VARIABLE, SYMBOL_VARIABLE
from dynamo_lite.logging.output import ensure_handler

VARIABLE = "DYNAMO_LITE_LOGS"
_PREFIXES = {"+": logging.DEBUG, "-": logging.CRITICAL}
_levels: dict[str, int] = {}
_export = -1


class UnknownArtifact(InvalidArguments):
    """A name in DYNAMO_LITE_LOGS or set_logs that no artifact has. The message lists the close ones, else all."""


def set_logs(spec: str = "", /, **levels: Any) -> None:
    """Set the logs that are on from now on; those that are not named are off.

    Args:
        spec: as DYNAMO_LITE_LOGS: names with commas between, `+name` for DEBUG, `-name` for off, `all` for all of them.
        levels: name=True, False, or a level of Python's `logging`. These count after `spec`.

    Raises UnknownArtifact.
    """
    wanted = _parse(spec)
    for name, level in levels.items():
        _check(name)
        wanted[name] = (logging.INFO if level else logging.CRITICAL) if isinstance(level, bool) else int(level)
    _apply(wanted)


def is_on(name: str, level: int = logging.INFO) -> bool:
    """Whether lines of this level of an artifact are wanted."""
    return _levels.get(name, logging.CRITICAL) <= level


def anything_on() -> bool:
    """Whether any artifact is on, or whole stacks are requested."""
    return bool(_levels) or GUARD_VARIABLE in os.environ or SYMBOL_VARIABLE in os.environ


def begin_export() -> None:
    """Records from now on have the next number as their attribute `export`; a process counts from 0."""
    global _export
    _export += 1


def log(name: str, message: str, level: int = logging.INFO) -> None:
    """One record of an artifact."""
    logging.getLogger(f"dynamo_lite.{name}").log(level, "%s", message, extra={"export": max(_export, 0)})


def help_text() -> str:
    """Return the text of `DYNAMO_LITE_LOGS=help`."""
    rows = [f'{VARIABLE}="+dynamic,guards": + for more (DEBUG), - for off, "all" for all of these:']
    for name, artifact in ARTIFACTS.items():
        rows.append(f"  {name:<13} {artifact.what}")
        if artifact.more:
            rows.append(f"  {'+' + name:<13} {artifact.more}")
    rows.append(f'{GUARD_VARIABLE}="Eq(s2, s4)" and {SYMBOL_VARIABLE}=s0 log the whole stacks of one fact or symbol.')
    return "\n".join(rows)


def read_environment() -> None:
    """Apply DYNAMO_LITE_LOGS. `help` prints the artifacts, and the program continues."""
    spec = os.environ.get(VARIABLE, "")
    if spec.strip() == "help":
        print(help_text(), file=sys.stderr)
        return
    if spec or anything_on():
        _apply(_parse(spec))


def _parse(spec: str) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for word in filter(None, (part.strip() for part in spec.split(","))):
        level = _PREFIXES.get(word[0], logging.INFO)
        name = word[1:] if word[0] in _PREFIXES else word
        if name != "all":
            _check(name)
        wanted.update(dict.fromkeys(ARTIFACTS if name == "all" else [name], level))
    return wanted


def _check(name: str) -> None:
    if name not in ARTIFACTS:
        close = difflib.get_close_matches(name, ARTIFACTS, n=3)
        known = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {', '.join(ARTIFACTS)}"
        raise UnknownArtifact(f"there is no log {name!r}; {known} ({VARIABLE}=help lists more)")


def _apply(wanted: dict[str, int]) -> None:
    _levels.clear()
    _levels.update({name: level for name, level in wanted.items() if level < logging.CRITICAL})
    for name in ARTIFACTS:
        logging.getLogger(f"dynamo_lite.{name}").setLevel(_levels.get(name, logging.NOTSET))
    if anything_on():
        logger = logging.getLogger("dynamo_lite.dynamic")
        if "dynamic" not in _levels:  # the stacks of one fact may be asked for alone
            logger.setLevel(logging.INFO)
        ensure_handler()
