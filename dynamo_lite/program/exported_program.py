"""The exported program: torch's own class, with input checks whose errors show the given value."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.types import FileLike

from dynamo_lite.capture.fakes.packed_sequences import known_sizes
from dynamo_lite.capture.graph.names import is_reserved, unusable_fqn
from dynamo_lite.errors import InvalidArguments, UnsupportedValue, UserFrame
from dynamo_lite.program.aliases import with_aliases, without_aliases
from dynamo_lite.program.decomposition import constant_inputs
from dynamo_lite.program.decomposition.decompose import asks_for_sizes, decompose
from dynamo_lite.program.decomposition.packed_sequences import has_packed, without_packed
from dynamo_lite.program.decomposition.plain_structures import plain, put_structures, structures
from dynamo_lite.program.decomposition.reshaped_inputs import reshaped
from dynamo_lite.program.decomposition.shared_inputs import refuse_changed, separated
from dynamo_lite.program.grad_mode import restore_after_errors
from dynamo_lite.program.input_check import InputCheck
from dynamo_lite.program.modules.lost_gradients import LostGradients, of_decomposed, refuse_lost
from dynamo_lite.program.modules.questions import Questions
from dynamo_lite.program.modules.recipe import Recipe
from dynamo_lite.program.saved_facts import ENTRY, give_facts, with_facts
from dynamo_lite.program.trees.container_state import StateRead
from dynamo_lite.program.trees.containers import declare_numbers, register_container, registered_classes
from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.program.trees.paths import leaves_with_path, unflatten
from dynamo_lite.program.trees.twins import Path
from dynamo_lite.program.trees.user_inputs import user_values
from dynamo_lite.program.trees.wrapper_inputs import class_guards, undecomposable
from dynamo_lite.program.unflattening import announced_to
from dynamo_lite.torch_internals._torch_dispatch import never_compiled
from dynamo_lite.torch_internals._torch_pytree import pytree

_STATE = (InputKind.PARAMETER, InputKind.BUFFER)


class Program(ExportedProgram):
    """An ExportedProgram whose `module()` checks its inputs before torch does: shape, dtype, structure and constants.

    torch checks shapes, structure and constants by assertions that name the expected value; they stay in the graph, and
    remain in a program after `torch.export.load` (docs/capture.md).

    `notes`: what the export skipped or assumed: text → the program's stack, outermost first.
    `specializations`: sizes that were fixed though they might have varied, with the reason.
    `trace`: the `dynamo_lite.Trace`, which has the guards and effects too.
    A program that was loaded has no notes, specializations and trace; a decomposed one has no trace.

    `input_paths[i]` is the key path of flat input i, the first key being the argument's name, as in `_guards_code`.
    `asked`: the dtypes and modes that its Python code has read; None if that is not known.
    `key_orders` names dicts among the arguments and the keys whose order in them the program has read;
    `state_reads` its reads of containers beside their leaves. `apart`: no container may be at two places of a
    call, except those of these pairs; None if it does not matter.
    `without_hooks`: the numbers of flat inputs whose hooks on gradients eager's call would run, and the program does
    not: a call whose input has one is refused. The values are the attributes of a tensor that hold such hooks.
    `lost_gradients`: results whose gradient is not eager's.
    `is_traced_again`: torch is about to trace `module()` again, and is to find its own operators there.
    """

    notes: Mapping[str, tuple[UserFrame, ...]] = MappingProxyType({})
    specializations: tuple[Any, ...] = ()
    trace: Any
    recipe: Recipe | None = None

    input_paths: list[pytree.KeyPath]
    key_orders: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = ()
    state_reads: tuple[StateRead, ...] = ()
    must_not_alias: tuple[tuple[Path, Path], ...] | None = None
    without_hooks: Mapping[int, tuple[str, ...]] = MappingProxyType({})

    questions: Questions | None = None
    is_traced_again: bool = False
    lost_gradients: LostGradients | None = None

    @never_compiled
    def module(self, check_guards: bool = True, check_dtypes: bool = True) -> fx.GraphModule:
        """The program as a module. check_dtypes=False: it takes inputs of any dtype, and is converted (`half()`) as a
        module of torch's is, whatever the graph contains; the computed values are then not checked."""
        # Imported here, since torch's class of modules imports TorchDynamo, which an export does not need.
        from dynamo_lite.program.modules.program_module import made_one, traceable, without_dtypes
        from dynamo_lite.program.modules.scans import run_iterations
        from dynamo_lite.program.modules.score_functions import look_up_as_eager
        from dynamo_lite.program.modules.taken_sides import run_taken_sides

        for why in self.why_no_module():
            raise InvalidArguments(why)
        program = self if check_dtypes else without_dtypes(self, None)
        check = InputCheck.of(program)
        if not check_dtypes:
            check = replace(check, dtypes=None)
        guarded = check_guards and check.is_checked_by_torch
        module = ExportedProgram.module(traceable(program), check_guards=guarded)
        if not self.is_traced_again:
            run_taken_sides(module)
            run_iterations(module)
            look_up_as_eager(module)
        module.register_forward_pre_hook(check.hook, with_kwargs=True, prepend=True)
        restore_after_errors(module)
        refuse_lost(module, self)
        made_one(module, self, check, {"check_guards": check_guards, "check_dtypes": check_dtypes}, _guards_of)
        return module

    def why_no_module(self) -> list[str]:
        """The parameters and buffers whose names a module of torch's cannot have, in words."""
        names = {spec.target for spec in self.graph_signature.input_specs if spec.kind in _STATE and spec.target}
        reasons = {name: unusable_fqn(name) for name in sorted(names)}
        return [
            f"the program cannot be made a module: it has {name} of the model, and {why}. Register it by another name"
            for name, why in reasons.items()
            if why is not None
        ]

    def __copy__(self) -> Self:
        return self._of(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        own = type(self).__new__(type(self))
        memo[id(self)] = own
        own.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return own

    def __reduce__(self) -> tuple[Any, ...]:
        """As the file that `save` writes. The classes of containers are registered again before it is read."""
        file = io.BytesIO()
        save(self, file)
        return _restored, (file.getvalue(), registered_classes(self))

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> Program:
        wrapped = undecomposable(self)
        if wrapped is not None:
            raise UnsupportedValue(
                wrapped,
                "a tensor that wraps others would become several inputs or outputs of the decomposed program, which "
                "torch has no signature for; as a parameter or a buffer it can be taken apart",
            )
        resized = reshaped(self)
        if resized is not None:
            raise UnsupportedValue(
                f"{resized}, whose sizes or strides the program changes in place",
                "torch's functionalisation would copy the new values into the old sizes; use the operator that returns "
                "a new tensor (`x = x.t()`)",
            )
        hiding = [name for name in self.call_spec.in_spec.child(1).context if is_reserved(name)]
        if hiding:
            raise InvalidArguments(
                f"the keyword argument {hiding[0]!r} cannot be one of a decomposed program: torch writes it in lower "
                "case there, which generated code cannot have as a parameter. Pass it by position, or rename it"
            )
        guards = self._guards_code
        bare: Any = copy.copy(separated(without_aliases(self)))
        bare.is_traced_again = True
        bare._guards_code = [guard for guard in guards if asks_for_sizes(guard)]
        known = structures(self)
        put_structures(bare, *map(plain, known))
        is_packed = has_packed(self)
        table = without_packed(decomp_table) if is_packed else decomp_table
        run = partial(ExportedProgram.run_decompositions, bare, table, **options)
        with constant_inputs.hidden(bare), known_sizes() if is_packed else nullcontext():
            decomposed, assumed = decompose(bare, run)
        refuse_changed(self, decomposed)
        constant_inputs.put_back(decomposed, self)
        program = type(self)._of(decomposed)
        put_structures(program, *known)
        program.input_paths = self.input_paths
        with_aliases(program, self)
        program._guards_code = list(dict.fromkeys([*guards, *assumed]))
        program.key_orders, program.state_reads = self.key_orders, self.state_reads
        program.must_not_alias = self.must_not_alias
        program.without_hooks = self.without_hooks
        program.questions, program.lost_gradients = self.questions, of_decomposed(self)
        program.notes, program.specializations = self.notes, self.specializations
        return program

    @property
    def graph_module(self) -> fx.GraphModule:
        module: fx.GraphModule = ExportedProgram.graph_module.fget(self)  # type: ignore[attr-defined]
        announced_to(self, module)
        return module

    @graph_module.setter
    def graph_module(self, module: fx.GraphModule) -> None:
        ExportedProgram.graph_module.fset(self, module)  # type: ignore[attr-defined]  # declared read-only

    @classmethod
    def _of(cls, program: ExportedProgram) -> Self:
        own = cls.__new__(cls)
        own.__dict__.update(program.__dict__)
        return own


def load(f: FileLike, **options: Any) -> Program:
    """`torch.export.load(f, **options)`, as a program that checks its inputs as the exported one did.

    What torch.export.load returns checks the guards in `module()`, but not after `run_decompositions()` or
    `torch.export.unflatten`; a program that this function returns does. Deep expressions of sizes are read in steps
    polynomial in their depth.
    """
    from dynamo_lite.program._torch_serde import shared_expressions  # here, as in module(): it imports TorchDynamo

    given = options.pop("extra_files", None)
    extra = {**(given or {}), ENTRY: "{}"}
    with shared_expressions():
        program = torch.export.load(f, extra_files=extra, **options)
    facts = extra.pop(ENTRY)
    if given is not None:
        given.update(extra)
    return loaded(program, json.loads(facts or "{}"))


def loaded(program: ExportedProgram, facts: dict[str, Any]) -> Program:
    """A program loaded by torch's functions, as a program of ours. facts: `saved_facts.facts_of` of the saved one."""
    own = Program._of(program)
    give_facts(own, facts)
    own.input_paths = _input_paths(own)
    return own


def _restored(file: bytes, classes: tuple[type, ...]) -> Program:
    """The other end of `Program.__reduce__`."""
    for cls in classes:
        register_container(cls)
    return load(io.BytesIO(file))


def _guards_of(program: ExportedProgram) -> nn.Module | None:
    """The module that checks the guards of a program, in torch's module of it."""
    from dynamo_lite.program.modules.program_module import traceable

    return ExportedProgram.module(traceable(program))._modules.get("_guards_fn")


def save(program: ExportedProgram, f: FileLike, **options: Any) -> None:
    """`torch.export.save(program, f, **options)`, the same file except for two entries: facts (saved_facts.py) and
    certificates, of a program whose trace is at hand (certificates.py). For sizes that
    are divided and multiplied many times over (fifty and more divisions deep), torch's own function takes long, or more
    stack than Python has."""
    from dynamo_lite.program._torch_serde import shared_expressions
    from dynamo_lite.program.certificates import with_certificates

    options["extra_files"] = with_certificates(program, with_facts(program, options.get("extra_files")))
    with shared_expressions():
        torch.export.save(program, f, **options)


def _input_paths(program: ExportedProgram) -> list[pytree.KeyPath]:
    """`Program.input_paths` of a program that was loaded: the parts of an object may depend on their kinds."""
    leaves = user_values(program)
    signature = program.module_call_graph[0].signature
    assert signature is not None
    declare_numbers(signature.in_spec, iter(leaves))
    args, kwargs = unflatten(leaves, signature.in_spec)
    named = dict(zip(signature.forward_arg_names or [], args))
    return [path for path, _ in leaves_with_path({**named, **kwargs})]


def type_guards(inputs: FlatInputs, expected: Sequence[Any]) -> list[str]:
    """Guards on the inputs' dtypes, and on inputs that must be integers, in the form that outlives `torch.export.save`.

    torch itself checks neither. expected: the values of the inputs' placeholders.
    """
    guards: list[str] = []
    for path, leaf, value in zip(inputs.key_paths, inputs.leaves, expected):
        name = "L" + pytree.keystr(path)
        if isinstance(leaf, torch.Tensor):
            guards.append(f"{name}.dtype == {leaf.dtype}")  # fx.symbolic_trace takes it as an operation
            guards += class_guards(name, leaf)
        elif isinstance(value, torch.SymInt):
            guards.append(f"isinstance({name}, (int, torch.SymInt))")
    return guards
