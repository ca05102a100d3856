"""Collectives of torch.distributed that write into their arguments, as operators that return their results.

`dist.all_reduce(x)` and its like end in a method of the process group, whose operator (c10d::allreduce_) takes the
group and the kind of reduction as objects that a program cannot hold. While a recorder runs, those methods issue the
same as torch.export and torch.compile: the functional operator, the wait for it, and a copy into the argument:

    all_reduce = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '0')
    wait_tensor = torch.ops._c10d_functional.wait_tensor.default(all_reduce)
    copy_ = torch.ops.aten.copy_.default(x, wait_tensor)

The group is in the program by its name, its size and the splits as numbers: a program is that of the rank that exported
it. Working on the methods and not on `dist.all_reduce` catches all callers: torch.distributed.nn, SyncBatchNorm,
coalesced calls. An operator of c10d that gets past them is rejected (`check`).

Asynchronous calls (`async_op=True`) wait where they start: the values are those of eager, which may be read only after
`wait()`. The progress reported by a handle depends on time, and reading it is rejected.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.undoing import attributes, changed

Refuse = Callable[[CaptureError], Any]
"""Ends the recording (`NodeContext.refuse`)."""


def _unsupported(what: str, instead: str = "") -> CaptureError:
    instead = instead or (
        "use all_reduce, broadcast, all_gather, reduce_scatter or all_to_all, in place or functional "
        "(torch.distributed._functional_collectives), or communicate outside of forward"
    )
    return CaptureError("collective", what, instead, {"what": what, "rewrite": instead})


def concerns(func: Any) -> bool:
    """Whether `check` applies to an operator."""
    return func.namespace == "c10d" or func.namespace in _COMMUNICATES


def check(func: Any, tensors: Sequence[Any]) -> None:
    """Called before an operator runs on fake tensors. Raises CaptureError for one on process groups.

    The fake tensor of a literal keeps its value, and FakeTensorMode computes with it for real. A trace must not
    communicate, so a communicating operator gets fake tensors without values.
    """
    if func.namespace == "c10d":
        name = func.overloadpacket.__name__.strip("_")
        raise _unsupported(f"The program communicates by {name}, which has no operator that a program could hold")
    if func.namespace in _COMMUNICATES:
        for tensor in pytree.tree_leaves(list(tensors)):
            if isinstance(tensor, FakeTensor):
                tensor.constant = None


_COMMUNICATES = ("_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "_dtensor")


@contextmanager
def recorded(refuse: Refuse) -> Iterator[None]:
    """While open, collectives that this thread starts are issued as functional operators."""
    if "torch.distributed.distributed_c10d" not in sys.modules or not torch.distributed.is_initialized():
        yield
        return
    from dynamo_lite.capture.kernels._torch_c10d import ProcessGroup

    names = [name for name in _METHODS if name in ProcessGroup.__dict__]
    with changed(attributes(ProcessGroup, *names)):
        for name in names:
            setattr(ProcessGroup, name, _recording(getattr(ProcessGroup, name), _METHODS[name], refuse))
        yield


def _recording(original: Callable[..., Any], method: Callable[..., None], refuse: Refuse) -> Callable[..., Any]:
    thread = threading.get_ident()

    def collective(group: Any, *args: Any, **kwargs: Any) -> Any:
        # Other threads communicate for real. So do not the short forms without options, whose operator is refused.
        options = args[-1] if args else None
        if threading.get_ident() != thread or kwargs or not type(options).__name__.endswith("Options"):
            return original(group, *args, **kwargs)
        try:
            method(group, options, *args[:-1])
        except CaptureError as error:
            refuse(error)
        return _handle(refuse)

    return collective


def _handle(refuse: Refuse) -> Any:
    """The result of an asynchronous call, which is complete already."""
    from dynamo_lite.capture.kernels._torch_c10d import Work

    class Done(Work):
        def wait(self, timeout: Any = None) -> bool:
            return True

        def synchronize(self) -> None:
            return

    def refused(name: str) -> Callable[..., Any]:
        what = f"The program asks a running collective for its {name}"
        return lambda *_: refuse(_unsupported(what, "call wait() and read the tensors"))

    for name in ("is_completed", "is_success", "exception", "result", "get_future", "get_future_result"):
        setattr(Done, name, refused(name))
    return Done()


# --- what each method comes down to -----------------------------------------------------------------------------------


def _all_reduce(group: Any, options: Any, tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        reduced = _functional().all_reduce(tensor, _reduction(options.reduceOp), group.group_name)
        _write(tensor, _waited(reduced))


def _broadcast(group: Any, options: Any, tensors: Sequence[Tensor]) -> None:
    (tensor,) = tensors
    _write(tensor, _waited(_functional().broadcast(tensor, options.rootRank, group.group_name)))


def _all_gather(group: Any, options: Any, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor]) -> None:
    for output, tensor in zip(outputs, inputs, strict=True):
        _same_shapes("all_gather", [*output, tensor])
        shares = _gathered(group, tensor).reshape((group.size(), *tensor.shape))
        for rank, target in enumerate(output):
            _write(target, shares[rank])


def _all_gather_single(group: Any, options: Any, output: Tensor, tensor: Tensor) -> None:
    _write(output, _gathered(group, tensor))


def _all_gather_coalesced(group: Any, options: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    for output, tensor in zip(outputs, inputs, strict=True):
        _all_gather_single(group, options, output, tensor)


def _reduce_scatter(group: Any, options: Any, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]]) -> None:
    for output, shares in zip(outputs, inputs, strict=True):
        _same_shapes("reduce_scatter", [output, *shares])
        _reduce_scatter_single(group, options, output, torch.stack(list(shares)))


def _reduce_scatter_single(group: Any, options: Any, output: Tensor, tensor: Tensor) -> None:
    reduction, size = _reduction(options.reduceOp), group.size()
    _write(output, _waited(_functional().reduce_scatter_tensor(tensor, reduction, size, group.group_name)))


def _reduce_scatter_coalesced(group: Any, options: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    for output, tensor in zip(outputs, inputs, strict=True):
        _reduce_scatter_single(group, options, output, tensor)


def _all_to_all_single(
    group: Any, options: Any, output: Tensor, tensor: Tensor, to: Sequence[int] = (), given: Sequence[int] = ()
) -> None:
    size = group.size()
    received = list(to) or [output.shape[0] // size] * size
    sent = list(given) or [tensor.shape[0] // size] * size
    _write(output, _waited(_functional().all_to_all_single(tensor, received, sent, group.group_name)))


def _all_to_all(group: Any, options: Any, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    # The elements in a row, so that shares may differ in any dimension.
    splits = [[tensor.numel() for tensor in tensors] for tensors in (outputs, inputs)]
    given = torch.cat([tensor.reshape(-1) for tensor in inputs])
    received = _waited(_functional().all_to_all_single(given, *splits, group.group_name))
    for output, share in zip(outputs, received.split(splits[0]), strict=True):
        _write(output, share)


_METHODS: dict[str, Callable[..., None]] = {
    "allreduce": _all_reduce,
    "allreduce_coalesced": _all_reduce,
    "broadcast": _broadcast,
    "allgather": _all_gather,
    "_allgather_base": _all_gather_single,
    "all_gather_single": _all_gather_single,
    "all_gather_single_coalesced": _all_gather_coalesced,
    "allgather_into_tensor_coalesced": _all_gather_coalesced,
    "reduce_scatter": _reduce_scatter,
    "_reduce_scatter_base": _reduce_scatter_single,
    "reduce_scatter_single": _reduce_scatter_single,
    "reduce_scatter_single_coalesced": _reduce_scatter_coalesced,
    "reduce_scatter_tensor_coalesced": _reduce_scatter_coalesced,
    "alltoall": _all_to_all,
    "alltoall_base": _all_to_all_single,
    "all_to_all_single": _all_to_all_single,
}
"""Methods of ProcessGroup: (group, options, *tensors). distributed_c10d.py calls each with its options last."""


# --- parts ------------------------------------------------------------------------------------------------------------


def _functional() -> Any:
    return torch.ops._c10d_functional


def _waited(result: Tensor) -> Tensor:
    return _functional().wait_tensor(result)


def _gathered(group: Any, tensor: Tensor) -> Tensor:
    """Every rank's `tensor`, one after the other in the first dimension."""
    whole = tensor if tensor.dim() else tensor.reshape(1)
    return _waited(_functional().all_gather_into_tensor(whole, group.size(), group.group_name))


