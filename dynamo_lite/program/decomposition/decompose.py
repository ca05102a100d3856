"""run_decompositions of a dynamic program: torch traces the program again, and its decisions on the way must hold.

torch's ShapeEnv uses the example where a decomposition or a meta kernel depends on a size, and keeps the outcome as a
guard that is not checked afterwards. Three remedies:
- the trace evaluates `guard_or_false` and its kin as for unbacked sizes: decompositions take their general path;
- a kernel of torch's that only checks the layout of memory is right with either outcome (the same law, and the same
  table, as in symbolic_shapes/torch_env/env.py);
- every other condition becomes a guard of the new program.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram

from dynamo_lite.capture.fakes.cond_outputs import known_layouts
from dynamo_lite.program._torch import PythonPrinter, ShapeEnv, config_patch
from dynamo_lite.program.decomposition._torch_tables import filled_once
from dynamo_lite.program.fresh_shape_env import AskedGuards, fresh_sizes, shape_env_of
from dynamo_lite.program.shapes.torch_symbols import Values, all_graphs
from dynamo_lite.program.trees.user_inputs import user_values
from dynamo_lite.symbolic_shapes import environment as core
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import NotConvertible
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import CHOICE, LAYOUT_ONLY
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH
from dynamo_lite.torch_internals._torch_pytree import pytree

Run = Callable[[], ExportedProgram]
_SIZES = frozenset({"size", "stride", "storage_offset"})
_FUNCTIONS = frozenset({"torch", "math", "operator"})
_SIZE_OF = re.compile(r"L\['(\w+)'\]((?:\[[^]]*\])*)\.size\(\)\[(\d+)\]")


def decompose(program: ExportedProgram, run: Run) -> tuple[ExportedProgram, list[str]]:
    """`run()`, which decomposes `program`, and the conditions on the inputs that it assumes.

    Raises RuntimeError for a condition that cannot be checked on the inputs.
    """
    with filled_once():
        return _decomposed(program, run)


def _decomposed(program: ExportedProgram, run: Run) -> tuple[ExportedProgram, list[str]]:
    if shape_env_of(program) is None:
        return run(), []
    try:
        with known_layouts(), fresh_sizes(program) as env, config_patch(backed_size_oblivious=True):
            decomposed = run()
    except Exception:  # some kernels have no general path: torch's own way
        with known_layouts(), fresh_sizes(program) as env:
            decomposed = run()
    sources, constants = _sources(program), _constants(program, env)
    fixed = _fixed_sizes(program, env)
    if fixed:
        _warn_of(fixed, env, sources)
        _write_fixed_sizes(decomposed, env)
    conditions = (guard.xreplace(constants) for guard in _conditions(env))
    return decomposed, list(dict.fromkeys(_code(guard, sources) for guard in conditions if guard != sympy.true))


def asks_for_sizes(guard: str) -> bool:
    """Whether a guard of the inputs is about sizes and numbers alone. torch traces the program on fake tensors, for
    which checks of class, autograd state or identity may have another result."""
    try:
        todo: list[ast.AST] = [ast.parse(guard, mode="eval").body]
    except SyntaxError:  # a name that only our own check can evaluate
        return False
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SIZES:
            continue
        if isinstance(node, (ast.Is, ast.IsNot)):
            return False
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in _FUNCTIONS):
            return False
        todo += ast.iter_child_nodes(node)
    return True


def _fixed_sizes(program: ExportedProgram, env: ShapeEnv) -> dict[sympy.Symbol, int]:
    """The sizes that may vary in the program, and not in the decomposed one."""
    known = {symbol: env.replacements.get(symbol) for symbol in program.range_constraints}
    return {symbol: int(size) for symbol, size in known.items() if size is not None and size.is_Integer}


def _warn_of(fixed: Mapping[sympy.Symbol, int], env: ShapeEnv, sources: Mapping[sympy.Symbol, str]) -> None:
    assert isinstance(env.guards, AskedGuards)
    for symbol, size in fixed.items():
        asked = zip(env.guards, env.guards.operators, strict=True)
        because = next((op for guard, op in asked if op is not None and symbol in guard.expr.free_symbols), None)
        who = "a decomposition" if because is None else f"the decomposition of {because}"
        text = _SIZE_OF.sub(r"\1\2.shape[\3]", sources.get(symbol, str(symbol)))
        warnings.warn(
            f"run_decompositions: {text} may vary in the program, and is {size} in the decomposed one, which takes no "
            f"other size: {who} asks for its value. The same computed by operators that do not ask keeps it open.",
            stacklevel=5,
        )


class _Known:
    """Sizes as numbers where torch's environment knows them."""

    def __init__(self, env: ShapeEnv) -> None:
        self.shape_env = env

    def of(self, value: Any) -> Any:
        expr = value.node.expr
        return int(expr) if expr.is_Integer else value

    def binding(self, symbol: sympy.Symbol) -> sympy.Symbol:
        return symbol


