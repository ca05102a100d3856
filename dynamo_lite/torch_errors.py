"""Our errors as subclasses of torch's, for code that catches those.

`except torch._dynamo.exc.UserError` asks for a real base class. Importing torch._dynamo takes 0.6 s, which an export
that works must not pay; so the bases are added when the first error leaves the front (`catchable_as_torch`).
Checked with torch 2.13.0: torch/_dynamo/exc.py, torch/fx/experimental/symbolic_shapes.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from dynamo_lite import errors

_F = TypeVar("_F", bound=Callable[..., Any])

# Our class → the names of torch's, and the UserErrorType of those that are UserErrors.
COUNTERPARTS: dict[type[errors.DynamoLiteError], tuple[tuple[str, ...], str | None]] = {
    errors.GraphBreak: (("Unsupported",), None),
    errors.DataDependent: (("UserError", "GuardOnDataDependentSymNode"), "DYNAMIC_CONTROL_FLOW"),
    errors.ConstraintViolation: (("UserError", "ConstraintViolationError"), "CONSTRAINT_VIOLATION"),
    errors.InvalidArguments: (("UserError",), "INVALID_INPUT"),
    errors.UnsupportedValue: (("UserError",), "INVALID_OUTPUT"),
}


@functools.cache
def link() -> None:
    """Put torch's classes behind ours in the bases. Their constructors do not run (see DynamoLiteError.__init__)."""
    from torch.fx.experimental import symbolic_shapes

    from dynamo_lite.torch_internals._torch_dynamo import exc

    for ours, (names, kind) in COUNTERPARTS.items():
        theirs = tuple(getattr(exc, name, None) or getattr(symbolic_shapes, name) for name in names)
        ours.__bases__ = (*ours.__bases__, *theirs)
        if kind is not None:
            ours.error_type = exc.UserErrorType[kind]  # type: ignore[attr-defined]


def catchable_as_torch(fn: _F) -> _F:
    """Decorates a public function: what it raises is also an instance of torch's own classes."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except errors.DynamoLiteError:
            link()
            raise

    return wrapper  # type: ignore[return-value]
