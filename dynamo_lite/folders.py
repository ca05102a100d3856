"""Where the package's files are: guards/ and symbolic_shapes/ are beside its folder in a checkout, in it in a wheel.

In a checkout the two folders can be imported by their own names as well, with the repository on `sys.path`. That gives
the modules dynamo_lite.guards and dynamo_lite.symbolic_shapes, since a second copy of a class is another class. A wheel
installs nothing under these names, so that a user's own `guards.py` is safe.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

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


class _SameModule(MetaPathFinder, Loader):
    """Finds `guards.x` as the module `dynamo_lite.guards.x`."""

    def __init__(self) -> None:
        self.served: set[str] = set()
        self._own_spec: dict[str, ModuleSpec | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.partition(".")[0] in self.served else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"dynamo_lite.{spec.name}")
        self._own_spec[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the `__spec__`, which the import system has replaced by that of the other name."""
        assert module.__spec__ is not None
        module.__spec__ = self._own_spec.pop(module.__spec__.name)


_FINDER = _SameModule()


def serve(name: str) -> None:
    """Make `import <name>`, and imports below it, give the modules of dynamo_lite. Called while `name` is imported."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.served.add(name)
    sys.modules[name] = importlib.import_module(f"dynamo_lite.{name}")
