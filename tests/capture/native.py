"""Runs a module natively under a Recorder: what the tracer does with the interpreter, for tests of capture alone."""

from __future__ import annotations

import traceback
from typing import Any, NoReturn

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram

from dynamo_lite.capture import CaptureError, Recorder
from dynamo_lite.capture.fakes.static_cache import Inexact, Memory
from dynamo_lite.program import build_program, flatten_inputs, flatten_outputs
from dynamo_lite.program.trees.containers import register_containers
from dynamo_lite.program.trees.paths import flatten


class ModuleContext:
    """A NodeContext that follows the modules with torch's global hooks."""

    def __init__(self, root: nn.Module) -> None:
        self._names = {module: fqn for fqn, module in reversed(list(root.named_modules(remove_duplicate=False)))}
        self._stack: list[tuple[str, tuple[str, str]]] = []

    def enter(self, module: nn.Module, args: Any) -> None:
        fqn = self._names.get(module, "")
        key = "L__self__" + ("" if not fqn else fqn.replace(".", "_"))
        self._stack.append((key, (fqn, f"{type(module).__module__}.{type(module).__qualname__}")))

    def leave(self, module: nn.Module, args: Any, out: Any) -> None:
        self._stack.pop()

    def stack_trace(self) -> str | None:
        hidden = ("/torch/", "/dynamo_lite/", "native_calls.py")
        frames = [f for f in traceback.extract_stack() if not any(part in f.filename for part in hidden)]
        return "".join(traceback.format_list(frames[-2:]))

    def may_raise(self, operator: str, kinds: frozenset[type[BaseException]]) -> None:
        """No handler of a program is followed here."""

    def in_handler(self) -> bool:
        return False

    def catches(self, kinds: frozenset[type[BaseException]]) -> bool:
        return False

    def goes_on(self, kinds: frozenset[type[BaseException]]) -> bool:
        return False

    def found_as_one(self, left: Any, right: Any) -> bool:
        return False

    def module_stack(self) -> dict[str, tuple[str, str]]:
        return dict(self._stack)

    def source_fn_stack(self) -> list[tuple[str, Any]]:
        return []

    def annotations(self) -> dict[str, Any]:
        return {}

    def torch_fn(self) -> tuple[str, str] | None:
        return None

    def refuse(self, error: CaptureError) -> NoReturn:
        raise error

    def restart(self, error: Inexact) -> NoReturn:
        raise error


def export_natively(
    root: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    fake_mode: FakeTensorMode | None = None,
    buffer_updates: Any = None,
    memory: Memory = Memory.ALL,
) -> ExportedProgram:
    """Exports `root` by running it under CPython. Only for modules without side effects on Python state.

    Raises Inexact where the tracer would record again with less `memory`.
    """
    inputs = flatten_inputs(root.forward, args, kwargs)
    context = ModuleContext(root)
    recorder = Recorder(root, inputs.names, fake_mode=fake_mode, context=context)
    recorder.memory = memory
    fake_args, fake_kwargs = inputs.unflatten(recorder.bind_inputs(inputs.leaves))
    hooks = [
        nn.modules.module.register_module_forward_pre_hook(context.enter),
        nn.modules.module.register_module_forward_hook(context.leave, always_call=True),
    ]
    try:
        with recorder:
            result = root(*fake_args, **fake_kwargs)
            register_containers({"output": result})
            updates = buffer_updates(root) if buffer_updates is not None else None
    finally:
        for hook in hooks:
            hook.remove()
    outputs = flatten_outputs(recorder, flatten(result))
    return build_program(recorder, root, inputs, outputs, buffer_updates=updates)


def flat(tree: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(tree)
