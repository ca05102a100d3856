"""draft_export(): what `explain` finds, and a program as far as there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from dynamo_lite.api import trace
from dynamo_lite.errors import DynamoLiteError, InternalError, InvalidArguments, checks_keywords
from dynamo_lite.explanation.explain import Explanation, explain
from dynamo_lite.torch_errors import catchable_as_torch


@dataclass
class Draft:
    """The result of `draft_export`. True if the program is what `export` returns.

    Attributes:
        report: what stands between the module and its export (`dynamo_lite.explain`).
        program: the exported program. If `report` has problems, it is one for inspection: it agrees with eager on the
            example, and the notes of `program.trace` say where it may not elsewhere. None if there is no such program.
    """

    report: Explanation
    program: ExportedProgram | None

    def __bool__(self) -> bool:
        return self.program is not None and not self.report.problems

    def __str__(self) -> str:
        kind = "the exported program" if self else "a program for the example only"
        return f"{self.report}\n\nThe draft has {kind if self.program is not None else 'no program'}."


@catchable_as_torch
@checks_keywords
def draft_export(
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    control_flow: str = "capture",
) -> Draft:
    """Export `mod` as far as that is possible, and say what is missing.

    The arguments are those of `export`. A program that `export` refuses is traced with `strict=False` and
    `effects="drop"`, and with its sizes constant where `dynamic_shapes` is what cannot be kept.

    Raises InvalidArguments if the call itself makes no sense, and what `mod` raises on these arguments.
    """
    report = Explanation(complete=True)
    always: dict[str, Any] = {
        "preserve_module_call_signature": preserve_module_call_signature,
        "prefer_deferred_runtime_asserts_over_guards": prefer_deferred_runtime_asserts_over_guards,
    }
    attempts: list[dict[str, Any]] = [
        {"dynamic_shapes": dynamic_shapes, "strict": strict, "control_flow": control_flow},
        {"dynamic_shapes": dynamic_shapes, "strict": False, "effects": "drop"},
        {"strict": False, "effects": "drop"},
    ]
    for options in attempts:
        try:
            return Draft(report, trace(mod, args, kwargs, **always, **options).program)
        except (InvalidArguments, InternalError):
            raise
        except DynamoLiteError:
            if not report.problems:
                report = explain(mod, args, kwargs, dynamic_shapes=dynamic_shapes, control_flow=control_flow)
    return Draft(report, None)
