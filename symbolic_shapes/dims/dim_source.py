"""Suggested fixes as Python: lines such as `b = Dim('b', max=9)` or `c = 4*_b + 2`, written and read back.

Reading needs no torch: it accepts the assignments that `write` makes and builds specs under the same conditions as
torch.export.Dim (a name is an identifier, min < max, derived dims never negative).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from dynamo_lite.symbolic_shapes.dims.specs import Auto, Constant, Derived, DimSpec, Dynamic, InvalidSpec, Named, Static
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.expressions.intervals import end_add, end_mul

HINTS: dict[str, type[Auto] | type[Dynamic]] = {"AUTO": Auto, "DYNAMIC": Dynamic}


def write(definitions: Mapping[str, DimSpec]) -> tuple[str, ...]:
    """Lines that assign each target its spec, and before them the roots that the targets follow: so the lines
    construct by themselves, whatever the user's variables are called."""
    followed = {target: spec.root if isinstance(spec, Derived) else spec for target, spec in definitions.items()
                if isinstance(spec, Derived) or (isinstance(spec, Named) and spec.name != target)}
    roots = {spec.name: spec for spec in followed.values()}
    lines = [f"{name} = {root.to_python()}" for name, root in roots.items() if name not in definitions]
    lines += [f"{target} = {spec.to_python()}" for target, spec in definitions.items() if target not in followed]
    for target in followed:
        spec = definitions[target]
        lines.append(f"{target} = {spec.name if isinstance(spec, Named) else spec.to_python()}")
    return tuple(lines)


def read(lines: Iterable[str]) -> dict[str, DimSpec]:
    """The definitions in lines written by `write`. InvalidSpec if a line has another form, or does not construct."""
    known: dict[str, DimSpec] = {}
    for line in lines:
        try:
            statement, = ast.parse(line).body
        except (SyntaxError, ValueError) as error:
            raise InvalidSpec(f"not one assignment: {line!r}") from error
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise InvalidSpec(f"not one assignment: {line!r}")
        known[ast.unparse(statement.targets[0])] = _value(statement.value, known)
    return known


def _value(node: ast.expr, known: Mapping[str, DimSpec]) -> Any:
    match node:
        case ast.Constant(value=int(value)):
            return Constant(value)
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Attribute(value=ast.Name(id="Dim"), attr="STATIC"):
            return Static()
        case ast.Attribute(value=ast.Name(id="Dim"), attr=hint) if hint in HINTS:
            return HINTS[hint]()
        case ast.Call(func=ast.Attribute(value=ast.Name(id="Dim"), attr=hint), args=[]) if hint in HINTS:
            return HINTS[hint](*_bounds(node, -INF))
        case ast.Call(func=ast.Name(id="Dim"), args=[ast.Constant(value=str(name))]):
            return Named(name, *_bounds(node, 0))
        case ast.BinOp(left=ast.Constant(value=int(a)), op=ast.Mult(), right=inner):
            return compose(a, _value(inner, known), 0)
        case ast.BinOp(left=inner, op=ast.Add(), right=ast.Constant(value=int(b))):
            return compose(1, _value(inner, known), b)
        case ast.BinOp(left=inner, op=ast.Sub(), right=ast.Constant(value=int(b))):
            return compose(1, _value(inner, known), -b)
    raise InvalidSpec(f"not a spec: {ast.unparse(node)}")


def _bounds(call: ast.expr, lowest: float) -> tuple[Any, Any]:
    assert isinstance(call, ast.Call)
    given = {k.arg: k.value.value if isinstance(k.value, ast.Constant) else None for k in call.keywords}
    if not given.keys() <= {"min", "max"} or not all(isinstance(v, int) for v in given.values()):
        raise InvalidSpec(f"not bounds: {ast.unparse(call)}")
    return given.get("min", lowest), given.get("max", INF)


def compose(a: int, spec: DimSpec, b: int) -> DimSpec:
    """a * spec + b as a spec; a dimension that is left to be found makes the result that too. InvalidSpec if a < 1."""
    if a < 1:
        raise InvalidSpec(f"a derived Dim is an increasing function of its root, not {a} times it")
    if a == 1 and b == 0:
        return spec
    if isinstance(spec, Constant):
        return Constant(a * spec.value + b)
    if isinstance(spec, Named):
        return Derived(spec, a, b)
    if isinstance(spec, Derived):
        return Derived(spec.root, a * spec.a, a * spec.b + b)
    if isinstance(spec, Static):
        return spec
    return type(spec)(end_add(end_mul(spec.lo, a), b), end_add(end_mul(spec.hi, a), b))
