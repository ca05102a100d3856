"""Frames and tracebacks in modules, attributes and types of tensors, sizes in bytes."""

# ruff: noqa: E721, E742, RUF015, UP030, UP032

from __future__ import annotations

import collections
import copy
import functools
import inspect
import operator
import sys
import traceback
import typing

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def leaf(*s):
    return t(*s, requires_grad=True)


@equal
def stack_in_submodule():
    class I(Base):
        def forward(self, x):
            return (
                x * (inspect.stack()[1].function == '_call_impl')
                + len([1 for s in inspect.stack()[:4] if 'call_impl' in s.function])
            )


    class M(Base):
        def forward(self, x):
            return self.i(x)


    return (M(i=I()), (t(3),))


@equal
def getframe_in_submodule():
    class I(Base):
        def forward(self, x):
            return (
                x * len(sys._getframe(1).f_code.co_name),
                sys._getframe(2).f_code.co_name,
                sys._getframe(3).f_code.co_name,
            )


    class M(Base):
        def forward(self, x):
            return self.i(x)


    return (M(i=I()), (t(3),))


@equal
def fback_in_submodule():
    class I(Base):
        def forward(self, x):
            fr = sys._getframe()
            n = 0
            while fr.f_code.co_name != 'outer':
                fr = fr.f_back
                n += 1
            return x * n


    class M(Base):
        def outer(self, x):
            return self.i(x)

        def forward(self, x):
            return self.outer(x)


    return (M(i=I()), (t(3),))


@equal
def currentframe_in_submodule():
    class I(Base):
        def forward(self, x):
            return x * len(inspect.currentframe().f_back.f_code.co_name)


    class M(Base):
        def forward(self, x):
            return self.i(x)


    return (M(i=I()), (t(3),))


@equal
def exit_traceback_in_module():
    class C:
        def __enter__(s):
            s.n = 0
            return s

        def __exit__(s, a, b, tb):
            while tb:
                s.n += 1
                tb = tb.tb_next
            return True


    class I(Base):
        def forward(self, x):
            raise KeyError


    class M(Base):
        def forward(self, x):
            with C() as c:
                self.i(x)
            return x * c.n


    return (M(i=I()), (t(3),))


@equal
def traceback_exception_class():
    class I(Base):
        def forward(self, x):
            raise KeyError('a')


    class M(Base):
        def forward(self, x):
            try:
                self.i(x)
            except KeyError as e:
                entries = traceback.TracebackException.from_exception(e).stack
                return (x * len(entries), len(traceback.format_exception(e)))


    return (M(i=I()), (t(3),))


@equal
def walk_tb_in_module():
    class I(Base):
        def forward(self, x):
            return self.l(x[:, :1])


    class M(Base):
        def forward(self, x):
            try:
                self.i(x)
            except RuntimeError as e:
                return x * len(list(traceback.walk_tb(e.__traceback__)))


    return (M(i=I(l=nn.Linear(3, 3))), (t(2, 3),))


@equal
def inspect_trace():
    class I(Base):
        def forward(self, x):
            raise KeyError('a')


    class M(Base):
        def forward(self, x):
            try:
                self.i(x)
            except KeyError:
                return x * len(inspect.trace())


    return (M(i=I()), (t(3),))


@equal
def deepcopy_attribute_of_tensor():
    def f(x):
        y = x.clone()
        y.tag = [1, 2]
        z = copy.deepcopy(y.detach())
        w = copy.copy(y)
        return (z + hasattr(z, 'tag') + 2 * hasattr(w, 'tag'), w)

    return (f, (t(3),))


@equal
def deepcopy_tensor_with_attr():
    def f(x):
        y = x.clone()
        y.tag = [1, 2]
        z = copy.deepcopy(y)
        return z + len(z.tag) + (z.tag is y.tag)

    return (f, (t(3),))


@equal
def tensor_attribute_kept_by_view():
    def f(x):
        y = x.clone()
        y.tag = 3
        return y + hasattr(y.view(-1), 'tag') + 2 * hasattr(y.add_(1), 'tag') + 4 * hasattr(y.data, 'tag')

    return (f, (t(3),))


