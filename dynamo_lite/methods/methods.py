"""`export_methods`: one model, several entry points (prefill and decode, encode and score, train and eval)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch.types import FileLike

from dynamo_lite.api import export
from dynamo_lite.errors import InvalidArguments, checks_keywords
from dynamo_lite.exclusive import exclusive
from dynamo_lite.methods._torch_archive import load_pt2, write_programs
from dynamo_lite.methods.compiled import compile_programs
from dynamo_lite.option_types import DynamicShapes, ExportOptions
from dynamo_lite.program._torch_serde import shared_expressions
from dynamo_lite.program.exported_program import Program, loaded
from dynamo_lite.program.saved_facts import facts_of
from dynamo_lite.torch_errors import catchable_as_torch


@dataclass(frozen=True)
class Method:
    """One entry point of a model.

    Args:
        args, kwargs: its example call.
        fn: the callable: the name of a method of the model, or a bound method. None: the method that has the entry
            point's own name, else `forward`.
        dynamic_shapes: as in `export`.
        training: the mode that the model is put into for this export; None: as it is.
        options: further options of `export` (`control_flow`, `effects`, `strict`, ...).
    """

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    fn: str | Callable[..., Any] | None = None
    dynamic_shapes: DynamicShapes = None
    training: bool | None = None
    options: ExportOptions = field(default_factory=ExportOptions)


class Methods(Mapping[str, Program]):
    """The programs of a model's entry points, by name; a tensor that several of them have is one tensor.

    `programs` is the dict that ExecuTorch's `to_edge` and `to_edge_transform_and_lower` take.
    """

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self.programs = dict(programs)

    def __getitem__(self, name: str) -> Program:
        return self.programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.programs)

    def __len__(self) -> int:
        return len(self.programs)

    def module(self, name: str) -> fx.GraphModule:
        """The entry point as a module. Modules of several share parameters and buffers: what one writes into a buffer,
        the others read."""
        return self.programs[name].module()

    def save(self, f: FileLike) -> None:
        """One archive, each tensor once. torch's own `load_pt2` reads it too. Raises what torch.export.save raises."""
        facts = {name: facts_of(program) for name, program in self.items()}
        same = {name: _shared_with(self.programs, name) for name in self}
        with shared_expressions():
            write_programs(f, self.programs, {_TABLE: json.dumps({"facts": facts, "shared": same})})

    def compile(self, f: FileLike, *, options: Mapping[str, Any] | None = None) -> None:
        """Compile each entry point with AOTInductor, into one archive (.pt2) that holds each tensor once.

        `dynamo_lite.load_compiled_methods` reads it, and so does torch's `load_pt2(f, load_weights_from_disk=True)`.
        options: Inductor's (`{"max_autotune": True}`). Raises what `torch._inductor.aot_compile` raises.
        """
        compile_programs(self.programs, f, options or {})

    def __repr__(self) -> str:
        return f"<Methods: {', '.join(self)}>"


_TABLE = "dynamo_lite_methods.json"


@exclusive
@catchable_as_torch
@checks_keywords
def export_methods(model: nn.Module, methods: Mapping[str, Method | tuple[Any, ...]]) -> Methods:
    """Export several entry points of a model.

    Args:
        model: the module that has the parameters and buffers of all of them.
        methods: name → the example call's positional arguments, or a Method with more.

    Raises what `export` raises, with a note that names the entry point; InvalidArguments for a name that the model does
    not have.
    """
    programs = {}
    for name, given in methods.items():
        method = given if isinstance(given, Method) else Method(given)
        called = _called(model, name, method.fn)
        try:
            with _mode(model, method.training):
                programs[name] = export(
                    called, method.args, method.kwargs, dynamic_shapes=method.dynamic_shapes, **method.options
                )
        except Exception as error:
            error.add_note(f"This was the export of the entry point {name!r}.")
            raise
    _share(programs)
    return Methods(programs)


def load_methods(f: FileLike) -> Methods:
    """Load an archive written by `Methods.save`; a tensor that several programs share is one tensor again."""
    with shared_expressions():
        contents = load_pt2(f)
    table = json.loads(contents.extra_files.get(_TABLE, "{}"))
    facts, shared = table.get("facts", {}), table.get("shared", {})
    order = [name for name in shared if name in contents.exported_programs] or [*contents.exported_programs]
    programs: dict[str, Program] = {}
    for name in order:
        programs[name] = loaded(contents.exported_programs[name], facts.get(name, {}))
        for kind, rows in shared.get(name, {}).items():
            tensors = _tensors(programs[name])[kind]
            tensors.update((fqn, _tensors(programs[owner])[kind][other]) for fqn, (owner, other) in rows.items())
    return Methods(programs)


def _called(model: nn.Module, name: str, fn: str | Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the callable to export. Raises InvalidArguments."""
    if not isinstance(model, nn.Module):
        raise InvalidArguments(f"model must be an nn.Module, not {type(model).__qualname__}")
    if callable(fn):
        if fn is not model and getattr(fn, "__self__", None) is not model:
            raise InvalidArguments(f"the entry point {name!r} has to be a method of the model, not {fn!r}")
        return fn
    wanted = fn if fn is not None else name if callable(getattr(type(model), name, None)) else "forward"
    if not callable(getattr(type(model), wanted, None)):
        raise InvalidArguments(f"the entry point {name!r}: {type(model).__qualname__} has no method {wanted!r}")
    return model if wanted == "forward" else getattr(model, wanted)


@contextmanager
def _mode(model: nn.Module, training: bool | None) -> Iterator[None]:
    """The model in a mode, and each of its modules in its own again."""
    before = [(module, module.training) for module in model.modules()]
    if training is not None:
        model.train(training)
    try:
        yield
    finally:
        for module, was in before:
            module.training = was


Tensors = dict[str, dict[str, Any]]


def _tensors(program: Program) -> Tensors:
    return {"state": program.state_dict, "constants": program.constants}


def _share(programs: Mapping[str, Program]) -> None:
    """Share tensors among programs. A constant that two programs have lifted under other names stays two rows, of one
    tensor; a detached alias in a program is replaced by the object of an earlier program."""
    first: dict[tuple[str, str], Any] = {}
    for program in programs.values():
        for kind, tensors in _tensors(program).items():
            for fqn, tensor in tensors.items():
                known = first.setdefault((kind, fqn), tensor)
                if known is not tensor and _is_same(known, tensor):
                    tensors[fqn] = known


def _is_same(a: Any, b: Any) -> bool:
    """Whether two tensors are one, seen twice."""
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)) or type(a) is not type(b):
        return False
    if a.layout is not torch.strided or b.layout is not torch.strided or a.device != b.device:
        return False
    where = [(t.data_ptr(), t.dtype, t.shape, t.stride(), t.requires_grad) for t in (a, b)]
    return bool(where[0] == where[1] and a.data_ptr())


def _shared_with(programs: Mapping[str, Program], name: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Which tensors of a program an earlier one has: kind → fqn → (program, fqn)."""
    found: dict[str, dict[str, tuple[str, str]]] = {"state": {}, "constants": {}}
    for kind, rows in found.items():
        known: dict[int, tuple[str, str]] = {}
        for earlier, program in programs.items():
            if earlier == name:
                break
            for fqn, tensor in _tensors(program)[kind].items():
                known.setdefault(id(tensor), (earlier, fqn))
        rows.update(
            (fqn, known[id(tensor)]) for fqn, tensor in _tensors(programs[name])[kind].items() if id(tensor) in known
        )
    return found
