"""run_decompositions of a dynamic program: torch traces the program again, and what it decides on the way must hold.

torch's ShapeEnv asks the example where a decomposition or a meta kernel depends on a size, and keeps the answer as a
guard that nobody checks afterwards. Two remedies: the trace answers `guard_or_false` and its kin as for unbacked
sizes, so that decompositions take their general path (nearly no guard is left); what is left becomes a guard of the
new program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from dynamo_lite.program._torch import FakeTensor, PythonPrinter, ShapeEnv, config_patch
from dynamo_lite.program.size_check import input_paths

_STATE = ("guards", "replacements", "var_to_range", "var_to_range_sloc", "deferred_runtime_asserts",
          "unbacked_renamings", "pending_fresh_unbacked_symbols")  # fmt: skip
"""What a trace changes in a ShapeEnv, and a failed one must not leave changed."""

_CHOICES = {("fake_impls.py", "conv")}
"""Functions of torch (file, name) that ask about sizes to choose a memory format, and whose results are right with any:
as CHOICE in symbolic_shapes/torch_env.py."""


def decompose(program: ExportedProgram, run: Callable[[], ExportedProgram]) -> tuple[ExportedProgram, list[str]]:
    """`run()`, which decomposes `program`, and the conditions on the inputs that it has taken for granted.

    Raises RuntimeError for a condition that cannot be asked of the inputs.
    """
    env = shape_env_of(program)
    if env is None:
        return run(), []
    known = len(env.guards)
    before = {name: _copied(getattr(env, name)) for name in _STATE}
    try:
        with config_patch(backed_size_oblivious=True):
            decomposed = run()
    except Exception:  # some kernels have no general path: torch's own way, with guards
        for name, value in before.items():
            setattr(env, name, value)
        env._update_version_counter()
        decomposed = run()
    sources = _sources(program)
    guards = [guard for guard in env.guards[known:] if not _is_choice(guard)]
    return decomposed, [_code(guard.expr, sources) for guard in guards]


def _is_choice(guard: Any) -> bool:
    asked_at = guard.sloc.framework_loc
    return (Path(getattr(asked_at, "filename", "")).name, getattr(asked_at, "name", "")) in _CHOICES


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


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return list(value) if isinstance(value, list) else value


def _sources(program: ExportedProgram) -> dict[sympy.Symbol, str]:
    """How to ask the inputs for each symbol: `L['x'].size()[0]`, or `(L['x'].size()[0] - 1)//2` if that is 2*s + 1."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    values = [n.meta["val"] for n, spec in zip(placeholders, specs) if spec.kind is InputKind.USER_INPUT]
    signature = program.module_call_graph[0].signature
    assert signature is not None
    sources: dict[sympy.Symbol, str] = {}
    derived: list[tuple[Any, str]] = []
    for value, path in zip(values, input_paths(signature.in_spec, signature.forward_arg_names or [], values)):
        name = "L" + pytree.keystr(path)
        sizes: list[tuple[Any, str]] = [(value, name)]
        if isinstance(value, torch.Tensor):
            sizes = [(size, f"{name}.size()[{i}]") for i, size in enumerate(value.shape)]
        for size, text in sizes:
            if isinstance(size, torch.SymInt):
                expr = size.node.expr
                if isinstance(expr, sympy.Symbol):
                    sources.setdefault(expr, text)
                else:
                    derived.append((expr, text))
    for expr, text in derived:
        _solve(expr, text, sources)
    return sources


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
        raise RuntimeError(f"The decomposed program would hold only if {expr}, and no input tells what {names} is.")
    # torch prints guards the same way: a symbol prints as its name.
    return PythonPrinter().doprint(expr.xreplace({s: sympy.Symbol(text) for s, text in sources.items()}))
