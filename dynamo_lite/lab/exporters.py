"""The exporters that the laboratory knows, and how others are added.

An exporter is a class with `name`, `version`, `export` and `reset` (the protocol `Exporter`). `load` finds one by its
name here, by the name of an entry point of the group `dynamo_lite.lab.exporters`, or as "module:Class".
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from dynamo_lite.lab.programs import AsModule

GROUP = "dynamo_lite.lab.exporters"


@runtime_checkable
class Exporter(Protocol):
    """The interface of a tracer here.

    `export` returns a callable that takes what `module` takes; any Exception of it counts as `refused`. If the callable
    is a Module, its parameters and buffers are compared with eager's after each call; else those of `module` are.
    `reset` forgets what earlier exports have left in the process. A class whose callable traces at its first call only
    lists the errors that count so in that call: `refuses_with`, a tuple of exception classes.
    """

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    @property
    def version(self) -> str:
        """That of the tracer."""
        ...

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The exported program, of a module or a function and an example call."""
        ...

    def reset(self) -> None:
        """Forget what earlier exports have left in the process."""
        ...


def _as_module(program: Any) -> nn.Module:
    return program if isinstance(program, nn.Module) else AsModule(program)


class OfTorch:
    """Shared by the exporters of torch: the version of torch, and its compiler's caches."""

    version = str(torch.__version__)

    def reset(self) -> None:
        """torch.compiler.reset()."""
        torch.compiler.reset()


class DynamoLite:
    """`dynamo_lite.export(strict=True).module()`."""

    name = "dynamo-lite"

    @property
    def version(self) -> str:
        """That of the installed package, or "checkout"."""
        try:
            return metadata.version("dynamo-lite")
        except metadata.PackageNotFoundError:
            return "checkout"

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The module of the program."""
        from dynamo_lite import export

        return export(module, args, kwargs, dynamic_shapes=dynamic_shapes).module()

    def reset(self) -> None:
        """An export leaves nothing."""


class Guarded(DynamoLite):
    """dynamo-lite with its guards: a call for which they do not hold is rejected (ValueError)."""

    name = "dynamo-lite-guarded"

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The module of the program, with a hook that checks."""
        from dynamo_lite import trace

        traced = trace(module, args, kwargs, dynamic_shapes=dynamic_shapes)

        def check(own: nn.Module, args: Any, kwargs: Any) -> None:
            failed = traced.guards.check(module, args, kwargs, weights="any")
            if failed is not None:
                raise ValueError(f"a guard does not hold: {failed}")

        program: nn.Module = traced.program.module()
        program.register_forward_pre_hook(check, with_kwargs=True)
        return program


class TorchStrict(OfTorch):
    """`torch.export.export(strict=True).module()`."""

    name = "torch-strict"
    strict = True

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The module of the program."""
        shapes, own = dynamic_shapes, _as_module(module)
        return torch.export.export(own, args, kwargs, dynamic_shapes=shapes, strict=self.strict).module()


class TorchNonStrict(TorchStrict):
    """`torch.export.export(strict=False).module()`."""

    name = "torch-nonstrict"
    strict = False


class TorchCompile(OfTorch):
    """`torch.compile(fullgraph=True, backend="eager")`, which compiles at the first call.

    An error of TorchDynamo in that call counts as `refused`; a later call that its guards do not accept is compiled
    again, as always.
    """

    name = "torch-compile"

    @property
    def refuses_with(self) -> tuple[type[Exception], ...]:
        """The errors of a first call that count as `refused`."""
        from dynamo_lite.torch_internals._torch_dynamo import exc

        return (exc.TorchDynamoException,)

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """A function; the state is that of `module` itself. Neither the example nor `dynamic_shapes` is looked at."""
        compiled = torch.compile(module, fullgraph=True, backend="eager")
        return lambda *args, **kwargs: compiled(*args, **kwargs)


class JitTrace(OfTorch):
    """`torch.jit.trace(check_trace=False)`."""

    name = "torch-jit-trace"

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The traced module. `dynamic_shapes` is not looked at."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kwargs:
                raise TypeError("torch.jit.trace takes positional arguments or named ones, not both")
            traced: Callable[..., Any] = torch.jit.trace(_as_module(module), args, check_trace=False)
            return traced


class FxSymbolic(OfTorch):
    """`torch.fx.symbolic_trace`: of the module alone, without example arguments."""

    name = "torch-fx"

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The GraphModule. The example and `dynamic_shapes` are not looked at."""
        traced: Callable[..., Any] = torch.fx.symbolic_trace(module)
        return traced


class Thunder(OfTorch):
    """`thunder.jit`, which traces at the first call. ImportError, with the reason, where thunder cannot be imported.

    An error of thunder in that call counts as `refused`.
    """

    name = "thunder"

    def __init__(self) -> None:
        try:
            self.version = metadata.version("lightning-thunder")
        except metadata.PackageNotFoundError as error:
            raise ImportError("the exporter 'thunder' needs thunder: pip install lightning-thunder") from error
        try:
            self._thunder = importlib.import_module("thunder")
        except Exception as error:  # an AttributeError where torch no longer has what it asks for
            message = f"lightning-thunder {self.version} cannot be imported beside torch {torch.__version__}: {error}"
            raise ImportError(message) from error

    @property
    def refuses_with(self) -> tuple[type[Exception], ...]:
        """The errors of a first call that count as `refused`: of its interpreter, and of what has no rule."""
        interpreter = importlib.import_module("thunder.core.interpreter")
        return (interpreter.InterpreterError, NotImplementedError)

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The compiled function; the state is that of `module` itself. Neither the example nor `dynamic_shapes` is
        looked at."""
        compiled = self._thunder.jit(module)
        return lambda *args, **kwargs: compiled(*args, **kwargs)


class Eager(OfTorch):
    """The perfect exporter: the program itself. Each program of the corpus must come out equal with it."""

    name = "eager"

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """`module`."""
        called: Callable[..., Any] = module
        return called


BUILT_IN: dict[str, Callable[[], Exporter]] = {
    each.name: each
    for each in (DynamoLite, Guarded, TorchStrict, TorchNonStrict, TorchCompile, JitTrace, FxSymbolic, Thunder, Eager)
}


def names() -> list[str]:
    """All that `load` knows by name: ours, then entry points."""
    return [*BUILT_IN, *(point.name for point in metadata.entry_points(group=GROUP))]


def load(name: str) -> Exporter:
    """An exporter by name, or by "module:Class" (the current folder is searched as well).

    Raises LookupError for an unknown name, TypeError for a class without the members of `Exporter`.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    points = {point.name: point for point in metadata.entry_points(group=GROUP)}
    if name in points:
        made = points[name].load()()
    elif ":" in name:
        made = _by_path(name)()
    else:
        raise LookupError(f"no exporter {name!r}; there are {', '.join(names())}, and any as module:Class")
    missing = [part for part in ("name", "version", "export", "reset") if not hasattr(made, part)]
    if missing:
        raise TypeError(f"{name} lacks {', '.join(missing)} of the protocol Exporter")
    return made


def _by_path(name: str) -> Callable[[], Any]:
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: Callable[[], Any] = getattr(importlib.import_module(module), attribute)
    return found
