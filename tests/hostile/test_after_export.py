"""After export: each form of a program equals eager, and rejects what the exported program rejects.

The forms are copies, saved and loaded programs, decomposed and unflattened ones, and combinations of them. What torch
alone does to a loaded program loses guards (docs/after_export.md); those forms are held to values only.
"""

from __future__ import annotations

import copy
import enum
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.capture.graph.names import unusable_fqn
from dynamo_lite.errors import InputMismatch, UnsupportedValue

Call = tuple[tuple[Any, ...], dict[str, Any]]


def saved(program: ExportedProgram, load: Callable[[Any], ExportedProgram] = dynamo_lite.load) -> ExportedProgram:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return load(buffer)


FORMS: dict[str, Callable[[ExportedProgram], Callable[..., Any]]] = {
    "module": lambda p: p.module(),
    "copied": lambda p: copy.deepcopy(p).module(),
    "copied module": lambda p: copy.deepcopy(p.module()),
    "decomposed": lambda p: p.run_decompositions().module(),
    "unflattened": lambda p: torch.export.unflatten(p),
    "unflattened, then copied": lambda p: torch.export.unflatten(p) and copy.deepcopy(p).module(),
    "decomposed, unflattened": lambda p: torch.export.unflatten(p.run_decompositions()),
    "loaded by torch": lambda p: saved(p, torch.export.load).module(),
    "loaded": lambda p: saved(p).module(),
    "loaded, unflattened": lambda p: torch.export.unflatten(saved(p)),
    "loaded, decomposed, loaded": lambda p: saved(saved(p).run_decompositions()).module(),
}
OF_TORCH: dict[str, Callable[[ExportedProgram], Callable[..., Any]]] = {
    "loaded by torch, unflattened": lambda p: torch.export.unflatten(saved(p, torch.export.load)),
    "loaded by torch, decomposed": lambda p: saved(p, torch.export.load).run_decompositions().module(),
}


