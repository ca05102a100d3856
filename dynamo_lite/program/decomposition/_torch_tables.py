"""torch's tables of decompositions, filled in less time.

Checked with torch 2.13.0, 2.14.1 and 2.15.0. ExportedProgram.run_decompositions looks all composite operators of the
process up once per namespace of torch.ops, and registers twenty Python kernels for each of 500 operators, of which
twelve, for autograd keys, are equal (torch/export/exported_program.py, _override_composite_implicit_decomp). `py_impl`
makes the annotations of its inner function anew at each registration. For a small program this is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from threading import RLock
from typing import Any

from torch._C import DispatchKey
from torch._export import utils
from torch._ops import OperatorBase
from torch.export import exported_program

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.undoing import changed

_lock = RLock()
_Kernel = Callable[..., Any]


@contextmanager
def filled_once() -> Iterator[None]:
    """Within, operators are looked up once, equal kernels are one, and kernels are registered without annotations."""
    with _lock:
        look_up, register = utils._materialize_cpp_cia_ops, OperatorBase.py_impl
        without_gradient = exported_program.autograd_not_implemented
        look_up()

        def py_impl(self: OperatorBase, key: Any) -> Callable[[_Kernel], _Kernel]:
            if type(key) is not DispatchKey or key == DispatchKey.Python or key in self.py_kernels:
                return register(self, key)  # another kind of key, or an error
            return partial(_put, self, key)

        with (
            changed(partial(setattr, utils, "_materialize_cpp_cia_ops", look_up)),
            changed(partial(setattr, OperatorBase, "py_impl", register)),
            changed(partial(setattr, exported_program, "autograd_not_implemented", without_gradient)),
        ):
            utils._materialize_cpp_cia_ops = _known
            OperatorBase.py_impl = py_impl  # type: ignore[method-assign,assignment]
            exported_program.autograd_not_implemented = cache(without_gradient)
            yield


def _known() -> None:
    """The operators have been looked up."""


def _put(operator: OperatorBase, key: DispatchKey, kernel: _Kernel) -> _Kernel:
    operator.py_kernels[key] = kernel
    operator._dispatch_cache.clear()
    return kernel


DISABLES = "the decompositions of a program"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:DispatchKey", "the kinds of kernels that a decomposition is registered for"),
    Symbol("torch._export:utils", "the module that looks composite operators up"),
    Symbol("torch.export:exported_program", "the module that registers kernels for them"),
    Symbol("torch._export.utils:_materialize_cpp_cia_ops", "the composite operators are looked up once"),
    Symbol("torch.export.exported_program:autograd_not_implemented", "equal kernels of an operator are made once"),
    Symbol("torch._ops:OperatorBase", "kernels are registered without annotations that are made each time"),
)
