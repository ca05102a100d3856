"""What ends a program leaves export as it leaves eager, and leaves nothing behind: no lock, no patch of ours."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak

X = (torch.ones(2),)


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("own"), StopIteration(4)]
)
def test_what_forward_raises_is_what_export_raises(error: BaseException) -> None:
    def forward(x: Any) -> Any:
        raise error

    before = torch.relu, torch.Tensor.__hash__, torch.is_grad_enabled()
    with pytest.raises(type(error)) as caught:
        dynamo_lite.export(forward, X)
    assert caught.value is error
    assert before == (torch.relu, torch.Tensor.__hash__, torch.is_grad_enabled())
    torch.testing.assert_close(dynamo_lite.export(lambda x: x * 2, X).module()(*X), X[0] * 2)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_lock_that_forward_keeps_is_free_after_the_refusal(reentrant: bool) -> None:
    lock: Any = threading.RLock() if reentrant else threading.Lock()

    def forward(x: Any) -> Any:
        lock.acquire()
        return x * 2

    for _ in range(2):  # the second would wait for ever if the first had left the lock taken
        with pytest.raises(GraphBreak) as caught:
            dynamo_lite.export(forward, X)
        assert caught.value.id == "lock-held"
        assert caught.value.frame is not None and caught.value.frame.name == "forward"
    thread = threading.Thread(target=lambda: free.append(lock.acquire(False)))
    free: list[bool] = []
    thread.start()
    thread.join()
    assert free == [True]


def test_a_lock_that_is_taken_already_is_refused_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_lite.tracing.heap.locks.PATIENCE", 0.05)
    lock = threading.Lock()
    lock.acquire()

    def forward(x: Any) -> Any:
        with lock:
            return x * 2

    with pytest.raises(GraphBreak, match="taken already"):
        dynamo_lite.export(forward, X)
    assert lock.locked()


def test_a_lock_that_the_program_has_taken_itself_is_not_waited_for() -> None:
    def forward(x: Any) -> Any:
        lock = threading.Lock()
        with lock, lock:
            return x * 2

    with pytest.raises(GraphBreak, match="taken itself"):
        dynamo_lite.export(forward, X)


def test_a_generator_of_the_programs_own_is_not_called_outside() -> None:
    def seeded(x: Any) -> Any:
        return x * torch.Generator().manual_seed(3).initial_seed()

    def drawn(x: Any) -> Any:
        return x + torch.rand(2, generator=torch.Generator().manual_seed(3))

    torch.testing.assert_close(dynamo_lite.export(seeded, X).module()(*X), X[0] * 3)
    torch.testing.assert_close(dynamo_lite.export(drawn, X).module()(*X), drawn(*X))
