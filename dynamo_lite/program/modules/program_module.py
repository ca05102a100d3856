"""The class of what `program.module()` returns: torch's own module, which also knows the program that it is of."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram

from dynamo_lite.errors import UnsupportedConversion, UnsupportedMode
from dynamo_lite.program.input_check import InputCheck
from dynamo_lite.program.modules import conversion, modes
from dynamo_lite.program.modules._torch_module import StatefulGraphModule
from dynamo_lite.program.modules.lost_gradients import refuse_lost
from dynamo_lite.program.modules.questions import Questions
from dynamo_lite.program.modules.recipe import Recipe

Guards = Callable[[ExportedProgram], nn.Module | None]


@dataclass(frozen=True)
class ModuleOrigin:
    """The origin of a module, for later operations on it. `code` is its code then: a module whose graph the user has
    changed since is not the program's.

    guards: makes the `_guards_fn` of a module of a program. dtypes: maps converted dtypes to the new ones.
    conversions: the functions that have done so. mode: the mode by `train()`; modes: the program of each mode that
    there has been.
    """

    program: ExportedProgram
    check: InputCheck
    code: str
    options: Mapping[str, Any]
    guards: Guards
    dtypes: Mapping[torch.dtype, torch.dtype] = field(default_factory=dict)
    conversions: tuple[conversion.Convert, ...] = ()
    mode: bool | None = None
    modes: Mapping[bool, ExportedProgram] = field(default_factory=dict)

    @property
    def questions(self) -> Questions | None:
        return getattr(self.program, "questions", None)

    @property
    def recipe(self) -> Recipe | None:
        return getattr(self.program, "recipe", None)

    def is_for(self, mode: bool) -> bool:
        """Whether the program computes the same as the model in this mode."""
        if self.mode is not None:
            return self.mode is mode
        questions, recipe = self.questions, self.recipe
        if recipe is not None and recipe.mode is mode:
            return True
        if questions is None or (recipe is not None and recipe.has_own_mode):
            return False
        return not questions.modes or questions.was_training is mode

    def why_of_one_mode(self) -> str:
        if self.questions is None or not self.questions.modes:
            return "the program does not record the mode that it was exported for"
        return f"the program was exported in the other one, and asks for it:\n  {self.questions.modes[0]}"

    def __deepcopy__(self, memo: Any) -> ModuleOrigin:
        return self


class ProgramModule(StatefulGraphModule):
    """The result of `program.module()`. A copy whose graph was changed behaves as torch's modules do."""

    def origin_of(self) -> ModuleOrigin | None:
        """Where this module came from, unless its graph has been changed since."""
        origin: ModuleOrigin | None = self.__dict__.get("_origin")
        return origin if origin is not None and origin.code == self.code else None

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> ProgramModule:
        """`to`, `half`, `double`, `cuda`, ...: see conversion.py. The program and the model keep their own tensors."""
        origin = self.origin_of()
        if origin is None:
            return super()._apply(fn, recurse)
        tensors = conversion.tensors_of(self)
        inputs = [value for value in origin.check.expected if isinstance(value, torch.Tensor)]
        now = {origin.dtypes.get(tensor.dtype, tensor.dtype) for tensor in inputs}
        floating = {d for d in (*now, *(tensor.dtype for tensor in tensors)) if d.is_floating_point}
        dtypes = conversion.changed_dtypes(fn, floating)
        devices = conversion.changed_devices(fn, {tensor.device for tensor in tensors})
        if dtypes or devices:
            again = self._exported_again(fn, origin, dtypes, devices)
            if again is not None:
                return self._become(again)
            _own_parameters(self)
        super()._apply(fn, recurse)
        if dtypes or devices:
            conversions = (*origin.conversions, fn)
            self.__dict__["_origin"] = replace(origin, conversions=conversions, modes={})
        if dtypes and origin.check.dtypes is not None:
            self.follow({**origin.dtypes, **dtypes, **{o: dtypes.get(n, n) for o, n in origin.dtypes.items()}})
        return self

    def _exported_again(
        self, fn: Callable[..., Any], origin: ModuleOrigin, dtypes: Mapping[Any, Any], devices: Mapping[Any, Any]
    ) -> ProgramModule | None:
        """The module of the converted model's program, where this graph may not be it. Raises UnsupportedConversion."""
        recipe = origin.recipe if origin.check.dtypes is not None else None
        refused = None
        try:
            if dtypes and origin.check.dtypes is not None:
                conversion.check_dtypes(self, dtypes, origin.questions)
            if devices:
                conversion.check_devices(self, devices)
        except UnsupportedConversion as error:
            if recipe is None:
                raise
            refused = error
        if recipe is None or (refused is None and not recipe.has_own_rule):
            return None
        try:
            made: ProgramModule = recipe.converted(fn, origin.program, self).module(**origin.options)  # type: ignore[assignment]
        except UnsupportedConversion as error:
            raise UnsupportedConversion(f"{error}\n{refused or ''}".rstrip()) from error
        return made

    def _become(self, other: ProgramModule) -> ProgramModule:
        """This very object, as `other` is."""
        hooks = (*self._forward_hooks.values(), *self._forward_pre_hooks.values())
        if not all(map(modes.is_own, hooks)):
            raise UnsupportedConversion(
                "The module has hooks, which the converted one would lose: add them afterwards."
            )
        self.__class__ = type(other)
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)
        return self

    def follow(self, dtypes: Mapping[torch.dtype, torch.dtype]) -> None:
        """From now on inputs of the dtypes that have been converted may have the new ones."""
        origin: ModuleOrigin = self.__dict__["_origin"]
        plain = without_dtypes(origin.program, dtypes)
        check = replace(InputCheck.of(plain, guards=True), dtypes=dtypes)
        for key, hook in self._forward_pre_hooks.items():
            if getattr(hook, "__self__", None) is origin.check:
                self._forward_pre_hooks[key] = check.hook
        guards = origin.guards(plain)
        if guards is not None and "_guards_fn" in self._modules:
            self._modules["_guards_fn"] = guards
        self.__dict__["_origin"] = replace(origin, check=check, dtypes=dict(dtypes))

    def train(self, mode: bool = True) -> ProgramModule:
        """As the model's own `train(mode)`: the program of that mode, exported on first use, with the parameters and
        buffers that this module has. UnsupportedMode, which is a NotImplementedError, where there is no model to
        export."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        origin = self.origin_of()
        if origin is None:
            raise UnsupportedMode(_no_mode(mode, "its graph has been changed since it was exported"))
        if not origin.is_for(mode):
            self._switch(mode, origin)
        for part in self.modules():
            part.training = mode
        return self

    def _switch(self, mode: bool, origin: ModuleOrigin) -> None:
        """The program of the other mode. Raises UnsupportedMode."""
        recipe = origin.recipe
        program = origin.modes.get(mode)
        known = program is not None
        if program is None:
            if recipe is None:
                raise UnsupportedMode(_no_mode(mode, origin.why_of_one_mode()))
            try:
                program = recipe.switched(mode, origin.program, self, origin.conversions)
            except UnsupportedConversion as error:
                raise UnsupportedMode(_no_mode(mode, f"{origin.why_of_one_mode()}\n{error}")) from error
        made: ProgramModule = program.module(**origin.options)  # type: ignore[assignment]
        if known:
            modes.put_tensors(made, self, set(program.graph_signature.lifted_tensor_constants))
        modes.become(self, made)
        programs = {**origin.modes, mode: program}
        if origin.mode is None and not origin.conversions:
            programs[not mode] = origin.program
        if recipe is not None and recipe.has_own_mode:
            programs.clear()  # each switch may change the weights
        self.__dict__["_origin"] = replace(self.__dict__["_origin"], mode=mode, modes=programs)

    def eval(self) -> ProgramModule:
        return self.train(False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = super().__deepcopy__(memo)
        if "_origin" in self.__dict__:
            made.__dict__["_origin"] = self.__dict__["_origin"]
            refuse_lost(made, self.__dict__["_origin"].program)  # fx copies no hooks of forward
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """As the program, and the values that the module's tensors have now."""
        origin = self.origin_of()
        if origin is None:
            return super().__reduce__()
        named = (*self.named_parameters(remove_duplicate=False), *self.named_buffers(remove_duplicate=False))
        plain = {id(value): value.detach() for _, value in named}  # one object for a tied parameter
        tensors = {name: (plain[id(value)], value.requires_grad) for name, value in named}
        return _restored, (origin.program, dict(origin.options), dict(origin.dtypes), tensors)


