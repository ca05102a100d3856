"""`import guards`, `import symbolic_shapes` in a checkout: the modules dynamo_lite.guards, dynamo_lite.symbolic_shapes.

The two folders lie at the top of the repository, so with the repository on `sys.path` they can be imported by their own
names, too. That must give the same modules: a second copy of a class is another class. Nothing is installed under these
names, so that a user's own `guards.py` is safe.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE = "dynamo_lite"


class _SameModule(MetaPathFinder, Loader):
    """Finds `<folder>.x` as the module `dynamo_lite.<folder>.x`."""

    def __init__(self) -> None:
        self.folders: set[str] = set()
        self._own_spec: dict[str, ModuleSpec | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.partition(".")[0] in self.folders else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"{PACKAGE}.{spec.name}")
        self._own_spec[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run; the import system set its `__spec__` to the one of the other name."""
        assert module.__spec__ is not None
        module.__spec__ = self._own_spec.pop(module.__spec__.name)


_FINDER = _SameModule()


def serve(folder: str) -> None:
    """Make `import <folder>` and of all below it give the modules of dynamo_lite. Called while `folder` is imported."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.folders.add(folder)
    sys.modules[folder] = importlib.import_module(f"{PACKAGE}.{folder}")
