"""Errors of the program that hold a value which differs from call to call: their text can be read after the run."""

from __future__ import annotations

import copyreg
import time
import uuid

import pytest
import torch

import dynamo_lite
from dynamo_lite.guards.classes import form, has_another_form


def key_of_module(self, x):
    return x + {}[id(self)]


def key_of_input(self, x):
    return {}[id(x), "key"]


def a_clock(self, x):
    raise ValueError(time.time(), uuid.uuid4())


def a_text(self, x):
    raise ValueError(f"at {time.time()}")


@pytest.mark.parametrize("forward", [key_of_module, a_clock, a_text, key_of_input], ids=lambda f: f.__name__)
def test_the_error_can_be_printed(forward):
    program = type("Program", (torch.nn.Module,), {"forward": forward})()
    x = torch.ones(2)
    with pytest.raises(Exception) as eager:
        program(x)
    with pytest.raises(type(eager.value)) as found:
        dynamo_lite.export(program, (x,))
    assert str(found.value) and repr(found.value)
    if forward is key_of_module:
        assert str(found.value) == str(eager.value)


def test_the_names_that_copyreg_keeps_on_a_class_fail_no_guard():
    class Slotted:
        __slots__ = ("a",)

    before = form(Slotted)
    copyreg._slotnames(Slotted)
    assert "__slotnames__" in vars(Slotted)
    assert not has_another_form(Slotted, before)