def _restored(
    program: ExportedProgram,
    options: dict[str, Any],
    dtypes: dict[torch.dtype, torch.dtype],
    tensors: dict[str, tuple[torch.Tensor, bool]],
) -> fx.GraphModule:
    """The other end of `ProgramModule.__reduce__`."""
    module = program.module(**options)
    made: dict[int, nn.Parameter] = {}  # a tied parameter is one object
    for name, (value, requires_grad) in tensors.items():
        path, _, leaf = name.rpartition(".")
        owner = module.get_submodule(path)
        if leaf in owner._parameters:
            owner._parameters[leaf] = made.setdefault(id(value), nn.Parameter(value, requires_grad))
        else:
            owner._buffers[leaf] = value
    if dtypes:
        module.follow(dtypes)  # type: ignore[operator]
    return module


def _no_mode(mode: bool, why: str) -> str:
    return (
        f"Calling {'train' if mode else 'eval'}() is not supported: {why}\nExport the model in each mode "
        "(dynamo_lite.export_methods keeps both in one file, with the weights once)."
    )


def _own_parameters(module: nn.Module) -> None:
    """New Parameters over the same memory: `Module._apply` puts other data into the very objects that it finds."""
    made: dict[int, nn.Parameter] = {}
    for part in module.modules():
        for name, old in part._parameters.items():
            if old is not None:
                new = made.get(id(old))
                if new is None:
                    new = made[id(old)] = nn.Parameter(old.detach(), old.requires_grad)
                part._parameters[name] = new


