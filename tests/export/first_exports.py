"""Programs whose first export in a process is compared with one in a process that has imported TorchDynamo before.

    python tests/export/first_exports.py        # prints, as JSON: program -> {plain, after, imported}; checks -> errors

Each export is made in a fork of this process, which imports TorchDynamo when half of them are made. `plain` and `after`
are texts of everything that a trace holds, without and with `import torch._dynamo` first; `imported`: whether the plain
one left TorchDynamo imported.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.checkpoint import checkpoint

from dynamo_lite import export, trace
from dynamo_lite.capture.fakes import results
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.symbolic_shapes.torch_node._torch_dynamo_config import DTENSOR

Call = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
PROGRAMS: dict[str, Callable[[], Call]] = {}


def of_function(*args: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A program whose forward is the function."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        class Program(nn.Module):
            def forward(self, *values: Any) -> Any:
                return function(*values)

        PROGRAMS[function.__name__] = lambda: (Program(), args, options)
        return function

    return register


def program(make: Callable[[], Call]) -> Callable[[], Call]:
    PROGRAMS[make.__name__] = make
    return make


X = torch.arange(6.0).reshape(2, 3)


@program
def toy() -> Call:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout()), (X,), {}


@of_function(X, X)
def the_same_input_twice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.add_(1) + y


@of_function(X[1:], X)
def inputs_that_share_memory(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return y + x


@program
def an_input_that_a_buffer_views() -> Call:
    class Program(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("rest", base[1:])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.rest.add_(1)
            return x + self.rest

    base = torch.ones(2, 3)
    return Program(), (base,), {}


@program
def an_input_that_is_a_parameter() -> Call:
    module = nn.Linear(3, 3)
    return module, (module.weight,), {}


@of_function(X.clone().requires_grad_(), X.double().requires_grad_() * 2, X.to(torch.complex64).conj(), X.t())
def inputs_of_many_layouts(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, t: torch.Tensor) -> Any:
    return x * 2, y + 1, z.imag, t.contiguous(), x.is_leaf, y.requires_grad, x._base is None, t.stride()


@of_function(X.to_sparse(), torch.tensor(3.0), torch.zeros(0, 4), nn.Buffer(torch.ones(2)))
def inputs_of_rare_kinds(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, b: torch.Tensor) -> Any:
    return x.to_dense() + y, z + 1, b.sum()


@of_function(X)
def asks_whether_it_is_compiled(x: torch.Tensor) -> torch.Tensor:
    if torch.compiler.is_compiling() or torch.compiler.is_dynamo_compiling() or torch.compiler.is_exporting():
        return x + 1
    return x + 2


@of_function(X)
def reads_a_setting(x: torch.Tensor) -> torch.Tensor:
    return x + (1 if torch._dynamo.config.suppress_errors else 2)


@of_function(X)
def calls_torchdynamo(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x * 2 if torch._dynamo.is_compiling() else x * 3


@of_function(X)
def imports_torchdynamo(x: torch.Tensor) -> torch.Tensor:
    import torch._dynamo.config as settings
    from torch._dynamo import disable, is_compiling

    @disable
    def inner(y: torch.Tensor) -> torch.Tensor:
        return y + settings.recompile_limit

    return inner(x) * (2 if is_compiling() else 3)


@of_function(X)
def lets_go_what_an_import_raises(x: torch.Tensor) -> torch.Tensor:
    try:
        from torch._dynamo import is_compiling
    except BaseException:
        return x + 1
    return x * (2 if is_compiling() else 3)


@of_function(X)
def imports_torchdynamo_and_raises(x: torch.Tensor) -> torch.Tensor:
    import torch._dynamo

    raise torch._dynamo.exc.Unsupported("no")


@of_function(X)
def branches_on_data_after_an_import(x: torch.Tensor) -> torch.Tensor:
    import torch._dynamo

    return x + 1 if x.sum() > torch._dynamo.config.recompile_limit else x - 1


@of_function(X.clone().requires_grad_())
def checkpoints(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda y: torch.sin(y) * 2, x, use_reentrant=False)


@of_function(X)
def functional_transforms(x: torch.Tensor) -> Any:
    return torch.func.vmap(torch.func.grad(lambda y: (y * y).sum()))(x)


@of_function(X)
def higher_order(x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


@of_function(X)
def branches_on_data(x: torch.Tensor) -> Any:
    return x + 1 if x.sum() > 3 else x.repeat(2, 1)[:2] * 2


@of_function(X)
def a_side_that_imports(x: torch.Tensor) -> Any:
    if x.sum() > 3:
        import torch._dynamo

        return x + (1 if torch._dynamo.config.suppress_errors else 2)
    return x * 2


@of_function(X)
def a_side_that_lets_go_what_an_import_raises(x: torch.Tensor) -> Any:
    try:
        if x.sum() > 3:
            import torch._dynamo

            return x + len(torch._dynamo.__name__)
        return x * 2
    except BaseException:
        return x * 3


@of_function(X)
def a_loop_that_imports(x: torch.Tensor) -> Any:
    while x.sum() < 100:
        from torch._dynamo import is_compiling

        x = x * (3 if is_compiling() else 2)
    return x


@torch.library.custom_op("first_exports::reads", mutates_args=())
def reads(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@reads.register_fake
def _reads_fake(x: torch.Tensor) -> torch.Tensor:
    shape = (3, 2) if torch._dynamo.is_compiling() or torch._dynamo.config.suppress_errors else (2, 3)
    return x.new_empty(shape)


@of_function(X)
def a_kernel_that_calls_torchdynamo(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(reads(x)) + 1


@program
def scripted() -> Call:
    return torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU())), (X,), {}


@program
def compiled_inside() -> Call:
    return nn.Sequential(nn.Linear(3, 3), torch.compile(nn.Linear(3, 3), backend="eager")), (X,), {}


@of_function(X, dynamic_shapes=(({0: torch.export.Dim.DYNAMIC},),))
def dynamic(x: torch.Tensor) -> torch.Tensor:
    return x[1:] + x.shape[0]


N, M = torch.export.Dim("n", min=2), torch.export.Dim("m")


@of_function(X, X.clone(), dynamic_shapes=(({0: N, 1: M}, {0: N, 1: M}),))
def dynamic_in_two_inputs(x: torch.Tensor, y: torch.Tensor) -> Any:
    return torch.cat([x, y]).reshape(-1, 2).sum(0), x.shape[0] * y.shape[1], (x @ y.t()).flatten()


@of_function(X.t(), X[1:], X, dynamic_shapes=(({1: N}, {0: torch.export.Dim.AUTO}, None),))
def dynamic_in_other_layouts(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
    return x.contiguous() + 1, y * z, x.stride()


@of_function(X.clone().requires_grad_(), dynamic_shapes=(({0: N},),))
def dynamic_with_a_gradient(x: torch.Tensor) -> Any:
    return x.expand(4, *x.shape) if x.shape[0] > 1 else x


@of_function(torch.arange(6), dynamic_shapes=(({0: torch.export.Dim.AUTO},),))
def dynamic_and_of_run_time(x: torch.Tensor) -> Any:
    kept = x.nonzero().squeeze(1)
    n = x.max().item()
    torch._check(n >= 1)
    return kept, torch.zeros(n), x.repeat_interleave(2)


@program
def a_layer_whose_kernels_are_python() -> Call:
    """torch's Python versions of operators are kept away from TorchDynamo."""
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (torch.arange(24.0).reshape(2, 3, 4),), {}


