"""Where the package's files are: guards/ and symbolic_shapes/ are beside its folder in a checkout, in it in a wheel."""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(__file__)
_BESIDE = ("guards", "symbolic_shapes")


def folder(name: str) -> str:
    """The folder of `dynamo_lite.<name>`, with a separator at its end."""
    inside = os.path.join(PACKAGE, name, "")
    return os.path.join(os.path.dirname(PACKAGE), name, "") if name in _BESIDE and not os.path.isdir(inside) else inside


OWN = (os.path.join(PACKAGE, ""), *map(folder, _BESIDE))
"""All code of ours is below one of these."""
PATH = [PACKAGE] if OWN[1].startswith(OWN[0]) else [PACKAGE, os.path.dirname(PACKAGE)]
"""The `__path__` of the package."""
