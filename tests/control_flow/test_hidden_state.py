"""Objects written in C whose state no snapshot shows: a side of a branch that changes an older one cannot be undone."""

from __future__ import annotations

import contextvars
import csv
import hashlib
import io
import queue
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite

X = torch.ones(3)


def _text(x: torch.Tensor) -> torch.Tensor:
    buffer = io.StringIO()
    if x.sum() > 0:
        buffer.write("a")
    else:
        buffer.write("bcd")
    return x * len(buffer.getvalue())


def _text_of_one_side(x: torch.Tensor) -> torch.Tensor:
    buffer = io.StringIO()
    buffer.write("before")
    if x.sum() > 0:
        buffer.write("more")
        x = x + 1
    return x * len(buffer.getvalue())


def _text_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    buffer = io.StringIO()
    while x.sum() < 10:
        buffer.write("a")
        x = x + 1
    return x * len(buffer.getvalue())


def _printed(x: torch.Tensor) -> torch.Tensor:
    buffer = io.StringIO()
    if x.sum() > 0:
        print("positive", file=buffer)
    return x * len(buffer.getvalue())


def _bytes(x: torch.Tensor) -> torch.Tensor:
    buffer = io.BytesIO(b"abc")
    y = x * len(buffer.read(1)) if x.sum() > 0 else x + 1
    return y * len(buffer.read())


def _digest(x: torch.Tensor) -> torch.Tensor:
    digest = hashlib.sha256()
    if x.sum() > 0:
        digest.update(b"a")
    else:
        digest.update(b"bcd")
    return x * digest.digest()[0]


def _queue(x: torch.Tensor) -> torch.Tensor:
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in (3, 5, 7):
        waiting.put(number)
    y = x * waiting.get() if x.sum() > 0 else x + waiting.get()
    return y * waiting.get()


def _compressed(x: torch.Tensor) -> torch.Tensor:
    packer = zlib.compressobj()
    if x.sum() > 0:
        packer.compress(b"abc")
    else:
        packer.compress(bytes(range(200)))
    return x * len(packer.flush())


def _generator_state(x: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator()
    if x.sum() > 0:
        generator.manual_seed(3)
    else:
        generator.manual_seed(4)
    return x * generator.initial_seed()


def _rows(x: torch.Tensor) -> torch.Tensor:
    rows = csv.reader(["1,2", "3,4", "5,6"])
    y = x * int(next(rows)[0]) if x.sum() > 0 else x
    return y * int(next(rows)[1])


def _rows_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    rows = csv.reader(["1,2", "3,4", "5,6"])
    if x.sum() > 0:
        for row in rows:
            x = x + int(row[0])
    return x * len(list(rows))


def _attribute_of_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.scale = 1  # type: ignore[attr-defined]
    if x.sum() > 0:
        y.scale = 2  # type: ignore[attr-defined]
    return y * y.scale  # type: ignore[attr-defined]


def _data_of_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    if x.sum() > 0:
        y.data = x * 2
    return y


def _memory_of_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    for _ in range(20):
        if y.abs().sum() < 1:
            break
        y.set_(y * 0.5)
    return y


def _requires_grad(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    if x.sum() > 0:
        y.requires_grad_()
    return x * y.requires_grad


@pytest.mark.parametrize(
    "program",
    [
        *(_attribute_of_a_tensor, _data_of_a_tensor, _memory_of_a_tensor, _requires_grad),
        *(_text, _text_of_one_side, _text_in_a_loop, _printed, _bytes, _digest, _queue, _compressed),
        *(_generator_state, _rows, _rows_in_a_loop),
    ],
)
def test_an_older_object_is_not_changed_on_one_side(program: Callable[..., Any]) -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError) as caught:
        dynamo_lite.export(program, (X,), control_flow="capture")
    assert caught.value.id == "branch-unsupported" and "is older than the branch" in str(caught.value)


def _context_variable(x: torch.Tensor) -> torch.Tensor:
    variable = contextvars.ContextVar("variable", default=2)
    if x.sum() > 0:
        variable.set(3)
    return x * variable.get()


def _lock(x: torch.Tensor) -> torch.Tensor:
    lock = threading.Lock()
    if x.sum() > 0:
        lock.acquire()
    return x * (2 if lock.locked() else 3)


@pytest.mark.parametrize(("program", "what"), [(_context_variable, "context variable"), (_lock, "a lock")])
def test_what_one_side_leaves_otherwise_is_named(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError) as caught:
        dynamo_lite.export(program, (X,), control_flow="capture")
    assert caught.value.id == "branch-differs" and what in str(caught.value)


def _data_in_a_function(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()

    def changed(z: torch.Tensor) -> torch.Tensor:
        y.data = z * 2
        return z + 1

    return torch.cond(x.sum() > 0, changed, torch.neg, (x,)) + y


def test_a_function_of_torch_cond_changes_no_tensor_from_around() -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError, match="sets data of a tensor") as caught:
        dynamo_lite.export(_data_in_a_function, (X,))
    assert caught.value.id == "subgraph-effect"


def _autocast_from_one_side(x: torch.Tensor) -> torch.Tensor:
    region = torch.autocast("cpu", dtype=torch.bfloat16)
    if x.sum() > 0:
        region.__enter__()
    y = x[:, None] @ x[None]
    if x.sum() > 0:
        region.__exit__(None, None, None)
    return y


def test_an_autocast_region_that_begins_on_one_side_is_refused() -> None:
    with pytest.raises(dynamo_lite.DynamoLiteError, match="autocast region ends") as caught:
        dynamo_lite.export(_autocast_from_one_side, (X,))
    assert caught.value.id == "branch-unsupported"


def _text_of_a_side(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        buffer = io.StringIO()
        buffer.write("abc")
        return x * len(buffer.getvalue())
    return x - hashlib.sha256(b"bcd").digest()[0]


def _digest_of_a_side(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        digest = hashlib.sha256()
        digest.update(b"abc")
        x = x + digest.digest()[0]
    return x


def _held_lock(x: torch.Tensor) -> torch.Tensor:
    lock = threading.Lock()
    if x.sum() > 0:
        with lock:
            x = x + 1
    with lock:
        return x * 2


def _written_behind(x: torch.Tensor) -> torch.Tensor:
    buffer = io.StringIO()
    y = x + 1 if x.sum() > 0 else x - 1
    buffer.write("abc")
    return y * len(buffer.getvalue())


def _rows_of_a_side(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        for row in csv.reader(["1,2", "3,4"]):
            x = x + int(row[0])
    return x


@pytest.mark.parametrize("program", [_text_of_a_side, _digest_of_a_side, _held_lock, _written_behind, _rows_of_a_side])
def test_what_a_side_makes_itself_is_used(program: Callable[..., Any]) -> None:
    module = dynamo_lite.export(program, (X,), control_flow="capture").module()
    for x in (X, -X):
        assert torch.equal(module(x), program(x))