class Guarded(nn.Module):
    """Depends on dtypes, layouts, a constant and a size."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.tied = nn.Linear(3, 3), nn.Linear(3, 3)
        self.tied.weight = self.linear.weight

    def forward(self, x: torch.Tensor, d: dict[str, torch.Tensor], *, k: int = 1) -> torch.Tensor:
        y = self.tied(self.linear(x)) * k + d["output"]
        if x.is_contiguous():
            y = y + 1
        return y if x.shape[0] % 2 == 0 else y * 2


def rows(n: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(3 * n).reshape(n, 3).to(dtype) / 7


REJECTED: dict[str, Call] = {
    "dtype": ((rows(4), {"output": rows(4, torch.float64)}), {"k": 3}),
    "constant": ((rows(4), {"output": rows(4)}), {"k": 4}),
    "type of a constant": ((rows(4), {"output": rows(4)}), {"k": 3.0}),
    "layout": ((rows(4).t().contiguous().t(), {"output": rows(4)}), {"k": 3}),
    "sizes that differ": ((rows(4), {"output": rows(6)}), {"k": 3}),
    "parity": ((rows(5), {"output": rows(5)}), {"k": 3}),
    "static size": ((torch.ones(4, 2), {"output": rows(4)}), {"k": 3}),
    "rank": ((rows(4)[None], {"output": rows(4)}), {"k": 3}),
    "no tensor": ((rows(4), {"output": 3}), {"k": 3}),
    "missing key": ((rows(4), {}), {"k": 3}),
    "another key": ((rows(4), {"other": rows(4)}), {"k": 3}),
    "missing keyword": ((rows(4), {"output": rows(4)}), {}),
    "extra keyword": ((rows(4), {"output": rows(4)}), {"k": 3, "j": 1}),
    "missing argument": ((rows(4),), {"k": 3}),
}
EXAMPLE: Call = ((rows(4), {"output": rows(4)}), {"k": 3})
SIZES = {"static": None, "dynamic": {"x": {0: Dim.AUTO}, "d": {"output": {0: Dim.AUTO}}, "k": None}}


@pytest.fixture(scope="module", params=SIZES)
def guarded(request: pytest.FixtureRequest) -> tuple[nn.Module, ExportedProgram]:
    torch.manual_seed(0)
    module = Guarded()
    return module, dynamo_lite.export(module, *EXAMPLE, dynamic_shapes=SIZES[request.param], control_flow="refuse")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", [*FORMS, *OF_TORCH])
def test_equals_eager(guarded: tuple[nn.Module, ExportedProgram], form: str) -> None:
    module, program = guarded
    got = (FORMS | OF_TORCH)[form](program)
    for n in (4, 6) if program.range_constraints else (4,):
        call: Call = ((rows(n) + 1, {"output": rows(n)}), {"k": 3})
        torch.testing.assert_close(got(*call[0], **call[1]), module(*call[0], **call[1]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_a_captured_branch_on_a_size_equals_eager(form: str) -> None:
    module = Guarded()
    got = FORMS[form](dynamo_lite.export(module, *EXAMPLE, dynamic_shapes=SIZES["dynamic"]))
    for n in range(1, 7):
        call: Call = ((rows(n) + 1, {"output": rows(n)}), {"k": 3})
        torch.testing.assert_close(got(*call[0], **call[1]), module(*call[0], **call[1]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_rejects_what_the_guards_reject(guarded: tuple[nn.Module, ExportedProgram], form: str) -> None:
    _, program = guarded
    got = FORMS[form](program)
    accepted = []
    for name, (args, kwargs) in REJECTED.items():
        try:
            got(*args, **kwargs)
        except Exception:
            continue
        accepted.append(name)
    # torch compares constants by == alone.
    assert accepted == (["type of a constant"] if form in ("copied module", "loaded by torch") else [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", [*FORMS, *OF_TORCH])
def test_state_has_all_names(guarded: tuple[nn.Module, ExportedProgram], form: str) -> None:
    """load_state_dict of a checkpoint of the eager module fills every form."""
    _, program = guarded
    got = (FORMS | OF_TORCH)[form](copy.deepcopy(program))
    assert isinstance(got, nn.Module)
    torch.manual_seed(1)
    other = Guarded()
    got.load_state_dict(other.state_dict())
    torch.testing.assert_close(got(*EXAMPLE[0], **EXAMPLE[1]), other(*EXAMPLE[0], **EXAMPLE[1]))
    state = got.state_dict()
    assert state["linear.weight"].data_ptr() == state["tied.weight"].data_ptr()


MESSAGES = {
    "static size": "x.shape[1]: expected 3, given 2.",
    "rank": "x.dim(): expected 2, given 3.",
    "dtype": "d['output']: expected a tensor of shape",
    "constant": "Input k: expected the constant 3, given the int 4.",
    "no tensor": "given the int 3.",
    "missing key": "expected a dict with 1 parts (['output']), given one with no parts.",
    "another key": "expected a dict with 1 parts (['output']), given one with 1 parts (['other']).",
    "missing keyword": "takes the keyword arguments ['k']; [] were given.",
    "extra keyword": "takes the keyword arguments ['k']; ['j', 'k'] were given.",
    "missing argument": "takes 2 positional arguments (x, d); 1 were given.",
}


@pytest.mark.parametrize("form", ["module", "unflattened"])
def test_messages_say_what_was_expected_and_given(guarded: tuple[nn.Module, ExportedProgram], form: str) -> None:
    got = FORMS[form](guarded[1])
    for name, message in MESSAGES.items():
        args, kwargs = REJECTED[name]
        with pytest.raises(InputMismatch) as raised:
            got(*args, **kwargs)
        assert message in str(raised.value), name


def test_message_for_sizes_that_differ() -> None:
    n = Dim("n", min=2, max=9)
    program = dynamo_lite.export(lambda x, y: x + y, (rows(4), rows(4)), dynamic_shapes=({0: n}, {0: n}))
    with pytest.raises(InputMismatch, match=r"y\.shape\[0\]: expected 4, given 3\."):
        program.module()(rows(4), rows(3))


def test_message_for_a_layout_shows_no_data() -> None:
    program = dynamo_lite.export(lambda x: x + x.is_contiguous(), (rows(4),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.raises(InputMismatch, match=r"x has shape \[4, 3\], strides \[1, 4\]"):
        program.module()(rows(4).t().contiguous().t())


# -- values that go through a saved program ----------------------------------------------------------------------------


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    left: Any
    right: Any


class Regions(nn.Module):
    """no_grad, autocast and cond whose results are not used, and a module that forward makes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            x.sum() + self.b
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x @ x.t()
        torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
        relu = nn.Sequential(nn.ReLU(), nn.Flatten())
        return relu(x) + y.float().sum()


