"""`observe`: dynamic_shapes from real calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from torch import nn
from torch.export import Dim
from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

from dynamo_lite.api import export
from dynamo_lite.errors import ConstraintViolation, DynamoLiteError, InvalidArguments, checks_keywords
from dynamo_lite.observation.form import Form, kind_of
from dynamo_lite.observation.relations import Sizes
from dynamo_lite.option_types import ExportOptions
from dynamo_lite.program import flatten_inputs
from dynamo_lite.program.exported_program import Program
from dynamo_lite.torch_errors import catchable_as_torch


class Observation:
    """The result of `observe`. Within the block calls of the module are recorded, and calls of this object at any time.

    Attributes:
        forms: the calls by their form, those of one form in one `Form`; in the order in which they came.
        skipped: calls that no program can take, as texts.
    """

    def __init__(self, model: Callable[..., Any]) -> None:
        self.model = model
        self.skipped: list[str] = []
        self._forms: dict[Any, Form] = {}
        self._hooks: list[Any] = []
        self._signature = inspect.signature(model.forward if isinstance(model, nn.Module) else model)

    @property
    def forms(self) -> list[Form]:
        return [*self._forms.values()]

    @property
    def form(self) -> Form:
        """The form that most calls had. Raises InvalidArguments if there were none."""
        if not self._forms:
            raise InvalidArguments("no call was observed" + "".join(f"\n  {text}" for text in self.skipped))
        return max(self.forms, key=lambda form: len(form.calls))

    @property
    def args(self) -> tuple[Any, ...]:
        """The example call of `form`, for `export`."""
        return self.form.args

    @property
    def kwargs(self) -> dict[str, Any]:
        return self.form.kwargs

    @property
    def dynamic_shapes(self) -> dict[str, Any] | None:
        """The argument of `export` for calls of `form`: ranges and relations that all of them keep."""
        return self.form.dynamic_shapes

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """One call, which is not made."""
        try:
            inputs = flatten_inputs(self._signature, args, dict(kwargs or {}))
        except DynamoLiteError as error:
            self.skipped.append(str(error))
            return
        kind = kind_of(inputs)
        form = self._forms.get(kind)
        if form is None:
            form = self._forms[kind] = Form(inputs)
        form.add(inputs)

    def export(self, form: Form | None = None, **options: Unpack[ExportOptions]) -> Program:
        """The program for a form (the most frequent one), for all the sizes that it was seen with.

        The options are those of `dynamo_lite.export`. Where the program ties sizes that no call has shown to be tied,
        or wants them in another range, and all the calls keep that, its fixes are taken.

        Raises what `export` raises; ConstraintViolation if the program does not admit the sizes of each call.
        """
        form = form if form is not None else self.form
        shapes: Any = form.dynamic_shapes
        for _ in range(_ROUNDS):
            try:
                return export(self.model, form.args, form.kwargs, dynamic_shapes=shapes, **options)
            except ConstraintViolation as error:
                if not error.fixes:
                    raise
                shapes = refine_dynamic_shapes_from_suggested_fixes(error.msg, shapes)
                if not _admits(shapes, form):
                    raise
        return export(self.model, form.args, form.kwargs, dynamic_shapes=shapes, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._hooks:
            self.record(args, kwargs)
        return self.model(*args, **kwargs)

    def __enter__(self) -> Observation:
        if isinstance(self.model, nn.Module):
            hook = lambda module, args, kwargs: self.record(args, kwargs)  # noqa: E731
            self._hooks.append(self.model.register_forward_pre_hook(hook, with_kwargs=True))
        return self

    def __exit__(self, *error: object) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.forms), *(f"skipped: {text}" for text in self.skipped)])


_ROUNDS = 4


@catchable_as_torch
@checks_keywords
def observe(model: Callable[..., Any], calls: Iterable[Any] = ()) -> Observation:
    """Propose dynamic_shapes for `model` from the sizes of real calls.

        with dynamo_lite.observe(model) as seen:
            run(model, dataset)
        program = seen.export()     # or export(model, seen.args, seen.kwargs, dynamic_shapes=seen.dynamic_shapes)

    Args:
        model: a module, whose calls are recorded within the block, or any callable, to be called as `seen(...)`.
        calls: calls to record without making them: each a tuple of arguments, a dict of keyword arguments, or a pair
            (tuple, dict) of both.
    """
    if not callable(model):
        raise InvalidArguments(f"model must be callable (a module, a function, ...), not {type(model).__qualname__}")
    seen = Observation(model)
    for call in calls:
        seen.record(*_call(call))
    return seen


def _call(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(given, dict):
        return (), given
    if not isinstance(given, tuple):
        raise InvalidArguments(f"a call is a tuple of arguments or a dict, not {type(given).__qualname__}")
    is_pair = len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict)
    return given if is_pair else (given, {})


def _admits(shapes: Any, form: Form) -> bool:
    """Whether a refined specification admits the sizes of every call."""
    refined = {str(name): dim for name, dim in _dims(shapes)}
    changed = [number for number, dim in form.dims.items() if _name(dim) not in refined]
    roots = {form.name(number): form.rows[number] for number, line in enumerate(form.lines) if line is not None}
    kept = all(_within(dim, roots[name]) for name, dim in refined.items() if name in roots)
    # A dimension that has become a constant or follows another one has been removed under its name.
    return kept and all(_follows(refined.values(), form.rows[number], roots) for number in changed)


def _dims(shapes: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(shapes, dict):
        shapes = list(shapes.values())
    if isinstance(shapes, (list, tuple)):
        for part in shapes:
            yield from _dims(part)
    elif isinstance(shapes, Dim):
        yield _name(shapes), shapes


def _name(dim: Any) -> str:
    return str(getattr(dim, "__name__", dim))


def _within(dim: Any, sizes: Sizes) -> bool:
    lo, hi = getattr(dim, "min", 0), getattr(dim, "max", None)
    return (lo is None or min(sizes) >= lo) and (hi is None or (hi is not None and max(sizes) <= hi))


def _follows(dims: Iterable[Any], sizes: Sizes, roots: dict[str, Sizes]) -> bool:
    """Whether one of the derived Dims gives these sizes in every call."""
    for dim in dims:
        root = getattr(dim, "root", None)
        known = roots.get(_name(root)) if root is not None else roots.get(_name(dim))
        function = getattr(dim, "fn", None) if root is not None else lambda size: size
        if known is not None and function is not None and all(function(s) == size for s, size in zip(known, sizes)):
            return True
    return False