def _write_fixed_sizes(program: ExportedProgram, env: ShapeEnv) -> None:
    """Writes known sizes of tensors as numbers: a consumer that takes a SymInt for a size that varies (torch.onnx,
    ExecuTorch) would make a program that takes other sizes, and is wrong there."""
    values = Values(_Known(env))
    for graph in all_graphs(program.graph, dict(program.graph_module.named_children())):
        for node in graph.nodes:
            if not isinstance(node.meta.get("val"), SYMBOLIC_TYPES):
                values.rewrite(node.meta)


def _conditions(env: ShapeEnv) -> Iterator[Any]:
    """The guards of a trace, as sympy, that its program depends on."""
    guards = env.guards
    assert isinstance(guards, AskedGuards)
    large = _LargeSizes()
    for guard, kind in zip(guards, guards.kinds, strict=True):
        if kind != CHOICE and not (kind == LAYOUT_ONLY and large.hold(guard.expr)):
            yield guard.expr


class _LargeSizes:
    """Decides conditions for all sizes from 2 on."""

    def __init__(self) -> None:
        self._env = core.ShapeEnv()
        self._symbols: dict[Any, Any] = {}
        self._from_sympy = FromSympy(self._symbol, TORCH)

    def hold(self, relation: Any) -> bool:
        """Whether it is proved that the relation holds for all of them."""
        try:
            return self._env.decide(self._from_sympy(relation)).verdict is True
        except (NotConvertible, ArithmeticError):
            return False

    def _symbol(self, symbol: sympy.Symbol) -> Any:
        if symbol not in self._symbols:
            self._symbols[symbol] = self._env.unbacked(name=symbol.name, lo=2)
        return self._symbols[symbol]


# -- guards as conditions on the inputs -------------------------------------------------------------------------------


def _sources(program: ExportedProgram) -> dict[sympy.Symbol, str]:
    """The expression of each symbol in the inputs: `L['x'].size()[0]`, or `(L['x'].size()[0] - 1)//2` for 2*s + 1."""
    sources: dict[sympy.Symbol, str] = {}
    derived: list[tuple[Any, str]] = []
    sizes: list[tuple[Any, str]] = []
    layouts: list[tuple[Any, str]] = []
    for value, path in zip(user_values(program), program.input_paths):  # type: ignore[attr-defined]
        name = "L" + pytree.keystr(path)
        if not isinstance(value, torch.Tensor):
            sizes.append((value, name))
            continue
        sizes += [(size, f"{name}.size()[{i}]") for i, size in enumerate(value.shape)]
        if value.layout is torch.strided:
            layouts += [(stride, f"{name}.stride()[{i}]") for i, stride in enumerate(value.stride())]
            layouts.append((value.storage_offset(), f"{name}.storage_offset()"))
    for size, text in [*sizes, *layouts]:
        if isinstance(size, torch.SymInt):
            expr = size.node.expr
            if isinstance(expr, sympy.Symbol):
                sources.setdefault(expr, text)
            else:
                derived.append((expr, text))
    for expr, text in derived:
        _solve(expr, text, sources)
    return sources


def _constants(program: ExportedProgram, env: ShapeEnv) -> dict[sympy.Symbol, sympy.Integer]:
    """The symbols that torch made of inputs that are constant ints, although the program checks their values."""
    known = shape_env_of(program)
    assert known is not None
    values = {n.meta["val"] for n in program.graph.nodes if n.op == "placeholder" and type(n.meta["val"]) is int}
    made = {s: value for s, value in env.backed_var_to_val.items() if s not in known.backed_var_to_val}
    return {symbol: sympy.Integer(value) for symbol, value in made.items() if value in values}


def _solve(expr: Any, text: str, sources: dict[sympy.Symbol, str]) -> None:
    if len(expr.free_symbols) != 1:
        return
    (symbol,) = expr.free_symbols
    slope, rest = expr.coeff(symbol, 1), expr.coeff(symbol, 0)
    if symbol not in sources and expr == slope * symbol + rest and slope.is_Integer and rest.is_Integer:
        sources[symbol] = f"(({text} - {rest}) // {slope})"


def _code(expr: Any, sources: Mapping[sympy.Symbol, str]) -> str:
    missing = [str(symbol) for symbol in expr.free_symbols if symbol not in sources]
    if missing:
        names = ", ".join(sorted(missing))
        raise RuntimeError(f"The decomposed program would hold only if {expr}, and no input determines {names}.")
    # torch prints guards the same way: a symbol prints as its name.
    return PythonPrinter().doprint(expr.xreplace({s: sympy.Symbol(text) for s, text in sources.items()}))