class Counting(nn.Module):
    """A region without gradients that only changes a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.b.add_(1)
        return x * 2


PROGRAMS: dict[str, tuple[Callable[..., Any], Call]] = {
    "unused regions": (Regions(), ((rows(3),), {})),
    "number given": (lambda x, a, b: x * a + b, ((rows(2), 2.5, True), {})),
    "infinite number given": (lambda x, a: x * a, ((rows(2) + 1, float("inf")), {})),
    "none and text given": (lambda x, a, b: x + (a is None) + len(b), ((rows(2), None, "ab"), {})),
    "only a buffer changed": (Counting(), ((rows(2),), {})),
    "named tuple": (lambda p: Pair(p.left + 1, p.right), ((Pair(rows(2), 3),), {})),
    "numbers returned": (lambda x: (x, 1, 2.5, None, True), ((rows(2),), {})),
    "size returned": (lambda x: (x + 1, tuple(x.shape)), ((rows(2),), {})),
    "sliced": (lambda x: x[slice(0, 1), ...], ((rows(2),), {})),
    "dict of lists": (lambda d: {"a": [d["x"][0] + 1], "b": (d["x"][1],)}, (({"x": [rows(2), rows(1)]},), {})),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["loaded by torch", "loaded", "loaded, decomposed, loaded", "unflattened", "copied"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_survives(name: str, form: str) -> None:
    function, (args, kwargs) = PROGRAMS[name]
    want = function(*args, **kwargs)
    got = FORMS[form](dynamo_lite.export(function, args, kwargs))(*args, **kwargs)
    leaves, spec = pytree.tree_flatten(want)
    mine, mine_spec = pytree.tree_flatten(got)
    assert spec == mine_spec
    for value, expected in zip(mine, leaves):
        if isinstance(expected, torch.Tensor):
            torch.testing.assert_close(value, expected)
        else:
            assert value == expected and type(value) is type(expected)


@pytest.mark.parametrize("form", ["module", "copied", "decomposed", "unflattened"])
@pytest.mark.parametrize("text", ['a"b', "a'b", "a\\b", "a\nb"])
def test_text_with_quotes(text: str, form: str) -> None:
    got = FORMS[form](dynamo_lite.export(lambda x, s: x + len(s), (rows(2), text)))
    torch.testing.assert_close(got(rows(2), text), rows(2) + 3)
    with pytest.raises(InputMismatch):
        got(rows(2), "abc")


@pytest.mark.parametrize("value", [torch.float64, torch.device("cpu"), torch.strided, Color.RED, b"ab"])
def test_what_cannot_be_saved_says_so(value: Any) -> None:
    """torch has no form for these among the inputs; the program itself takes them, and checks them."""
    program = dynamo_lite.export(lambda x, v: x + 1, (rows(2), value))
    torch.testing.assert_close(program.module()(rows(2), value), rows(2) + 1)
    with pytest.raises(InputMismatch):
        program.module()(rows(2), None)
    with pytest.raises(Exception):  # noqa: B017
        saved(program)


class Runs(nn.Module):
    def __init__(self, program: Callable[..., Any]) -> None:
        super().__init__()
        self.program = program

    def forward(self, *args: Any) -> Any:
        return self.program(*args)


RESHAPED: dict[str, Callable[[torch.Tensor], Any]] = {
    "transposed": lambda x: x.t_().mul_(2),
    "squeezed": lambda x: x.squeeze_().mul_(2),
    "unsqueezed": lambda x: x.unsqueeze_(0).mul_(2),
    "unsqueezed, unused": lambda x: (x.unsqueeze_(0), x + 1)[1],
    "strided": lambda x: x.as_strided_((3, 1), (1, 1)).mul_(2),
    "resized": lambda x: torch.cosh(torch.ones(4, 3), out=x) + 1,
}


@pytest.mark.parametrize("name", RESHAPED)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_input_that_is_given_other_sizes_is_not_decomposed(name: str) -> None:
    """torch copies the new values into the old sizes, by broadcasting: silently wrong for squeeze_."""
    program = dynamo_lite.export(Runs(RESHAPED[name]), (torch.randn(1, 3),))
    x = torch.randn(1, 3)
    mine, eagers = x.clone(), x.clone()
    assert torch.equal(program.module()(mine), RESHAPED[name](eagers))
    assert mine.shape == eagers.shape and torch.equal(mine, eagers)
    with pytest.raises(UnsupportedValue, match="changes in place"):
        program.run_decompositions()


def test_values_of_the_program_are_given_other_sizes() -> None:
    def program(x: torch.Tensor) -> Any:
        return x.clone().t_().mul_(2), x.mul_(3), torch.cosh(x, out=torch.empty(0))

    x = torch.randn(1, 3)
    decomposed = dynamo_lite.export(Runs(program), (x.clone(),)).run_decompositions().module()
    for got, want in zip(decomposed(x.clone()), program(x.clone())):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("form", ["loaded by torch", "loaded", "decomposed", "loaded, decomposed, loaded"])
def test_a_number_that_the_program_fixes(form: str) -> None:
    """It is a constant of the signature, and no operator may use the input: torch saves no such node."""

    def program(n: int, x: torch.Tensor) -> Any:
        assert n == 3
        return x * n, x.repeat(n), {"n": n + 1}

    exported = dynamo_lite.export(Runs(program), (3, torch.ones(2)), dynamic_shapes=((Dim.AUTO, None),))
    x = torch.randn(2)
    for got, want in zip(pytree.tree_leaves(FORMS[form](exported)(3, x)), pytree.tree_leaves(program(3, x))):
        torch.testing.assert_close(got, want)
    with pytest.raises((RuntimeError, AssertionError)):
        exported.module()(4, x)


def test_a_program_that_calls_a_function_made_by_exec_can_be_saved() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        names: dict[str, Any] = {}
        exec("def double(v): return v + v", names)
        result: torch.Tensor = names["double"](x)
        return result

    file = io.BytesIO()
    torch.export.save(dynamo_lite.export(f, (torch.ones(3),)), file)
    file.seek(0)
    assert torch.equal(torch.export.load(file).module()(torch.ones(3)), torch.full((3,), 2.0))


def test_floor_division_of_data_is_pythons_in_each_form() -> None:
    def f(x: torch.Tensor) -> tuple[Any, ...]:
        v = x.sum().item()
        return v // 0.1, divmod(v, -0.3), x * (v // 0.7)

    program = dynamo_lite.export(f, (torch.ones(6),))
    for form in (program, program.run_decompositions(), saved(program)):
        assert str(form.module()(torch.ones(6))) == str(f(torch.ones(6)))


def test_a_custom_operator_that_changes_one_argument_and_returns_another_tensor() -> None:
    """What it returns has other sizes than what it changes: the buffer keeps its own, and the program is decomposed."""
    with torch.library._scoped_library("after_export_test", "FRAGMENT") as library:
        library.define("count(Tensor x, Tensor(a!) state) -> Tensor")
        library.define("count_pair(Tensor x, Tensor(a!) state) -> (Tensor, Tensor)")
        library.define("renewed(Tensor x, Tensor(a!) state) -> (Tensor, Tensor(a!))")
        library.impl("count", lambda x, state: torch.empty_like(x), "Meta")
        library.impl("count", lambda x, state: x + state.add_(1), "CompositeExplicitAutograd")
        library.impl("count_pair", lambda x, state: (x * 2, x.sum()), "Meta")
        library.impl("count_pair", lambda x, state: (x * state.add_(1), x.sum()), "CompositeExplicitAutograd")
        operators = torch.ops.after_export_test

        class Counting(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("state", torch.zeros(1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                one, other = operators.count_pair(x, self.state)
                return operators.count(x, self.state) + one + other

        x, eager = torch.randn(3, 3), Counting()
        program = dynamo_lite.export(Counting(), (x,)).run_decompositions({}).module()
        for _ in range(2):
            torch.testing.assert_close(program(x), eager(x))
        assert torch.equal(program.state, eager.state)


def test_one_of_several_results_gives_an_input_other_sizes() -> None:
    def program(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        values, _ = torch.sort(torch.arange(6.0).flip(0), out=(x, indices))
        return values.mul_(2)

    with pytest.warns(UserWarning, match="was resized"):
        exported = dynamo_lite.export(Runs(program), (torch.zeros(3), torch.zeros(3, dtype=torch.int64)))
    with pytest.raises(UnsupportedValue, match="changes in place"):
        exported.run_decompositions()


class Colour(enum.Enum):
    RED = 1


CONSTANTS = [torch.float64, torch.device("cpu"), torch.strided, torch.preserve_format, Colour.RED]


@pytest.mark.parametrize("value", CONSTANTS)
def test_a_program_with_a_constant_that_torch_does_not_decompose(value: Any) -> None:
    """torch: "all flat_args must be KNOWN_TYPES", and an object of C++ for an enum's member."""

    def program(x: torch.Tensor, options: dict[str, Any], y: torch.Tensor) -> torch.Tensor:
        dtype = options["value"] if isinstance(options["value"], torch.dtype) else torch.float32
        return torch.nn.functional.silu(x.to(dtype)) + y * (2 if options["value"] is Colour.RED else 3)

    call = (torch.randn(3), {"value": value}, torch.randn(3))
    exported = dynamo_lite.export(Runs(program), call)
    decomposed = exported.run_decompositions()
    assert decomposed.graph_signature.input_specs[1:] == exported.graph_signature.input_specs[1:]
    for form in (decomposed, exported, decomposed.run_decompositions()):
        call = (torch.randn(3), {"value": value}, torch.randn(3))
        torch.testing.assert_close(form.module()(*call), program(*call))
        with pytest.raises(InputMismatch):
            form.module()(call[0], {"value": torch.float16}, call[2])