@equal
def tensor_dir():
    def f(x):
        return (
            x + ('fake_mode' in dir(x)) + ('item_memo' in dir(x)) + hasattr(x, 'fake_device')
            + hasattr(x, 'constant') * 2
        )

    return (f, (t(3),))


@equal
def tensor_type_name():
    def f(x):
        return (
            x + len(type(x).__name__) + len(x.__class__.__qualname__),
            str(type(x)),
            type(x).__mro__[0].__name__,
            x.type(),
        )

    return (f, (t(3),))


@equal
def tensor_type_through_c():
    def f(x):
        return (
            x + len(list(map(type, [x]))[0].__name__),
            {type(x): 1}.get(torch.Tensor),
            operator.attrgetter('__class__.__name__')(x),
            [*map(operator.attrgetter('__class__'), [x])][0] is torch.Tensor,
            '{0.__class__.__name__}'.format(x),
            inspect.getmro(type(x))[0].__name__,
            functools.reduce(getattr, ['__class__', '__name__'], x),
        )

    return (f, (t(3),))


@equal
def tensor_isinstance_c():
    def f(x):
        return (
            x,
            isinstance(x, torch.Tensor),
            isinstance(x, (int, torch.Tensor)),
            issubclass(type(x), torch.Tensor),
            type(x) in (torch.Tensor,),
            type(x) == torch.Tensor,
            isinstance(x, nn.Parameter),
            isinstance(x, torch.FloatTensor),
            type(x) is type(x + 1),
            torch.is_tensor(x),
            {torch.Tensor: 2}[type(x)],
            isinstance(x, collections.abc.Iterable),
            isinstance(x, collections.abc.Hashable),
            isinstance(x, typing.Sized),
        )

    return (f, (t(3),))


@equal
def tensor_match_class():
    def f(x):
        match x:
            case torch.Tensor(grad_fn=None, requires_grad=False, is_leaf=True):
                return x * 2
            case torch.Tensor():
                return x * 3

    return Case(f, (t(3),), also=[((leaf(3),), {})])


@refused('autograd-graph')
def tensor_attrgetter_grad_fn():
    def f(x):
        return x * (operator.attrgetter('grad_fn.__class__.__name__')(x * 2) == 'MulBackward0')

    return (f, (leaf(3),))


@refused('autograd-graph')
def tensor_getattribute_dunder():
    def f(x):
        return x * (type((x * 2).__getattribute__('grad_fn')).__name__ == 'MulBackward0')

    return (f, (leaf(3),))


@refused('autograd-graph')
def tensor_descriptor_get():
    def f(x):
        return x * len(type(torch.Tensor.grad_fn.__get__(x * 2)).__name__)

    return (f, (leaf(3),))


@refused('tensor-attribute')
def tensor_descriptor_class():
    def f(x):
        return (
            x * len(object.__getattribute__(x, '__class__').__name__),
            len(torch.Tensor.__dict__['__dict__'].__get__(x)) if '__dict__' in torch.Tensor.__dict__ else 0,
        )

    return (f, (t(3),))


@refused('data-dependent-value')
def tensor_reduce_protocol():
    def f(x):
        return (x, len(x.__reduce_ex__(2)))

    return (f, (t(3),))


@refused('unrecordable-value')
def tensor_sizeof():
    def f(x):
        return x * (sys.getsizeof(x) % 7)

    return (f, (t(3),))


@refused('unrecordable-value')
def getsizeof_list():
    def f(x):
        return x * (sys.getsizeof([1, 2, 3]) % 7)

    return (f, (t(3),))


@refused('unrecordable-value')
def tensor_version_counter():
    def f(x):
        y = x.clone()
        y.add_(1)
        return y * y._version

    return (f, (t(3),))


@refused('unrecordable-id')
def tensor_cdata_name():
    def f(x):
        return x * (x._cdata % 7)

    return (f, (t(3),))


@equal
def tensor_alias_apis():
    def f(x):
        y = x[1:]
        return x * (1 + torch._C._overlaps(x, y)) if hasattr(torch._C, '_overlaps') else x

    return (f, (t(3),))


@equal
def is_alias_of():
    def f(x):
        return x * (1 + torch._C._is_alias_of(x, x[1:]))

    return (f, (t(3),))

