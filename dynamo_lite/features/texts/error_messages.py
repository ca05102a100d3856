"""Texts of exceptions that the program catches, and that fake tensors or symbolic sizes have a part in.

An operator's error has eager's text for the example's sizes (capture/kernels/eager_errors.py): reading it takes these
sizes. Others contain "size s0" or "'FakeTensor' object" where eager has a number and 'Tensor' (or 'Parameter'): reading
them is refused, except for an attribute that a tensor lacks, whose error holds the tensor. The text changes where the
program gets the exception: C++ reads the text of those that pass through.
"""

from __future__ import annotations

import re

import torch

from dynamo_lite.features.texts.formatting import TextsAtWork
from dynamo_lite.tracing.heap.raised_errors import Raised
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_CLASSES = re.compile(r"\b(FakeTensor|SymInt|SymFloat|SymBool)\b")
_STAND_IN = re.compile(r"\bFakeTensor\b")
_SYMBOLS = re.compile(r"\b[a-z]+\d+\b")
_NUMBER = re.compile(r"\d")
"""A text without numbers is the same for each size for which the operator fails like that, which is a fact."""


def check(tracer: TracerView, error: BaseException) -> None:
    """Check, before the program handles an exception, whether its text is eager's."""
    if error is tracer.own(Raised).last or tracer.writes.is_old(error):
        return  # the words are the program's own
    if len(error.args) != 1 or type(error.args[0]) is not str or isinstance(error, KeyError):
        return  # what a KeyError is given is the key
    text = error.args[0]
    worded_for = tracer.recorder.worded_for
    if worded_for is not None and worded_for[0] is error:
        if worded_for[1] is None or (worded_for[1] and _NUMBER.search(text)):
            error.args = (tracer.own(TextsAtWork).of_error(text, worded_for[1]),)
        return
    if type(error) is AttributeError and is_fake(error.obj) and text == _no_attribute(error):
        reword(tracer, error)
        return
    env = tracer.recorder.env
    symbols = env.core.symbols if env is not None else ()
    if _CLASSES.search(text) or (symbols and any(name in symbols for name in _SYMBOLS.findall(text))):
        error.args = (tracer.own(TextsAtWork).of_error(text, None),)


def _no_attribute(error: AttributeError) -> str:
    """CPython's text for an attribute that an object lacks, built from the class and the name alone."""
    return f"{type(error.obj).__name__!r} object has no attribute {error.name!r}"


def reword(tracer: TracerView, error: Exception) -> None:
    """Give an error that ends the program the class name of the user's tensor in place of the fake tensor's."""
    if error is tracer.own(Raised).last or len(error.args) != 1 or type(error.args[0]) is not str:
        return
    owner = getattr(error, "obj", None)  # of an AttributeError
    kind = real_type(owner) if is_fake(owner) else torch.Tensor
    error.args = (_STAND_IN.sub(kind.__name__, error.args[0]),)
