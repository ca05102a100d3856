"""The types of the options of the public functions, so that type checkers find a typo and editors complete.

    from dynamo_lite import DynamicShapes

    SHAPES: DynamicShapes = {"x": {0: Dim("batch")}}

A string option is a `Literal`; what a call accepts at run time is read from it (`choices`). Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypedDict, Union, get_args

if TYPE_CHECKING:
    from torch.export import AdditionalInputs, Dim, ShapesCollection

Effects: TypeAlias = Literal["refuse", "exact", "drop"]
"""`effects` of `export`."""

ControlFlow: TypeAlias = Literal["capture", "refuse"]
"""`control_flow` of `export`."""

Constants: TypeAlias = Mapping[str, Any] | Sequence[str] | AbstractSet[str] | None
"""`constants` of `export`: the arguments that have the example's value in each call (docs/features/constants.md)."""

Fallback: TypeAlias = Literal["torch", None]
"""`fallback` of `as_torch_export`."""

Weights: TypeAlias = Literal["same", "any"]
"""`weights` of `GuardSet.check`."""

Unfolded: TypeAlias = Literal[
    "sizes",
    "arguments",
    "values",
    "library_values",
    "weights",
    "form",
    "torch",
    "switches",
    "forward",
    "backward",
    "update",
]
"""The groups of rows that `unfold` of `Trace.explain` shows."""


class DimHint(Protocol):
    """`Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`, also with a range: `Dim.AUTO(min=2)`."""

    min: int | None
    max: int | None


class DataclassObject(Protocol):
    """An instance of a dataclass, with the specification of each field of the argument in the field's place."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class TorchSpec(Protocol):
    """`ParamsSpec` or `ShapesSpec` of torch 2.14."""

    def to_jsonable(self) -> dict[str, Any]: ...


SizeSpec: TypeAlias = Union["Dim", DimHint, int, None]
"""The specification of one dimension, or of an int: docs/dynamic_shapes.md. None: the example's size."""

ShapeSpec: TypeAlias = SizeSpec | Mapping[Any, "ShapeSpec"] | tuple["ShapeSpec", ...] | list[Any] | DataclassObject
"""The specification of one argument: a size, the dimensions of a tensor, or the parts of a container.

An instance of a class that is not a dataclass is accepted at run time too; write `typing.cast(Any, ...)` around it.
"""

DynamicShapes: TypeAlias = Union[
    Mapping[str, ShapeSpec], tuple[ShapeSpec, ...], list[Any], "ShapesCollection", "AdditionalInputs", TorchSpec, None
]
"""`dynamic_shapes` of `export`: by argument name or by position."""


class ExportOptions(TypedDict, total=False):
    """The options of `export` besides the example call and `dynamic_shapes`: `options` of `Method`, ..."""

    strict: bool
    preserve_module_call_signature: Sequence[str]
    prefer_deferred_runtime_asserts_over_guards: bool
    effects: Effects
    control_flow: ControlFlow
    constants: Constants


def choices(option: Any) -> tuple[Any, ...]:
    """The values that an option of this module accepts, in the order of its definition."""
    return get_args(option)
