"""Errors about numbers of data that no variable holds say the user's own expression, not a symbol of torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DataDependent, UserFrame
from dynamo_lite.origin_names import users_expression

Program = Callable[[Tensor, Tensor], Any]


def of_a_helper(x: Tensor, i: Tensor) -> Any:
    def chosen(a: Tensor) -> Tensor:
        return a[:, i > 0]

    return {2: x}[chosen(x).shape[1]]


def on_several_lines(x: Tensor, i: Tensor) -> Any:
    return {2: x}[
        len(
            i[
                i  # the positive ones
                > 0
            ]
        )
    ]


def converted(x: Tensor, i: Tensor) -> Any:
    return {2: x}[int(i.sum())]


def converted_to_a_float(x: Tensor, i: Tensor) -> Any:
    return {2.0: x}[float(x.sum())]


def text_of_a_number(x: Tensor, i: Tensor) -> Any:
    return str(int(i[0]))


def text_of_a_size(x: Tensor, i: Tensor) -> Any:
    v = x[:, i > 0]
    return f"{v.shape[1]} columns", v


SAYS: dict[Program, tuple[str, str]] = {
    lambda x, i: {2: x}[len(i.nonzero())]: ("A size of `i.nonzero()` depends on", "assign the value to a variable"),
    lambda x, i: {2: x}[len(torch.where(i > 0)[0])]: ("A size of `torch.where(i > 0)` depends on", "torch._check"),
    lambda x, i: {2: x}[len(i.unique())]: ("A size of `i.unique()` depends on", "torch._check"),
    lambda x, i: {2: x}[len(i[i > 0])]: ("A size of `i[i > 0]` depends on", "torch._check"),
    lambda x, i: {2: x}[len(torch.repeat_interleave(i))]: ("A size of `torch.repeat_interleave(i)`", "torch._check"),
    lambda x, i: {2: x}[len(torch.masked_select(x, x > 0))]: ("A size of `torch.masked_select(x, x > 0)`", "variable"),
    lambda x, i: {3: x}[len(i[i > 0]) + len(i[i > 1])]: ("(a size of `i[i > 0]`) + (a size of `i[i > 1]`)", "variable"),
    lambda x, i: x + len(set(i.tolist())): ("A number of `i.tolist()` depends on", "assign the value to a variable"),
    lambda x, i: x + sorted(i.tolist() * 5)[0]: (
        "(another number of `i.tolist()`) <= (a number of `i.tolist()`)",
        "sort",
    ),
    lambda x, i: x + i.tolist().index(2): ("Whether (a number of `i.tolist()`) == 2 holds", "torch.argmax"),
    lambda x, i: x + dict(zip(i.tolist(), (1, 2, 3)))[1]: ("A number of `i.tolist()` depends on", "variable"),
    lambda x, i: x + np.zeros(i[0].numpy()).sum(): (
        "A number of `np.zeros(i[0].numpy())` depends on",
        "zeros() needs it",
    ),
    lambda x, i: nn.functional.one_hot(i) + x: ("A number of `nn.functional.one_hot(i)`", "its `num_classes`"),
    of_a_helper: ("A size of `a[:, i > 0]` depends on", "torch._check"),
    on_several_lines: ("A size of `i[i > 0]` depends on", "torch._check"),
    converted: ("The number int(i.sum()) depends on", "torch._check"),
    converted_to_a_float: ("The number float(x.sum()) depends on", "torch._check"),
    text_of_a_number: ("The number int(i[0]) depends on", "make the text of it outside of forward"),
    text_of_a_size: ("A size of `x[:, i > 0]` depends on", "make the text of it outside of forward"),
}


def refused(program: Any, *args: Any) -> DataDependent:
    with pytest.raises(DataDependent) as caught:
        dynamo_lite.export(program, args)
    return caught.value


@pytest.mark.parametrize("program", SAYS, ids=[text for text, _ in SAYS.values()])
def test_a_refusal_says_the_expression_that_made_the_number(program: Program) -> None:
    error = refused(program, torch.arange(6.0).reshape(2, 3) - 1, torch.tensor([1, 2, 0]))
    said, (expression, instead) = str(error), SAYS[program]
    assert expression in said
    assert instead in said
    assert "torch._check((" not in said  # no check that the user could not write
    assert not re.search(r"(?<! is )\b(u\d|zuf\d)", said)
    assert error.frame is not None and error.frame.filename == __file__


CALLS: dict[Program, str] = {
    lambda x, i: x * x[:, i > 0]: "u0 is a size of `x[:, i > 0]`",
    lambda x, i: i[i > 0].reshape(2, 1, -1, 3): "u0 is a size of `i[i > 0]`",
    lambda x, i: torch.stack([i[i > 0], i[i > 1]]): "u0 is a size of `i[i > 0]`, u1 is a size of `i[i > 1]`",
    lambda x, i: torch.zeros(int(i.sum()), 3) + x: "u0 is int(i.sum())",
    lambda x, i: torch.zeros(i.max().item(), 3) + torch.ones(5, 3): "u0 is i.max().item()",
    lambda x, i: torch.cat([torch.argwhere(x > 0).T, x]): "u0 is a size of `torch.argwhere(x > 0)`",
}


@pytest.mark.parametrize("program", CALLS, ids=list(CALLS.values()))
def test_an_assertion_says_where_its_numbers_come_from(program: Program) -> None:
    args = (torch.arange(6.0).reshape(2, 3) - 1, torch.tensor([1, 2, 0]))
    with pytest.raises((RuntimeError, ValueError)):
        program(*args)
    exported = dynamo_lite.export(program, args).module()
    with pytest.raises(RuntimeError) as caught:
        exported(*args)
    assert str(caught.value).startswith("Runtime assertion failed for expression ")  # as torch's do
    assert CALLS[program] in str(caught.value)


class Recurrent(nn.Module):
    """The gradient of a recurrent layer on sequences of several lengths."""

    def __init__(self, layer: type[nn.Module]) -> None:
        super().__init__()
        self.layer = layer(2, 3)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return torch.autograd.grad(self.layer(packed)[0].data.sum(), [*self.parameters()])


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_gradients_of_packed_sequences_are_about_the_lengths(layer: type[nn.Module]) -> None:
    error = refused(Recurrent(layer), torch.randn(3, 4, 2), torch.tensor([2, 3, 1]))
    assert error.what.startswith("The lengths handed to pack_padded_sequence")
    assert error.exportdb == "packed_sequence_gradient"


class Decides(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x + 1
        return x


def decides(x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        return x + 1
    return x


@pytest.mark.parametrize(
    ("compiled", "name"),
    [(torch.jit.script(Decides()), "forward() of a ScriptModule"), (torch.jit.script(decides), "decides()")],
    ids=["module", "function"],
)
def test_compiled_code_that_decides_is_called_compiled(compiled: Any, name: str) -> None:
    error = refused(lambda x: compiled(x), torch.ones(3))
    assert f"within {name}, which TorchScript has compiled" in error.what
    assert error.instead.startswith("call the Python function or module that it was made from")
    dynamo_lite.export(Decides(), (torch.ones(3),))  # the advice works
    dynamo_lite.export(decides, (torch.ones(3),))


def test_the_call_that_a_handler_may_catch_is_the_programs_own() -> None:
    def program(x: Tensor, i: Tensor) -> Tensor:
        try:
            return x.view(int(i[0]), 3)
        except RuntimeError:
            return x

    error = refused(program, torch.ones(2, 3), torch.tensor([2]))
    assert error.what.startswith("x.view(int(i[0]), 3) (aten.view.default) raises an error for some data")


def test_expressions_are_of_the_users_own_frames() -> None:
    line = on_several_lines.__code__.co_firstlineno
    user = UserFrame(__file__, line, "on_several_lines", line, 4, 20)
    library = UserFrame(nn.functional.__file__, 1, "relu", 1, 0, 3)
    assert users_expression([user, library]) == "on_several_lines"
    assert users_expression([library]) == ""
    assert users_expression([UserFrame(__file__, line, "on_several_lines")]) == ""