def without_dtypes(program: ExportedProgram, dtypes: Mapping[torch.dtype, torch.dtype] | None) -> ExportedProgram:
    """The program without its guards on these dtypes of inputs; on any, if None."""
    plain = copy.copy(program)
    plain._guards_code = conversion.without_dtypes(program._guards_code, dtypes)
    return plain


def traceable(program: ExportedProgram) -> ExportedProgram:
    """The program with guards that fx.symbolic_trace and torch.jit.trace take: `2 <= size <= 9` evaluates the truth of
    its first part, which a traced value does not have."""
    guards = [part for guard in program._guards_code for part in separate_comparisons(guard)]
    if guards == program._guards_code:
        return program
    plain = copy.copy(program)
    plain._guards_code = guards
    return plain


def made_one(
    module: fx.GraphModule, program: ExportedProgram, check: InputCheck, options: Mapping[str, Any], guards: Guards
) -> None:
    """Makes a module that torch has made of `program` a ProgramModule. fx makes a class for each instance."""
    for name in ("train", "eval"):
        module.__dict__.pop(name, None)  # torch's own, which raise NotImplementedError
    type(module).__bases__ = (ProgramModule,)
    module.__dict__["_origin"] = ModuleOrigin(program, check, module.code, options, guards)


# Comparisons of guards, one at a time.


def separate_comparisons(guard: str) -> list[str]:
    """`2 <= size <= 9` as `2 <= size` and `size <= 9`; any other guard as it is."""
    if guard.count("<") + guard.count(">") < 2:
        return [guard]
    found = ast.parse(guard, mode="eval").body
    if not isinstance(found, ast.Compare) or len(found.ops) < 2:
        return [guard]
    terms = [found.left, *found.comparators]
    pairs = zip(terms, found.ops, found.comparators)
    return [ast.unparse(ast.Compare(left, [op], [right])) for left, op, right in pairs]
