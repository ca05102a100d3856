"""One call as its caller can see it, and the first difference between two of them.

Seen are: the output's structure, types, constants and tensors (values, dtype, shape, strides, requires_grad); the
exception, if any; the arguments after the call; the buffers after it; torch's switches after it; and which outputs
share storage with, or are, which inputs, outputs, parameters and buffers.
"""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from dynamo_lite.lab.programs import Args
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES as TORCH_SWITCHES

TOLERANCE = 1e-5


@dataclasses.dataclass
class Observed:
    """One call, as its caller sees it. Tensors are copies; `aliases` are pairs of labels ("out0", "in1", "state:w").

    `replaced` names the state that is another tensor object than before the call; names with equal `same` are one.
    """

    raised: BaseException | None
    output: Any
    arguments: Any
    outputs: list[torch.Tensor]
    inputs: list[torch.Tensor]
    state: dict[str, torch.Tensor]
    aliases: set[tuple[str, str, str]]
    replaced: set[str]
    same: dict[str, int]
    switches: tuple[Any, ...]
    gradients: dict[str, torch.Tensor | None] = dataclasses.field(default_factory=dict)


def _autocast_depth() -> int:
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _set_autocast_depth(depth: int) -> None:
    while _autocast_depth() > depth:
        torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()


_CUDNN = next(switch for switch in TORCH_SWITCHES if switch.name == "torch.backends.cudnn.benchmark")
"""Read and set below torch.backends, whose settings torch.testing's internal modules freeze."""

SWITCHES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "autocast": (lambda: torch.is_autocast_enabled("cpu"), lambda v: torch.set_autocast_enabled("cpu", v)),
    "autocast dtype": (lambda: torch.get_autocast_dtype("cpu"), lambda v: torch.set_autocast_dtype("cpu", v)),
    "autocast cache": (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    "open autocast contexts": (_autocast_depth, _set_autocast_depth),
    "deterministic": (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    "cudnn.benchmark": (_CUDNN.read, _CUDNN.write),
    "mha fast path": (torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled),
    "flash attention": (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    "number of threads": (torch.get_num_threads, torch.set_num_threads),
    "anomaly mode": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
}


def _switches() -> tuple[Any, ...]:
    return tuple(read() for read, _ in SWITCHES.values())


def _set_switches(values: tuple[Any, ...]) -> None:
    for (read, write), value in zip(SWITCHES.values(), values):
        if read() != value:
            write(value)


def fresh_arguments(args: Args, seed: int, program: Any = None) -> Args:
    """A copy of the arguments with other data (the same for seed 0); what they share, they still share.

    Tensors that belong to the program itself are passed on as they are.
    """
    own = {id(value): value for value in state_of(program).values()}
    copied = copy.deepcopy(args, {**own, **_copies_of_their_kind(args)})
    if seed:
        tensors: list[torch.Tensor] = []
        tree(copied, tensors)
        generator = torch.Generator().manual_seed(seed)
        for tensor in tensors:
            if id(tensor) not in own:
                _refill(tensor, generator)
    return copied


def _copies_of_their_kind(args: Args) -> dict[int, Any]:
    """Copies of the tensors that deepcopy refuses (no leaves) or makes another kind of (the conjugate and negative
    bits), by id."""
    tensors: list[torch.Tensor] = []
    tree(args, tensors)
    copies: dict[int, Any] = {}
    for tensor in tensors:
        if tensor.is_inference():
            with torch.inference_mode():
                copies[id(tensor)] = tensor.clone()
        elif type(tensor) not in (torch.Tensor, nn.Parameter) and tensor.is_leaf:
            copies[id(tensor)] = tensor.detach().clone().as_subclass(type(tensor)).requires_grad_(tensor.requires_grad)
        elif not tensor.is_leaf:
            copies[id(tensor)] = tensor.detach().clone().requires_grad_() * 1
        elif tensor.is_conj():
            copies[id(tensor)] = tensor.detach().conj_physical().clone().conj().requires_grad_(tensor.requires_grad)
        elif tensor.is_neg():
            copies[id(tensor)] = torch.ops.aten._neg_view(-tensor.detach().resolve_neg())
    return copies


def _refill(tensor: torch.Tensor, generator: torch.Generator) -> None:
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or tensor.numel() < 2 or _is_expanded(tensor):
        return
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.copy_(torch.randn(tensor.shape, generator=generator))
        else:  # a permutation keeps integers in the range that the program takes
            order = torch.randperm(tensor.numel(), generator=generator)
            tensor.copy_(tensor.flatten()[order].reshape(tensor.shape))


def _is_expanded(tensor: torch.Tensor) -> bool:
    """Whether several elements are one place in memory."""
    return any(step == 0 and size > 1 for size, step in zip(tensor.shape, tensor.stride()))


def state_of(program: Any) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, each name of a shared one; without those that have no data yet."""
    owner = program if isinstance(program, nn.Module) else getattr(program, "__self__", None)
    if not isinstance(owner, nn.Module):
        return {}
    rows = [*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False)]
    return {name: value for name, value in rows if not is_lazy(value)}


def tree(value: Any, tensors: list[torch.Tensor], above: tuple[int, ...] = ()) -> Any:
    """The structure of a value as nested tuples; its tensors are appended to `tensors`.

    Classes are named, not compared by identity: each fresh program makes its own. Whether two containers are one is not
    looked at (a pytree does not keep that); whether two tensors are is (`_aliases`). `above` holds the ids around it.
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, torch.dtype, torch.device)):
        return (type(value).__qualname__, repr(value))
    if id(value) in above:
        return ("cycle", above.index(id(value)))
    above = (*above, id(value))
    kind = "tuple" if type(value) is torch.Size else type(value).__qualname__
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return (kind, len(tensors) - 1)
    if isinstance(value, Mapping):
        parts: Any = [(tree(k, tensors, above), tree(v, tensors, above)) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [tree(item, tensors, above) for item in value]
    elif isinstance(value, (set, frozenset)):
        parts = sorted(repr(item) for item in value)
    elif isinstance(value, (slice, range)):
        parts = repr(value)
    elif callable(value):
        parts = kind
    else:
        slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(value, name)]
        held = {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}
        parts = [(k, tree(v, tensors, above)) for k, v in held.items()]
    return (kind, parts)


