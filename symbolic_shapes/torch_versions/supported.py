"""The versions of torch that this is tested with, and the check when another one is imported.

pyproject.toml has the same range; tests/torch_versions/test_supported.py compares them.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

Version = tuple[int, int]
"""(major, minor) of torch: patch releases change no private API that is used here."""

OLDEST: Version = (2, 13)
NEWEST: Version = (2, 15)
CHECKED: tuple[str, ...] = ("2.13.0", "2.14.1", "2.15.0")
"""The releases that are tested: the default by `make test`, the others by `make other-torches`."""


class TorchVersionWarning(UserWarning):
    """The installed torch is newer than any that was tested."""


def parse(text: str) -> Version:
    """(2, 13) for "2.13.0+cpu". ValueError for a text that is not a version."""
    found = re.match(r"(\d+)\.(\d+)", text)
    if found is None:
        raise ValueError(f"not a version of torch: {text!r}")
    return int(found[1]), int(found[2])


def version_text() -> str | None:
    """torch's version as it writes it; None without a torch. torch is not imported for it."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "__version__"):
        return str(torch.__version__)
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "version.py")
        if path.exists():
            found = re.search(r"^__version__ *= *['\"]([^'\"]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            return found[1] if found else None
    return None


def installed() -> Version:
    """(major, minor) of the installed torch; NEWEST where there is none."""
    text = version_text()
    return NEWEST if text is None else parse(text)


def check() -> None:
    """Hold the installed torch against the range.

    Raises ImportError for one that is too old, warns (TorchVersionWarning) of one that is newer than any tested.
    """
    text = version_text()
    if text is None:
        return
    version = parse(text)
    if version < OLDEST:
        raise ImportError(
            f"dynamo-lite needs torch {_text(OLDEST)} or newer, and torch {text} is installed: pip install "
            f"'torch>={_text(OLDEST)},<{_text((NEWEST[0], NEWEST[1] + 1))}'"
        )
    if version > NEWEST:
        warnings.warn(
            f"dynamo-lite is tested with torch {_text(OLDEST)} to {_text(NEWEST)}, and torch {text} is installed. It "
            "goes on as with the newest one that it knows; `python -m dynamo_lite doctor` lists what this torch has "
            "moved",
            TorchVersionWarning,
            stacklevel=3,
        )


def _text(version: Version) -> str:
    return ".".join(map(str, version))