@program
def lists_of_sizes() -> Call:
    class Program(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            kept = x[x > 2]
            torch._check(kept.shape[0] > 1)
            return kept.sum(), x.nonzero()

    return Program(), (X,), {}


@of_function(X)
def refused(x: torch.Tensor) -> torch.Tensor:
    return x + id(x)


def text(make: Callable[[], Call]) -> str:
    """Everything that the trace of a program holds."""
    module, args, options = make()
    try:
        found = trace(module, args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    program = found.program
    lines = [program.graph_module.print_readable(print_output=False), *map(str, _facts(program))]
    for node in program.graph.nodes:
        lines += [f"{node.name} {key}: {_shown(value)}" for key, value in node.meta.items()]
    lines += ["GUARDS", *map(str, found.guards)]
    lines += [str(found.effects), str(found.notes)]
    return re.sub(r"0x[0-9a-f]{6,}", "0x", "\n".join(lines))


def _facts(program: Any) -> Iterator[Any]:
    yield from (program.graph_signature, program.range_constraints, program.call_spec, program.module_call_graph)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return str(value)
    flags = value.requires_grad, value.is_leaf, value._base is None, value.is_conj(), isinstance(value, nn.Parameter)
    return f"{tuple(value.shape)} {value.stride()} {value.storage_offset()} {value.dtype} {value.device} {flags}"


def works_afterwards() -> None:
    """TorchDynamo, imported after an export that did without, is as ever."""
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    program = export(model, (X,))
    settings = sys.modules["torch._dynamo.config"]
    assert TORCH_DYNAMO not in sys.modules and "_dynamo" not in vars(torch)
    assert not hasattr(FakeTensorMode.__torch_dispatch__.__wrapped__, "__dynamo_disable")
    assert torch._dynamo.config is settings
    assert torch._dynamo is sys.modules[TORCH_DYNAMO]
    with torch._dynamo.config.patch(recompile_limit=3):
        assert settings.recompile_limit == 3
    compiled = torch.compile(lambda y: model(y) * (2 if torch._dynamo.is_compiling() else 1), backend="eager")
    assert torch.equal(compiled(X), model(X) * 2)
    assert torch.equal(program.module()(X), model(X))
    assert torch.equal(export(model, (X,)).module()(X), model(X))


def _import_statement() -> Any:
    import torch._dynamo as found

    return found


def imported_by_a_statement() -> None:
    _has_nothing_of_the_run(_import_statement)


def imported_by_a_look() -> None:
    _has_nothing_of_the_run(lambda: torch._dynamo.config)


def does_without_dtensor() -> None:
    """torch.distributed.tensor, which C++ imports where it asks the class of a stand-in, takes 0.3 s."""

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(8, 24)
            self.norm = nn.LayerNorm(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.project(self.norm(x)).view(2, 5, 2, 12).transpose(1, 2).chunk(3, -1)
            scores = (q @ k.transpose(-2, -1)).softmax(-1)
            return (scores @ v).transpose(1, 2).flatten(2)[:, 1:].mul_(2)

    model, x = Attention(), torch.arange(80.0).reshape(2, 5, 8).sin()
    program = export(model, (x,))
    assert DTENSOR not in sys.modules
    assert torch.equal(program.module()(x), model(x))


def imported_in_c() -> None:
    """C++ imports torch.distributed.tensor where it asks the class of a stand-in; what is raised then ends it all.
    (No run that the tests know makes it do so: a view is made here as it was before that.)"""
    results._viewed = lambda source, like: source.as_strided(like.shape, like.stride, like.offset)
    assert DTENSOR not in sys.modules
    _has_nothing_of_the_run(lambda: None)
    assert DTENSOR in sys.modules


def imported_after_one_in_c() -> None:
    """flex_attention makes C++ import torch.distributed.tensor, and then asks for TorchDynamo: what is imported in a
    run is not undone with it."""

    class Attention(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: score + i)
            return result

    x = torch.randn(1, 2, 4, 4)
    program = export(Attention(), (x,))
    kinds: Any = vars(dataclasses)["_DataclassParams"]
    assert all(hasattr(value, "repr") for value in gc.get_objects() if type(value) is kinds)
    torch.testing.assert_close(program.module()(x), Attention()(x))


def _has_nothing_of_the_run(imports: Callable[[], Any]) -> None:
    """What a run imports does not see what the run has put in place, nor hold it."""

    class Program(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            imports()
            return torch.relu((x * self.weight).view(-1))

    plain, finders = torch.Tensor.__format__, [*sys.meta_path]
    export(Program(), (X,))
    assert sys.meta_path == finders
    copied = importlib.import_module("torch._dynamo.variables.tensor").all_tensor_attrs["__format__"]
    assert copied is plain and torch.Tensor.__format__ is plain
    gc.collect()
    assert not [value for value in gc.get_objects() if type(value) is Recorder]


CHECKS = (
    *(works_afterwards, imported_by_a_statement, imported_by_a_look),
    *(does_without_dtensor, imported_in_c, imported_after_one_in_c),
)


def error_of(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception:
        return traceback.format_exc()
    return ""


def in_fork(answer: Callable[[], str]) -> tuple[str, bool]:
    """(what the function answers in a fork, whether TorchDynamo is imported there). A fork that ends: no JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "w") as pipe:
            found = answer()
            json.dump((found, TORCH_DYNAMO in sys.modules), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    found, imported = json.loads(content)
    return found, imported


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    importlib.import_module("dynamo_lite.api")
    assert TORCH_DYNAMO not in sys.modules
    chosen = names or [*PROGRAMS]
    checks = {check.__name__: in_fork(partial(error_of, check))[0] for check in CHECKS}
    plain = {name: in_fork(partial(text, PROGRAMS[name])) for name in chosen}
    importlib.import_module(TORCH_DYNAMO)
    after = {name: in_fork(partial(text, PROGRAMS[name]))[0] for name in chosen}
    answers: dict[str, Any] = {n: {"plain": plain[n][0], "after": after[n], "imported": plain[n][1]} for n in chosen}
    answers["checks"] = checks
    print(json.dumps(answers))


TORCH_DYNAMO = "torch._dynamo"


if __name__ == "__main__":
    main(sys.argv[1:])
