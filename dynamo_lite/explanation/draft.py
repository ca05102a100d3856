"""draft_export(): the problems that `explain` finds, and a program as far as there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from dynamo_lite.api import trace
from dynamo_lite.errors import DynamoLiteError, InternalError, InvalidArguments, checks_keywords
from dynamo_lite.exclusive import exclusive
from dynamo_lite.explanation.as_it_ran import Taken, as_it_ran
from dynamo_lite.explanation.explain import Explanation, explain
from dynamo_lite.explanation.fake_kernels import mismatches
from dynamo_lite.option_types import Constants, ControlFlow, DynamicShapes
from dynamo_lite.program.exported_program import Program
from dynamo_lite.torch_errors import catchable_as_torch


@dataclass
class Draft:
    """The result of `draft_export`. True if the program is the one that `export` returns.

    Attributes:
        report: the problems of exporting the module (`dynamo_lite.explain`).
        program: the exported program. If `report` has problems, it is one for inspection: it agrees with eager on the
            example, and the notes of `program.trace` state where it may not elsewhere. None if there is none.
        mismatched_fake_kernels: custom operators of the program whose real kernel gives another dtype, device or size
            on the example than the fake one, a line each (`export` runs the fake kernels only).
        taken: where `program` goes on with an answer that the data of the example gave, each with the line and the
            variables there. Empty if the program is traced; else it is what eager ran, recorded operator by operator.
    """

    report: Explanation
    program: Program | None
    mismatched_fake_kernels: list[str] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.program is not None and not self.report.problems and not self.mismatched_fake_kernels

    def __str__(self) -> str:
        exported = self.program is not None and not self.report.problems
        kind = "the exported program" if exported else "a program for the example only"
        ends = [f"The draft has {kind if self.program is not None else 'no program'}."]
        if self.mismatched_fake_kernels:
            ends += ["Fake kernels that are wrong:", *(f"  {line}" for line in self.mismatched_fake_kernels)]
        if self.taken:
            ends += ["Answers of the example that the program goes on with:", *(f"  {one}" for one in self.taken)]
        return f"{self.report}\n\n" + "\n".join(ends)


@exclusive
@catchable_as_torch
@checks_keywords
def draft_export(
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: DynamicShapes = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    control_flow: ControlFlow = "capture",
    constants: Constants = None,
) -> Draft:
    """Export `mod` as far as that is possible, and report the problems.

    The arguments are those of `export`. A program that `export` refuses is traced with `strict=False` and
    `effects="drop"`, and with constant sizes if `dynamic_shapes` cannot be kept. If that is refused as well, eager is
    run once, on copies of the module and the arguments, and the program is what ran (`Draft.taken`). There is none
    where no copy can be made, where a program cannot have such results, or where it would give others.

    Raises InvalidArguments if the call itself makes no sense, and the exceptions of `mod` on these arguments.
    """
    report = Explanation(complete=True)
    always: dict[str, Any] = {
        "preserve_module_call_signature": preserve_module_call_signature,
        "prefer_deferred_runtime_asserts_over_guards": prefer_deferred_runtime_asserts_over_guards,
        "constants": constants,
    }
    attempts: list[dict[str, Any]] = [
        {"dynamic_shapes": dynamic_shapes, "strict": strict, "control_flow": control_flow},
        {"dynamic_shapes": dynamic_shapes, "strict": False, "effects": "drop"},
        {"strict": False, "effects": "drop"},
    ]
    for options in attempts:
        try:
            program = trace(mod, args, kwargs, **always, **options).program
            return Draft(report, program, mismatches(program, args, kwargs))
        except (InvalidArguments, InternalError):
            raise
        except DynamoLiteError:
            if not report.problems:
                shapes, flow = dynamic_shapes, control_flow
                report = explain(mod, args, kwargs, dynamic_shapes=shapes, control_flow=flow, constants=constants)
    return _as_it_ran(report, mod, args, kwargs)


def _as_it_ran(report: Explanation, mod: Any, args: Any, kwargs: Any) -> Draft:
    """Return a draft with the program of the call as it ran, if there is one."""
    problem: Exception | None = None
    try:
        ran = as_it_ran(mod, args, kwargs)
        for mode in (nullcontext(), torch.no_grad()):  # a step of training changes parameters in place
            try:
                with mode:
                    program = trace(ran.module, args, kwargs, effects="drop").program
                    ran.check(program, args, kwargs)
                return Draft(report, program, mismatches(program, args, kwargs), ran.taken)
            except Exception as error:
                problem = problem or error
        if report.program is not None:  # an operator without a fake kernel was run on data there
            ran.check(report.program, args, kwargs)
            return Draft(report, report.program, taken=ran.taken)
    except Exception as error:  # of a call that has returned before: it cannot be recorded
        problem = error
    why = getattr(problem, "headline", None) or f"{type(problem).__name__}: {problem}".splitlines()[0]
    report.notes[f"there is no program: {why}"] = None
    return Draft(report, None)
