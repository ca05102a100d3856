"""preserve_module_call_signature: how chosen submodules were called, for `torch.export.unflatten`.

An entry of `module_call_graph` names the nodes that went into a call and came out of it, with their structure. Checked
with torch 2.13.0 (torch/export/unflatten.py, torch/_export/passes/collect_tracepoints_pass.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.export.graph_signature import ConstantArgument, SymIntArgument, TensorArgument

from dynamo_lite.capture import Recorder
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program._torch import ModuleCallEntry, ModuleCallSignature
from dynamo_lite.program.trees.containers import register_containers
from dynamo_lite.torch_internals._torch_pytree import pytree

_CONSTANTS = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class SubmoduleCall:
    """One call of a submodule: `inputs` and `outputs` hold a node for a tensor or size, other leaves as they are."""

    fqn: str
    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec

    def nodes(self) -> list[fx.Node]:
        return [leaf for leaf in (*self.inputs, *self.outputs) if isinstance(leaf, fx.Node)]

    def entry(self, now: Mapping[fx.Node, fx.Node]) -> ModuleCallEntry:
        """`now` maps each node of the recording to the node of the finished graph with the same value."""
        inputs, outputs = ([_argument(leaf, now) for leaf in leaves] for leaves in (self.inputs, self.outputs))
        signature = ModuleCallSignature(inputs, outputs, self.in_spec, self.out_spec, forward_arg_names=None)
        return ModuleCallEntry(fqn=self.fqn, signature=signature)


def _argument(leaf: Any, now: Mapping[fx.Node, fx.Node]) -> Any:
    if not isinstance(leaf, fx.Node):
        return ConstantArgument(name="", value=leaf)
    node = now[leaf]
    is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
    return TensorArgument(name=node.name) if is_tensor else SymIntArgument(name=node.name)


class CallSignatures:
    """The calls of the submodules at `paths`, written down while a run is recorded.

    refuse: ends the recording with an error that the program cannot catch; note: adds a note to the report.
    Raises InvalidArguments for a path at which `root` has no submodule, or has one that it calls by another path.
    """

    def __init__(
        self,
        recorder: Recorder,
        root: nn.Module | None,
        paths: Sequence[str],
        refuse: Callable[[Any], Any],
        note: Callable[[str], None],
    ) -> None:
        self._calls: list[SubmoduleCall] = []
        self._lost: set[str] = set()
        self._recorder = recorder
        self._refuse = refuse
        self._note = note
        self._paths = frozenset(paths)
        self._counts: Counter[str] = Counter()
        modules = {} if root is None else dict(root.named_modules(remove_duplicate=False))
        for path in paths:
            module = modules.get(path)
            if module is None or not path:
                raise InvalidArguments(f"preserve_module_call_signature: there is no submodule {path!r}")
            named = _first_sibling(modules, path)
            if named not in self._paths:  # of two names in one module the first is that of all calls
                raise InvalidArguments(
                    f"preserve_module_call_signature: {path!r} is the submodule {named!r}; name it so"
                )

    @property
    def calls(self) -> list[SubmoduleCall]:
        """The calls of the submodules all of whose calls could be kept, in order."""
        return [call for call in self._calls if call.fqn.partition("@")[0] not in self._lost]

    def _lose(self, path: str, why: str) -> None:
        self._lost.add(path)
        self._note(f"{path} {why}: its signature is not kept")

    def call(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[], Any]) -> Any:
        """`run()`, which is a call of the submodule at `path` with these arguments."""
        if path not in self._paths:
            return run()
        if self._recorder.levels:
            self._refuse(InvalidArguments(f"preserve_module_call_signature: {path!r} is called inside of a sub-graph"))
        inputs, in_spec = self._leaves(path, (args, kwargs))
        recorder, index = self._recorder, self._counts[path]
        self._counts[path] += 1
        if recorder.level.autocast_nodes or torch.is_grad_enabled() != recorder.grad_enabled:
            self._lose(path, "is called in a no_grad or autocast region")
            return run()
        before = len(recorder.graph.nodes)
        result = run()
        if len(recorder.graph.nodes) == before:  # torch.export.unflatten makes no module of it
            self._lose(path, "runs no operator")
            return result
        outputs, out_spec = self._leaves(path, result)
        if any(leaf is not None and not isinstance(leaf, fx.Node) for leaf in outputs):
            self._refuse(InvalidArguments(
                f"preserve_module_call_signature: {path!r} returns a constant, which torch.export.unflatten would lose"
            ))  # fmt: skip
        name = f"{path}@{index}" if index else path
        self._calls.append(SubmoduleCall(name, inputs, outputs, in_spec, out_spec))
        return result

    def _leaves(self, path: str, value: Any) -> tuple[list[Any], pytree.TreeSpec]:
        register_containers({"": value})
        leaves, spec = pytree.tree_flatten(value)
        return [self._leaf(path, leaf) for leaf in leaves], spec

    def _leaf(self, path: str, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return self._recorder.guarded(self._recorder.node_of, leaf)
        if isinstance(leaf, torch.SymInt):
            return self._recorder.guarded(self._recorder.lower_symbolic, leaf)
        if not isinstance(leaf, _CONSTANTS):
            kind = type(leaf).__qualname__
            self._refuse(InvalidArguments(
                f"preserve_module_call_signature: {path!r} is given or returns a {kind}; tensors and plain values only"
            ))  # fmt: skip
        return leaf


def _first_sibling(modules: dict[str, nn.Module], path: str) -> str:
    """The first name that the submodule at `path` has in the module that holds it."""
    parent, _, _ = path.rpartition(".")
    prefix = parent and parent + "."
    names = (name for name in modules if name.startswith(prefix) and "." not in name[len(prefix) :] and name != parent)
    return next(name for name in names if modules[name] is modules[path])
