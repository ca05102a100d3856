"""torch.export.unflatten of a program checks what `program.module()` checks.

torch's own UnflattenedModule looks at sizes and constants, and at no guard: not at dtypes, layouts, relations of sizes.
`torch.export.unflatten` is a function of torch's that calls nothing of the program, but it enters the new module into
the `meta` of the program's graph module (torch/export/unflatten.py, UnflattenedModule.__init__; torch 2.13.0). That is
where the module gets its check.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.program.input_check import InputCheck
from dynamo_lite.torch_internals._torch_fx import is_fx_symbolic_tracing

_KEY = "unflattened_module"


class AnnouncedMeta(dict[str, Any]):
    """`GraphModule.meta` of a program. Copies and pickles of it are plain dicts."""

    def __init__(self, values: dict[str, Any], program: ExportedProgram) -> None:
        super().__init__(values)
        self.program = weakref.ref(program)

    def __setitem__(self, key: str, value: Any) -> None:
        program = self.program()
        if key != _KEY or program is None:
            super().__setitem__(key, value)
            return
        value.meta = {**self, key: value}  # its own: the program's is copied with the program, and stays as it was
        value.register_forward_pre_hook(_hook(InputCheck.of(program, guards=True)), with_kwargs=True)

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def announced_to(program: ExportedProgram, module: fx.GraphModule) -> None:
    """Notifies `program`, whose graph module is `module`, of the modules that torch.export.unflatten makes of it."""
    meta = module.meta
    if type(meta) is not AnnouncedMeta or meta.program() is not program:
        module.meta = AnnouncedMeta(meta, program)


def _hook(check: InputCheck) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], None]:
    def before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A forward pre-hook. With an adapter of flat arguments the call may have another structure."""
        traced = is_fx_symbolic_tracing() or torch.compiler.is_compiling()
        if module.check_input_constraints and module.flat_args_adapter is None and not traced:
            check.check(args, kwargs, module)

    return before