def observe(program: Callable[..., Any], args: Args, seed: int, owner: Any = None, gradients: bool = False) -> Observed:
    """Call `program` on `args` (which it may change), both generators seeded. `owner` holds the state (else `program`).

    `gradients`: run a backward() from the outputs as well.

    torch's switches are as before afterwards; what the call left is in the observation.
    """
    torch.default_generator.manual_seed(seed)  # torch.manual_seed formats the stack for each absent accelerator
    random.seed(seed)
    raised, result = None, None
    before: list[torch.Tensor] = []
    tree(args, before)
    holder = program if owner is None else owner
    state_before, switches_before = state_of(holder), _switches()
    try:
        result = program(*args[0], **args[1])
    except Exception as error:
        raised = error
    outputs: list[torch.Tensor] = []
    inputs: list[torch.Tensor] = []
    output, arguments = tree(result, outputs), tree(args, inputs)
    switches = _switches()
    _set_switches(switches_before)
    state = state_of(holder)
    copies = {name: value.detach().clone() for name, value in state.items()}
    replaced = {name for name, value in state.items() if state_before.get(name) is not value}
    same = {name: id(value) for name, value in state.items()}
    aliases = _aliases(outputs, before, state)
    seen = Observed(
        raised, output, arguments, _copies(outputs), _copies(inputs), copies, aliases, replaced, same, switches
    )
    if gradients:
        seen.gradients = _gradients(outputs, before, state)
    return seen


def _gradients(
    outputs: list[torch.Tensor], inputs: list[torch.Tensor], state: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor | None]:
    """What a backward() from the outputs, each element weighed by a number of its own, leaves in `.grad`."""
    named = {f"input {i}": tensor for i, tensor in enumerate(inputs)} | state
    leaves = {name: tensor for name, tensor in named.items() if tensor.is_leaf}
    for tensor in leaves.values():
        tensor.grad = None
    loss = [(x * torch.linspace(1, 2, x.numel()).view(x.shape)).real.sum() for x in outputs if x.requires_grad]
    if loss:
        torch.stack(loss).sum().backward(retain_graph=True)
    found = {name: None if x.grad is None else x.grad.clone() for name, x in leaves.items()}
    found |= {f"output {i}": x.grad for i, x in enumerate(outputs) if x.retains_grad}
    for tensor in leaves.values():
        tensor.grad = None
    return found


def _copies(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]