def test_an_output_that_wraps_tensors_is_not_decomposed() -> None:
    """torch takes it apart into two outputs, for a structure of one: the call of the program raised."""
    exported = dynamo_lite.export(Runs(lambda x: {"both": TwoTensor(x, x * 2) * 3}), (torch.randn(2),))
    assert isinstance(exported.module()(torch.ones(2))["both"], TwoTensor)
    with pytest.raises(UnsupportedValue, match="several inputs or outputs"):
        exported.run_decompositions()
    inside = dynamo_lite.export(Runs(lambda x: (TwoTensor(x, x * 2) * 3).b), (torch.randn(2),)).run_decompositions()
    assert torch.equal(inside.module()(torch.ones(2)), torch.full((2,), 6.0))


# -- names that no module can have -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["code", "graph", "self", "meta", "_code", "_wrapped_call", "lambda", 'a"b'])
def test_a_program_with_a_name_that_no_module_can_have(name: str) -> None:
    """As with torch.export the program is there and can be saved. What cannot be had is a module of it; it says why."""
    program = dynamo_lite.export(_Named(name), (torch.ones(3),))
    (note,) = [note for note in program.notes if name in note]
    assert f"it has {name} of the model" in note
    loaded = saved(program)
    assert loaded.graph_signature.input_specs[0].target == name
    for made in (program.module, loaded.module, program.run_decompositions):
        with pytest.raises(dynamo_lite.InvalidArguments, match="Register it by another name"):
            made()


