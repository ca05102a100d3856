"""Constraint violations as an error whose suggested fixes can be pasted.

symbolic_shapes/dims/suggestions.py finds new specs and checks that they solve. Here they become Python in the form of
the user's specification: `b = Dim('b', max=9)` for a name, `dynamic_shapes['x'][0] = Dim.AUTO` for a place. If a place
cannot be assigned (in a tuple; no dict or list was given), the whole of `dynamic_shapes` is written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from dynamo_lite.errors import ConstraintViolation
from dynamo_lite.program.shapes.input_dims import InputDimRef
from dynamo_lite.program.shapes.spec_tree import arguments, parameter_order
from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.symbolic_shapes.dims.costs import costs
from dynamo_lite.symbolic_shapes.dims.dim_source import compose, write
from dynamo_lite.symbolic_shapes.dims.specs import Derived, DimSpec, Named, Static
from dynamo_lite.symbolic_shapes.dims.suggestions import respecified
from dynamo_lite.symbolic_shapes.dims.violations import Solution
from dynamo_lite.torch_internals._torch_pytree import pytree


def violation(solution: Solution, inputs: FlatInputs, spots: Sequence[InputDimRef]) -> ConstraintViolation:
    """The error for a solution with violations."""
    lines = ["The program does not admit all the sizes that dynamic_shapes promises:"]
    lines += [f"  - {found}" for found in solution.violations]
    fix = solution.suggestion
    if fix is None:
        lines.append("No change of the specs was found that the program admits.")
        return ConstraintViolation("\n".join(lines), violations=solution.violations)
    given_up = costs(solution.table, fix.definitions)
    if given_up:
        lines += ["With the suggested fixes:", *(f"  - {cost}" for cost in given_up)]
    fixes = _Fix(solution, fix.definitions, inputs, spots).lines()
    return ConstraintViolation("\n".join(lines), fixes, solution.violations)


class _Fix:
    """One suggestion as Python. `definitions`: name of a Dim, or place of a dimension -> its new spec."""

    def __init__(self, solution: Solution, definitions: Mapping[str, DimSpec], inputs: FlatInputs,
                 spots: Sequence[InputDimRef]) -> None:
        self.solution, self.definitions, self.inputs, self.spots = solution, dict(definitions), inputs, spots
        self.specs = self._new_specs()

    def _new_specs(self) -> list[DimSpec]:
        """The spec of each declared dimension under the definitions, as `suggestions.resolve` reads them."""
        table = self.solution.table
        return [self.definitions.get(dim.target) or respecified(spec, self.definitions)
                for dim, spec in zip(table.dims, table.specs)]

    def lines(self) -> list[str]:
        """Definitions that construct, in order."""
        table = self.solution.table
        targets = {dim.target: spot.place for dim, spot in zip(table.dims, self.spots)}
        assignable = all(targets[t].assignable for t in self.definitions if t in targets)
        ours = any(spot.place.derived_from == "constraints" for spot in self.spots)
        if assignable and not ours and not self._breaks_an_expression():
            return list(write(self.definitions))
        return self._whole()

    def _breaks_an_expression(self) -> bool:
        """Whether a name is to become something that `2*name`, as the user wrote it, cannot be made of."""
        followed = {spec.root.name for spec in self.solution.table.specs if isinstance(spec, Derived)}
        return any(name in followed and not isinstance(_doubled(spec), Derived | int)
                   for name, spec in self.definitions.items())

    # -- all of it -------------------------------------------------------------------------------------------------
    def _whole(self) -> list[str]:
        """Each Dim, and then the whole specification in the structure of the inputs."""
        roots = {root.name: root for spec in self.specs if (root := _root(spec)) is not None}
        lines = [f"{name} = {root.to_python()}" for name, root in sorted(roots.items())]
        return [*lines, f"dynamic_shapes = {self._call_text()}"]

    def _call_text(self) -> str:
        signature, args, kwargs = self.inputs.signature, self.inputs.args, self.inputs.kwargs
        slots = arguments(signature, args, kwargs)
        positional, keywords = self.inputs.spec.children()
        self._leaf = 0
        texts = [self._text(tree) for tree in (*positional.children(), *keywords.children())]
        parts: list[str] = []
        for name in parameter_order(signature, slots):
            own = [(slot, text) for slot, text in zip(slots, texts) if slot.parameter == name]
            first = own[0][0]
            if first.key is None:
                text = own[0][1]
            elif first.kind is first.kind.VAR_POSITIONAL:
                text = f"[{', '.join(t for _, t in own)}]"
            else:
                text = f"{{{', '.join(f'{s.key!r}: {t}' for s, t in own)}}}"
            parts.append(f"{name!r}: {text}")
        return f"{{{', '.join(parts)}}}"

    def _text(self, tree: pytree.TreeSpec) -> str:
        if tree.is_leaf():
            text = self._leaf_text(self._leaf)
            self._leaf += 1
            return text
        parts = [self._text(child) for child in tree.children()]
        if all(part == "None" for part in parts):
            return "None"
        if tree.type is dict:
            return f"{{{', '.join(f'{k!r}: {p}' for k, p in zip(tree.context, parts))}}}"
        return f"[{', '.join(parts)}]"

    def _leaf_text(self, leaf: int) -> str:
        said = {spot.dim: spec for spot, spec in zip(self.spots, self.specs)
                if spot.leaf == leaf and not isinstance(spec, Static)}
        if not said:
            return "None"
        if not isinstance(self.inputs.leaves[leaf], torch.Tensor):
            return _spec_text(said[None])
        return f"{{{', '.join(f'{dim}: {_spec_text(spec)}' for dim, spec in said.items())}}}"


def _spec_text(spec: DimSpec) -> str:
    return spec.name if isinstance(spec, Named) else spec.to_python()


def _root(spec: DimSpec) -> Named | None:
    if isinstance(spec, Derived):
        return spec.root
    return spec if isinstance(spec, Named) else None


def _doubled(spec: DimSpec) -> Any:
    """The value of `2*d + 1` for a spec: a number or a derived dimension; else None."""
    made = compose(2, spec, 1)
    return getattr(made, "value", made)