def _write(target: Tensor, value: Tensor) -> None:
    """Copies `value`, the same elements in this order, into `target`.

    c10d writes behind autograd's back, into leaves that require gradients as well. A gradient through any other tensor
    is that of the functional operator, as in torch.export's programs; c10d has none to compare with.
    """
    shaped = value if value.shape == target.shape else value.reshape(target.shape)
    if target.is_leaf and target.requires_grad:
        with torch.no_grad():
            target.copy_(shaped)
    else:
        target.copy_(shaped)


def _same_shapes(name: str, tensors: Sequence[Tensor]) -> None:
    if any(tensor.shape != tensors[0].shape for tensor in tensors):
        raise _unsupported(f"The program communicates by {name} with a different shape for each rank", "pad the shares")


def _reduction(op: Any) -> str:
    from dynamo_lite.capture.kernels._torch_c10d import ReduceOp

    names = {
        ReduceOp.SUM: "sum",
        ReduceOp.AVG: "avg",
        ReduceOp.PRODUCT: "product",
        ReduceOp.MIN: "min",
        ReduceOp.MAX: "max",
        ReduceOp.BAND: "band",
        ReduceOp.BOR: "bor",
        ReduceOp.BXOR: "bxor",
    }
    name = next((name for known, name in names.items() if op == known), None)
    if name is None:
        raise _unsupported(f"The program reduces by {op}, which no functional collective can do")
    return name
