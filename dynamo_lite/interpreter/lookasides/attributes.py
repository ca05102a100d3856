"""getattr, isinstance and their relatives: through the data model, so that the observer sees the read or write."""

from __future__ import annotations

import operator
from typing import Any

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import DELETED

Handler = Any


def _getattr(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or not 2 <= len(args) <= 3 or not issubclass(type(args[1]), str):
        return vm.trampolines.call(getattr, args, kwargs)
    read = datamodel.getattr_ if type(args[1]) is str else _getattr_by_subclass
    if len(args) == 2:
        return read(vm, args[0], args[1])
    try:
        return read(vm, args[0], args[1])
    except AttributeError:
        vm.swallow()
        return args[2]


def _hasattr(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2 or not issubclass(type(args[1]), str):
        return vm.trampolines.call(hasattr, args, kwargs)
    read = datamodel.getattr_ if type(args[1]) is str else _getattr_by_subclass
    try:
        read(vm, args[0], args[1])
    except AttributeError:
        vm.swallow()
        return False
    return True


def _setattr(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 3 or type(args[1]) is not str:
        return _setattr_by_subclass(vm, args, kwargs)
    return datamodel.setattr_(vm, *args)


def _delattr(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return _delattr_by_subclass(vm, args, kwargs)
    return datamodel.delattr_(vm, *args)


def _plain(name: Any) -> Any:
    """A name as passed to the observer: without the class of a subclass of str (`class Key(str, Enum)`)."""
    return str.__str__(name) if issubclass(type(name), str) else name


def _getattr_by_subclass(vm: Any, obj: Any, name: Any) -> Any:
    return _reader(getattr)(vm, (obj, name), {})


def _reader(slot: Any) -> Handler:
    """`object.__getattribute__(obj, name)`: this slot and no override, reported to the observer."""

    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            value = vm.trampolines.call(slot, args, kwargs)
        except AttributeError:
            if vm.on_look is not None and len(args) == 2:
                vm.on_look("attr", args[0], _plain(args[1]))
            raise
        if vm.on_read is None or len(args) != 2:
            return value
        return vm.on_read("attr", args[0], _plain(args[1]), value)

    return handler


def _writer(slot: Any) -> Handler:
    """`object.__setattr__(obj, name, value)` and `type.__setattr__`: this slot and no override."""

    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) != 3 or kwargs:
            return vm.trampolines.call(slot, args, kwargs)
        obj, name, value = args
        if vm.before_write is not None and vm.before_write("attr", obj, _plain(name), value):
            return None
        vm.trampolines.call(slot, args)
        if issubclass(type(obj), type):
            datamodel.class_changed(vm, obj, _plain(name), value)
        return None

    return handler


def _deleter(slot: Any) -> Handler:
    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_told = vm.before_write is not None and len(args) == 2
        if is_told and vm.before_write("attr", args[0], _plain(args[1]), DELETED):
            return None
        return vm.trampolines.call(slot, args, kwargs)

    return handler


_setattr_by_subclass, _delattr_by_subclass = _writer(setattr), _deleter(delattr)


def _isinstance(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2:
        return vm.trampolines.call(isinstance, args, kwargs)
    return datamodel.isinstance_(vm, *args)


def _issubclass(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2:
        return vm.trampolines.call(issubclass, args, kwargs)
    return datamodel.issubclass_(vm, *args)


# -- operator ----------------------------------------------------------------------------------------------------


def _getitem(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2:
        return vm.trampolines.call(operator.getitem, args, kwargs)
    return datamodel.getitem(vm, *args)


def _setitem(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 3:
        return vm.trampolines.call(operator.setitem, args, kwargs)
    return datamodel.setitem(vm, *args)


def _delitem(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2:
        return vm.trampolines.call(operator.delitem, args, kwargs)
    return datamodel.delitem(vm, *args)


def _identity(compare: Any) -> Handler:
    """`operator.is_` and `operator.is_not`: reported to the observer as the instruction is."""

    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) != 2 or kwargs:
            return vm.trampolines.call(compare, args, kwargs)
        return datamodel.is_(vm, *args) is (compare is operator.is_)

    return handler


def _attrgetter(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    getter, *rest = args
    if len(rest) != 1 or kwargs or type(getter) is not operator.attrgetter:
        return vm.trampolines.call(operator.attrgetter.__call__, args, kwargs)
    paths: Any = getter.__reduce__()[1]
    found = []
    for path in paths:
        value = rest[0]
        for name in path.split("."):
            value = datamodel.getattr_(vm, value, name)
        found.append(value)
    return found[0] if len(found) == 1 else tuple(found)


def _itemgetter(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    getter, *rest = args
    if len(rest) != 1 or kwargs or type(getter) is not operator.itemgetter:
        return vm.trampolines.call(operator.itemgetter.__call__, args, kwargs)
    keys: Any = getter.__reduce__()[1]
    found = [datamodel.getitem(vm, rest[0], key) for key in keys]
    return found[0] if len(found) == 1 else tuple(found)


def _methodcaller(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    caller, *rest = args
    if len(rest) != 1 or kwargs or type(caller) is not operator.methodcaller:
        return vm.trampolines.call(operator.methodcaller.__call__, args, kwargs)
    reduced: Any = caller.__reduce__()
    maker, made_with = reduced
    named: dict[str, Any] = {}
    if maker is not operator.methodcaller:  # with keyword arguments: partial(methodcaller, name, **keywords)
        named, made_with = maker.keywords, (*maker.args, *made_with)
    name, *given = made_with
    return vm.call(datamodel.getattr_(vm, rest[0], name), tuple(given), named)


TABLE: dict[Any, Handler] = {
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    delattr: _delattr,
    isinstance: _isinstance,
    issubclass: _issubclass,
    object.__getattribute__: _reader(object.__getattribute__),
    type.__getattribute__: _reader(type.__getattribute__),
    object.__setattr__: _writer(object.__setattr__),
    type.__setattr__: _writer(type.__setattr__),
    object.__delattr__: _deleter(object.__delattr__),
    type.__delattr__: _deleter(type.__delattr__),
    operator.is_: _identity(operator.is_),
    operator.is_not: _identity(operator.is_not),
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    operator.delitem: _delitem,
    operator.attrgetter.__call__: _attrgetter,
    operator.itemgetter.__call__: _itemgetter,
    operator.methodcaller.__call__: _methodcaller,
}
