"""Constants, the value stack, local variables, cells, names and globals."""

from __future__ import annotations

from types import CellType
from typing import TYPE_CHECKING, Any, NoReturn

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import MISSING, NULL, UNBOUND, cell_value

from .. import datamodel
from ..observer import DELETED

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


@handler
def LOAD_CONST(frame: Frame, stack: Stack, value: Any) -> None:
    stack.append(value)


@handler
def POP_TOP(frame: Frame, stack: Stack, _: int) -> None:
    stack.pop()


@handler
def PUSH_NULL(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(NULL)


@handler
def COPY(frame: Frame, stack: Stack, depth: int) -> None:
    stack.append(stack[-depth])


@handler
def SWAP(frame: Frame, stack: Stack, depth: int) -> None:
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


# ---------------------------------------------------------------------- local variables


def unbound_local(frame: Frame, index: int) -> NoReturn:
    if frame.vm.on_unbound is not None:
        frame.vm.on_unbound(frame, index)
    name = frame.info.names[index]
    raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")


@handler
def LOAD_FAST(frame: Frame, stack: Stack, index: int) -> None:
    value = frame.locals[index]
    if value is UNBOUND:
        unbound_local(frame, index)
    stack.append(value)


@handler
def LOAD_FAST_AND_CLEAR(frame: Frame, stack: Stack, index: int) -> None:
    """Save a variable, bound or not, around an inlined comprehension (PEP 709)."""
    stack.append(frame.locals[index])
    frame.locals[index] = UNBOUND


@handler
def STORE_FAST(frame: Frame, stack: Stack, index: int) -> None:
    frame.locals[index] = stack.pop()


@handler
def DELETE_FAST(frame: Frame, stack: Stack, index: int) -> None:
    if frame.locals[index] is UNBOUND:
        unbound_local(frame, index)
    frame.locals[index] = UNBOUND


# ---------------------------------------------------------------------- cells


def _empty_cell(frame: Frame, index: int) -> NoReturn:
    name = frame.info.names[index]
    if name in frame.code.co_freevars:
        what = "where it is not associated with a value in enclosing scope"
        raise NameError(f"cannot access free variable '{name}' {what}", name=name)
    unbound_local(frame, index)


@handler
def MAKE_CELL(frame: Frame, stack: Stack, index: int) -> None:
    value = frame.locals[index]
    frame.locals[index] = CellType() if value is UNBOUND else CellType(value)


def _load_cell(frame: Frame, index: int) -> Any:
    cell = frame.locals[index]
    value = cell_value(cell)
    if value is UNBOUND:
        _empty_cell(frame, index)
    on_read = frame.vm.on_read
    return value if on_read is None else on_read("cell", cell, frame.info.names[index], value)


@handler
def LOAD_DEREF(frame: Frame, stack: Stack, index: int) -> None:
    stack.append(_load_cell(frame, index))


@handler
def STORE_DEREF(frame: Frame, stack: Stack, index: int) -> None:
    value = stack.pop()
    cell = frame.locals[index]
    if frame.vm.before_write is not None:
        frame.vm.before_write("cell", cell, frame.info.names[index], value)
    cell.cell_contents = value


@handler
def DELETE_DEREF(frame: Frame, stack: Stack, index: int) -> None:
    cell = frame.locals[index]
    if cell_value(cell) is UNBOUND:
        _empty_cell(frame, index)
    if frame.vm.before_write is not None:
        frame.vm.before_write("cell", cell, frame.info.names[index], DELETED)
    del cell.cell_contents


# ---------------------------------------------------------------------- names and globals


def _lookup(frame: Frame, kind: str, owner: Any, name: str) -> Any:
    """owner[name] seen by the observer, or MISSING. A namespace may be any mapping (a metaclass' __prepare__)."""
    if type(owner) is dict:
        value = owner.get(name, MISSING)
        if value is MISSING:
            return MISSING
    else:
        try:
            value = datamodel.getitem(frame.vm, owner, name)
        except KeyError:
            return MISSING
    on_read = frame.vm.on_read
    return value if on_read is None else on_read(kind, owner, name, value)


def lookup_global(frame: Frame, name: str) -> Any:
    """The global or builtin `name`. Raises NameError."""
    globals_, builtins, on_read = frame.globals, frame.builtins, frame.vm.on_read
    if type(globals_) is dict and name not in globals_ and type(builtins) is dict and name in builtins:
        value = builtins[name]  # the common case of what follows
        return value if on_read is None else on_read("builtin", builtins, name, value)
    value = _lookup(frame, "global", globals_, name)
    if value is not MISSING:
        return value
    value = _lookup(frame, "builtin", builtins, name)
    if value is MISSING:
        if frame.vm.on_look is not None:
            frame.vm.on_look("global", globals_, name)
        raise NameError(f"name '{name}' is not defined", name=name)
    return value


@handler
def LOAD_GLOBAL(frame: Frame, stack: Stack, name: str) -> None:
    globals_ = frame.globals
    if type(globals_) is dict and (value := globals_.get(name, MISSING)) is not MISSING:
        on_read = frame.vm.on_read
        stack.append(value if on_read is None else on_read("global", globals_, name, value))
    else:
        stack.append(lookup_global(frame, name))


@handler
def LOAD_GLOBAL_CALLEE(frame: Frame, stack: Stack, name: str) -> None:
    stack.append(NULL)
    globals_ = frame.globals
    if type(globals_) is dict and (value := globals_.get(name, MISSING)) is not MISSING:
        on_read = frame.vm.on_read
        stack.append(value if on_read is None else on_read("global", globals_, name, value))
    else:
        stack.append(lookup_global(frame, name))


def _namespace(frame: Frame, what: str, name: str) -> Any:
    if frame.namespace is None:
        raise SystemError(f"no locals when {what} {name!r}")
    return frame.namespace


def _write(frame: Frame, kind: str, owner: Any, name: str, value: Any) -> None:
    if frame.vm.before_write is not None:
        frame.vm.before_write(kind, owner, name, value)
    if type(owner) is dict:
        owner[name] = value
    else:
        datamodel.setitem(frame.vm, owner, name, value)


@handler
def STORE_GLOBAL(frame: Frame, stack: Stack, name: str) -> None:
    _write(frame, "global", frame.globals, name, stack.pop())


@handler
def STORE_NAME(frame: Frame, stack: Stack, name: str) -> None:
    _write(frame, _kind(frame), _namespace(frame, "storing", name), name, stack.pop())


def _kind(frame: Frame) -> str:
    """A module's names are its globals."""
    return "global" if frame.namespace is frame.globals else "name"


def _delete(frame: Frame, kind: str, owner: Any, name: str) -> None:
    if frame.vm.before_write is not None and name in owner:
        frame.vm.before_write(kind, owner, name, DELETED)
    missing = False
    try:
        if type(owner) is dict:
            del owner[name]
        else:
            datamodel.delitem(frame.vm, owner, name)
    except KeyError:
        missing = True
    if missing:
        raise NameError(f"name '{name}' is not defined", name=name)


@handler
def DELETE_GLOBAL(frame: Frame, stack: Stack, name: str) -> None:
    _delete(frame, "global", frame.globals, name)


@handler
def DELETE_NAME(frame: Frame, stack: Stack, name: str) -> None:
    _delete(frame, _kind(frame), _namespace(frame, "deleting", name), name)


@handler
def LOAD_NAME(frame: Frame, stack: Stack, name: str) -> None:
    value = _lookup(frame, _kind(frame), _namespace(frame, "loading", name), name)
    stack.append(lookup_global(frame, name) if value is MISSING else value)


@handler
def LOAD_LOCALS(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(_namespace(frame, "loading", "locals"))


@handler
def LOAD_FROM_DICT_OR_GLOBALS(frame: Frame, stack: Stack, name: str) -> None:
    value = _lookup(frame, "name", stack.pop(), name)
    stack.append(lookup_global(frame, name) if value is MISSING else value)


@handler
def LOAD_FROM_DICT_OR_DEREF(frame: Frame, stack: Stack, index: int) -> None:
    value = _lookup(frame, "name", stack.pop(), frame.info.names[index])
    stack.append(_load_cell(frame, index) if value is MISSING else value)


@handler
def SETUP_ANNOTATIONS(frame: Frame, stack: Stack, _: int) -> None:
    namespace = _namespace(frame, "setting up annotations", "")
    if _lookup(frame, _kind(frame), namespace, "__annotations__") is MISSING:
        _write(frame, _kind(frame), namespace, "__annotations__", {})


@handler
def LOAD_ASSERTION_ERROR(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(AssertionError)


def assign_name(frame: Frame, name: str, value: Any) -> None:
    """Bind `name` in the frame's namespace (from ... import *)."""
    _write(frame, _kind(frame), _namespace(frame, "storing", name), name, value)
