"""A program's sizes in a ShapeEnv of their own, for one pass of torch's over the program.

torch's passes leave their decisions in the ShapeEnv, where the next pass would take them for known. Here each gets a
new one, which also records the kernel that made each query.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import sympy
import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.program._torch import FakeTensor, ShapeEnv
from dynamo_lite.program.shapes.torch_symbols import Values, all_graphs
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import kernel_kind
from dynamo_lite.torch_internals._torch_operators import OpOverload

_COPIED = (
    *("backed_var_to_val", "var_to_range", "var_to_range_sloc", "var_to_stack", "size_like", "unbacked_alloc_order"),
    *("replacements", "unbacked_renamings"),
)
_COUNTERS = ("unbacked_symint_counter", "unbacked_symfloat_counter")


class AskedGuards(list[Any]):
    """The guards of a ShapeEnv. `kinds[i]` is how the kernel that led torch to the i-th one compares sizes with 0 and 1
    (`KERNELS` in symbolic_shapes/torch_env/env.py); None if no kernel of torch's did. `operators[i]` is the operator of
    the program that was being decomposed then."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[int | None] = []
        self.operators: list[OpOverload | None] = []

    def append(self, guard: Any) -> None:
        super().append(guard)
        self.kinds.append(_asking_kind(sys._getframe(1)))
        self.operators.append(_decomposed_operator(sys._getframe(1)))


def _decomposed_operator(frame: FrameType | None) -> OpOverload | None:
    found = None
    while frame is not None:
        asker = frame.f_locals.get("self") if frame.f_code.co_filename == _OPERATORS else None
        found = asker if isinstance(asker, OpOverload) else found
        frame = frame.f_back
    return found


def _asking_kind(frame: FrameType | None) -> int | None:
    while frame is not None and frame.f_code.co_filename in _SYMBOLIC_FILES:
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(_TORCH):
        return None  # a decomposition of the user's
    while frame is not None:
        # An operator is called by its `__call__`, or C++ hands it to a mode's `__torch_dispatch__` as `func`.
        asker = frame.f_locals.get("self" if frame.f_code.co_filename == _OPERATORS else "func")
        kind = kernel_kind(asker) if isinstance(asker, OpOverload) else None
        if kind is not None:
            return kind
        frame = frame.f_back
    return None


_SYMBOLIC = ("", ".fx.experimental.symbolic_shapes", ".fx.experimental.recording", ".fx.experimental.sym_node")
_SYMBOLIC_FILES = {sys.modules[f"torch{name}"].__file__ for name in _SYMBOLIC}
"""Where sizes are evaluated (`SymBool.__bool__` is in torch/__init__.py); the origin of the query is further out."""
_TORCH = str(Path(torch.__file__).parent)
_OPERATORS = sys.modules["torch._ops"].__file__


class FreshSizes:
    """Sizes of one torch environment as sizes of a new one."""

    def __init__(self, env: ShapeEnv) -> None:
        self.shape_env = ShapeEnv(assume_static_by_default=True)
        for name in _COPIED:
            setattr(self.shape_env, name, getattr(env, name).copy())
        for name in _COUNTERS:
            setattr(self.shape_env, name, getattr(env, name))
        self.shape_env.guards = AskedGuards()
        self._memo: dict[tuple[Any, type], Any] = {}

    def of(self, value: Any) -> Any:
        """The SymInt, SymFloat or SymBool in the new environment."""
        expr, pytype = value.node.expr, value.node.pytype
        found = self._memo.get((expr, pytype))
        if found is None:
            found = self._memo[expr, pytype] = self._make(expr, pytype)
        return found

    def _make(self, expr: Any, pytype: type) -> Any:
        if pytype is bool:
            return self.shape_env.create_symboolnode(expr)
        example = expr.xreplace(self.shape_env.backed_var_to_val)
        hint = pytype(example) if example.is_number else None
        if pytype is float:
            return self.shape_env.create_symfloatnode(expr, hint=hint)
        return self.shape_env.create_symintnode(expr, hint=hint)

    def binding(self, symbol: sympy.Symbol) -> sympy.Symbol:
        """Symbols keep their names."""
        return symbol


@contextmanager
def fresh_sizes(program: ExportedProgram) -> Iterator[ShapeEnv]:
    """Within, the metadata of `program` is in a new environment, which it gives."""
    env = shape_env_of(program)
    assert env is not None
    sizes = FreshSizes(env)
    values = Values(sizes)
    nodes: list[fx.Node] = []
    for graph in all_graphs(program.graph, dict(program.graph_module.named_children())):
        nodes += graph.nodes
    before = [dict(node.meta) for node in nodes]
    try:
        for node in nodes:
            values.rewrite(node.meta)
        yield sizes.shape_env
    finally:
        for node, meta in zip(nodes, before):
            node.meta.clear()
            node.meta.update(meta)


def shape_env_of(program: ExportedProgram) -> ShapeEnv | None:
    """torch's environment behind the sizes of a dynamic program; None for a static one."""
    if not program.range_constraints:
        return None
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, FakeTensor):
            return value.fake_mode.shape_env
        if isinstance(value, torch.SymInt):
            return value.node.shape_env
    return None
