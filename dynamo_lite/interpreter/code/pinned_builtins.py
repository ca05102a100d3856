"""The interpreter's own builtins: a program that replaces `builtins.len` changes its own `len`, not ours."""

from __future__ import annotations

import builtins
import sys

_PUBLIC = {name: value for name, value in vars(builtins).items() if not name.startswith("_")}


def pin(package: str) -> None:
    """Gives each loaded module of `package` its own names for the builtins, so that it never looks them up again."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for builtin, value in _PUBLIC.items():
                module.__dict__.setdefault(builtin, value)