def _aliases(
    outputs: list[torch.Tensor], inputs: list[torch.Tensor], state: dict[str, torch.Tensor]
) -> set[tuple[str, str, str]]:
    rows = [(f"out{i}", x) for i, x in enumerate(outputs)]
    rows += [(f"in{i}", x) for i, x in enumerate(inputs)] + [(f"state:{name}", x) for name, x in state.items()]
    found = set()
    for i, (label, x) in enumerate(rows[: len(outputs)]):
        for other, y in rows[i + 1 :]:
            if x is y:
                found.add((label, other, "is"))
            elif {x.layout, y.layout} != {torch.strided}:
                continue
            elif x.numel() and y.numel() and x.untyped_storage()._cdata == y.untyped_storage()._cdata:
                found.add((label, other, "shares storage with"))
    return found


def difference(
    got: Observed,
    want: Observed,
    before: Mapping[str, torch.Tensor],
    arguments: bool = True,
    raised_as: tuple[type[Exception], type[Exception]] | None = None,
) -> str | None:
    """The first difference in words, or None. `before` is eager's state before the call.

    `arguments`: compare them after the call. `raised_as`: classes of eager's error and the program's that correspond.

    State that the program does not name counts only if eager changed it.
    """
    if want.raised is not None or got.raised is not None:
        if type(got.raised) is type(want.raised) or (type(want.raised), type(got.raised)) == raised_as:
            return None
        return f"raises {got.raised!r}, eager raises {want.raised!r}"
    if got.output != want.output:
        return f"the output is {got.output}, eager's is {want.output}"
    if arguments and got.arguments != want.arguments:
        return f"the arguments are then {got.arguments}, with eager {want.arguments}"
    for name, mine, theirs in zip(SWITCHES, got.switches, want.switches):
        if mine != theirs:
            return f"{name} is then {mine}, with eager {theirs}"
    for label, mine, theirs in (("output", got.outputs, want.outputs), ("argument", got.inputs, want.inputs)):
        for i, (x, y) in enumerate(zip(mine, theirs) if label == "output" or arguments else ()):
            if text := different_tensors(x, y):
                return f"{label} tensor {i} {text}"
    return _state_difference(got, want, before) or _alias_difference(got, want) or _gradient_difference(got, want)


def _gradient_difference(got: Observed, want: Observed) -> str | None:
    """State that the program does not name has no gradient to compare."""
    for name, theirs in want.gradients.items():
        mine = got.gradients.get(name)
        if theirs is not None and mine is not None:
            if text := different_tensors(mine, theirs):
                return f"the gradient of {name} {text}"
        elif mine is not theirs and (name in got.gradients or name.startswith("output")):
            return f"the gradient of {name} is {'None' if mine is None else 'a tensor'} only in the program"
    return None


def _state_difference(got: Observed, want: Observed, before: Mapping[str, torch.Tensor]) -> str | None:
    for name, value in want.state.items():
        mine = got.state.get(name)
        if mine is None:
            if any(want.same[name] == want.same[other] for other in got.state.keys() & want.state.keys()):
                continue  # the same tensor under another name
            old = before.get(name)
            if old is None or different_tensors(old, value):
                return f"eager changes {name!r}, which the program does not have"
        elif text := different_tensors(mine, value):
            return f"the state {name!r} {text}"
    return None


def _alias_difference(got: Observed, want: Observed) -> str | None:
    """A buffer that eager replaces counts by its value only: a program copies the new value into its buffer."""
    common = (got.state.keys() & want.state.keys()) - want.replaced

    def known(row: tuple[str, str, str]) -> bool:
        return not row[1].startswith("state:") or row[1][6:] in common

    extra = sorted(filter(known, got.aliases ^ want.aliases))
    if not extra:
        return None
    one, other, how = extra[0]
    return f"{one} {how} {other} only {'in the program' if extra[0] in got.aliases else 'with eager'}"


def different_tensors(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """How two tensors differ, in words."""
    for name in ("dtype", "shape", "device", "requires_grad"):
        mine, theirs = getattr(got, name), getattr(want, name)
        if mine != theirs:
            return f"has {name} {mine}, eager's has {theirs}"
    if got.layout is not want.layout:
        return f"has layout {got.layout}, eager's has {want.layout}"
    if got.layout is not torch.strided:
        got, want = got.to_dense(), want.to_dense()
    if got.stride() != want.stride() and got.numel() > 1:
        return f"has strides {got.stride()}, eager's has {want.stride()}"
    if got.device.type == "meta" or torch.equal(got, want):
        return None
    if torch.allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return None
    return f"is {got.flatten()[:4].tolist()}, eager's is {want.flatten()[:4].tolist()}"
