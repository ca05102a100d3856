"""The front: `export` and `trace`, each one call of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.attempts import Options
from dynamo_lite.errors import checks_keywords
from dynamo_lite.exclusive import exclusive
from dynamo_lite.logging import reports as logs
from dynamo_lite.logging.structured import structured
from dynamo_lite.option_types import Constants, ControlFlow, DynamicShapes, Effects
from dynamo_lite.pipeline import capture, root_of
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.modules.recipe import Recipe, graphs_of
from dynamo_lite.torch_errors import catchable_as_torch
from dynamo_lite.traces import Trace, is_of_mode, trace_of
from dynamo_lite.tracing.vocabulary.process_state import TorchState


@exclusive
@catchable_as_torch
@checks_keywords
def export(
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: DynamicShapes = None,
    constraints: Any = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    effects: Effects = "refuse",
    control_flow: ControlFlow = "capture",
    constants: Constants = None,
) -> Program:
    """Trace one call of `mod` into a graph of ATen operators and return it as torch's own `ExportedProgram`.

    Args:
        mod: an nn.Module, a function, a bound method or any other callable.
        args, kwargs: an example call. Tensors may be real, on the meta device, or FakeTensors of the user's own mode.
        dynamic_shapes: which sizes may vary, in the language of torch.export (docs/dynamic_shapes.md); all others are
            constants of the program.
        constraints: the same in the form of torch 2.1 (`dynamic_dim`).
        strict: every Python frame of the program is interpreted. False: CPython runs it, and what strict would refuse
            is let pass where there is a program at all, and noted ("unsound here because ...").
        preserve_module_call_signature: paths of submodules whose own signatures `torch.export.unflatten` shall
            restore.
        prefer_deferred_runtime_asserts_over_guards: a condition on sizes that no range expresses (`n % 4 == 0`) does
            not contradict dynamic_shapes; each call of the program checks it.
        effects: "refuse" an effect that the program cannot carry, or "drop" it: losing it is fine (a counter that only
            statistics read). Dropped effects are in the notes and in `trace(...).effects`. "exact" also refuses results
            that differ from eager's in their identity: a container that is changed and returned, a side
            of a branch on data that returns an input. "refuse" notes these.
        control_flow: "capture" a branch or a loop on the data of a tensor: both sides are traced, and become one
            torch.cond or while_loop (docs/control_flow.md); or "refuse" it. strict=False captures none.
        constants: arguments whose value in the example is that of each call: `{"grid": None}`, nested as in
            `{"batch": {"grid": None}}`, or the names alone, `("grid",)`. Python code may read their data
            (`grid.tolist()`); a call with another value is rejected. docs/features/constants.md.

    Raises:
        GraphBreak: the program cannot be captured as it stands; the message shows the line and what to write instead.
        InvalidArguments: the call of `export` itself makes no sense; UnknownKeyword: there is no such option.
        ConstraintViolation: a size that is to vary cannot; the message gives the reason and what to write instead.
        Exception: what `mod` itself raises on these arguments, as in eager.

    The user's objects are as before when this returns or raises.
    """
    return trace(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        constraints=constraints,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
        effects=effects,
        control_flow=control_flow,
        constants=constants,
    ).program


@exclusive
@catchable_as_torch
@checks_keywords
def trace(
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: DynamicShapes = None,
    constraints: Any = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    effects: Effects = "refuse",
    control_flow: ControlFlow = "capture",
    constants: Constants = None,
) -> Trace:
    """Trace one call of `mod`, as `export` does, and keep its guards, effects and notes.

    Arguments and errors are those of `export`, whose result is `trace(...).program`.
    """
    options = Options(
        dynamic_shapes,
        constraints,
        strict,
        preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards,
        effects,
        control_flow,
        constants,
    )
    found: list[Trace] = []
    with structured(lambda: found), logs.reported(mod) as reported:
        captured = capture(mod, args, kwargs, options)
        with logs.phase("the guards"):
            found.append(trace_of(mod, captured))
        if constraints is None:
            found[0].program.recipe = _recipe(found[0], mod, args, kwargs or {}, options)
        reported += found
    return found[0]


def _recipe(
    made: Trace, mod: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
) -> Recipe:
    """How to export again, for a conversion of the program's module, or in another mode."""
    given = {name: value for name, value in vars(options).items() if name != "dynamic_shapes"}
    then = TorchState()

    def holds(*call: Any, any_mode: bool = False) -> bool:
        guards = made.guards.without(is_of_mode) if any_mode else made.guards
        with then.again():
            return guards.check(*call, weights="any") is None

    def again(*call: Any, dynamic_shapes: Any) -> Program:
        with then.again():
            return export(*call, dynamic_shapes=dynamic_shapes, **given)

    root = root_of(mod)
    modes = {part.training for part in root.modules()} if root is not None else set()
    mode = modes.pop() if len(modes) == 1 else None
    return Recipe(mod, args, kwargs, options.dynamic_shapes, graphs_of(made.program), holds, again, mode)
