"""dynamo-lite under code that calls `torch.export.export`: libraries, scripts, a whole process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dynamo_lite.errors import DynamoLiteError, InvalidArguments
from dynamo_lite.option_types import Effects, Fallback, choices
from dynamo_lite.torch_internals._torch_export import current_exporter, put_exporter


@contextmanager
def as_torch_export(*, strict: bool = True, effects: Effects = "refuse", fallback: Fallback = None) -> Iterator[None]:
    """Within the block, `torch.export.export` is `dynamo_lite.export`, wherever it was imported before.

    Libraries that export for you then use dynamo-lite: `torch.onnx.export`, `torch.distributed.pipelining`, the
    exporters of transformers. Blocks may be nested; the innermost decides. It holds for all threads of the process.

    Args:
        strict: as in `dynamo_lite.export`. The `strict` that a library passes is not used: torch defaults to non-strict
            mode because its strict mode supports less Python; that does not apply here.
        effects: as in `dynamo_lite.export`.
        fallback: "torch" hands a call that dynamo-lite refuses to torch's own exporter, with a warning that gives the
            reason. None raises the error.

    Raises InvalidArguments for an unknown `effects` or `fallback`.

    With DYNAMO_LITE_AS_TORCH_EXPORT=1 in the environment, `import torch` puts dynamo-lite there for the whole process.
    Calls of torch's internal exporter that require anything but a pre-dispatch program go to torch.
    """
    put_back = install(strict=strict, effects=effects, fallback=fallback)
    try:
        yield
    finally:
        put_back()


def install(*, strict: bool = True, effects: Effects = "refuse", fallback: Fallback = None) -> Callable[[], None]:
    """`as_torch_export` without an end; the result ends it. Arguments and errors are the same."""
    from dynamo_lite.attempts import check_choice

    check_choice("effects", effects, Effects)
    if fallback not in choices(Fallback):
        raise InvalidArguments(f'fallback must be None or "torch", not {fallback!r}')
    outer = current_exporter()
    torchs = getattr(outer, "torchs_own", outer)
    ours: dict[str, Any] = {"strict": strict, "effects": effects}

    def exporter(
        mod: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        dynamic_shapes: Any = None,
        *,
        strict: bool = True,  # the caller's, for torch
        preserve_module_call_signature: Sequence[str] = (),
        pre_dispatch: bool = False,
        prefer_deferred_runtime_asserts_over_guards: bool = False,
    ) -> Any:
        options: dict[str, Any] = {
            "dynamic_shapes": dynamic_shapes,
            "preserve_module_call_signature": preserve_module_call_signature,
            "prefer_deferred_runtime_asserts_over_guards": prefer_deferred_runtime_asserts_over_guards,
        }
        as_torch = lambda: torchs(mod, args, kwargs, strict=strict, pre_dispatch=pre_dispatch, **options)  # noqa: E731
        if not pre_dispatch:
            return as_torch()
        from dynamo_lite.api import export

        try:
            return export(mod, tuple(args), dict(kwargs or {}), **ours, **options)
        except DynamoLiteError as error:
            if fallback is None:
                raise
            refused = error
        warnings.warn(f"dynamo-lite refused this export, torch's own exporter runs instead.\n{refused}", stacklevel=3)
        return as_torch()

    exporter.torchs_own = torchs  # type: ignore[attr-defined]
    put_exporter(exporter)
    return lambda: put_exporter(outer)