@pytest.mark.parametrize("name", ["In", "Class", "Self", "Torch"])
def test_an_argument_whose_name_in_lower_case_no_code_can_have_is_decomposed(name: str) -> None:
    found: dict[str, Any] = {}
    exec(f"def forward(self, x, {name}):\n    return x + {name} * 2", found)
    program = type("Adds", (nn.Module,), {"forward": found["forward"]})()
    x, y = torch.randn(3), torch.randn(3)
    decomposed = dynamo_lite.export(program, (x, y)).run_decompositions()
    assert torch.equal(decomposed.module()(x, y), program(x, y))
    by_keyword = dynamo_lite.export(program, (x,), {name: y})
    assert torch.equal(by_keyword.module()(x, **{name: y}), program(x, y))
    with pytest.raises(dynamo_lite.InvalidArguments, match=f"'{name}' cannot be one of a decomposed program"):
        by_keyword.run_decompositions()


class _Named(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.ones(3)))
        self.name = name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * getattr(self, self.name)


def test_every_attribute_of_torchs_modules_of_programs_is_such_a_name() -> None:
    module = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),)).module()
    names = {*vars(module), *vars(type(module))} - {*dir(nn.Module()), "weight", "bias"}
    assert [name for name in sorted(names) if not name.startswith("__") and unusable_fqn(name) is None] == []


def test_one_container_for_two_arguments_is_rejected() -> None:
    """By each form of a program that was exported with two, and changes one of them."""

    def f(a: list[Any], b: list[Any]) -> Any:
        a.append(a[0] * 2)
        return b[-1], a

    rows = [torch.ones(2)]
    program = dynamo_lite.export(f, ([torch.ones(2)], [torch.ones(2)]))
    buffer = io.BytesIO()
    dynamo_lite.save(program, buffer)
    buffer.seek(0)
    for form in (program, dynamo_lite.load(buffer), program.run_decompositions(), copy.deepcopy(program)):
        module = form.module()
        assert torch.equal(module([torch.ones(2)], [torch.zeros(2)])[0], torch.zeros(2))
        with pytest.raises(InputMismatch, match="Input b is the very object that is a"):
            module(rows, rows)
