"""What the program layer raises."""

from __future__ import annotations

from typing import Any

from dynamo_lite.errors import DynamoLiteError


class UnsupportedValue(DynamoLiteError, TypeError):
    """A value in the inputs or outputs is neither a tensor, a constant nor a container of these.

    `path` says where, in the words of the program: `cache.layers[0].keys`.
    """

    id = "unsupported-value"

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.what)


class InputMismatch(DynamoLiteError, RuntimeError):
    """An exported program was called with inputs that it was not exported for."""

    id = "input-mismatch"
