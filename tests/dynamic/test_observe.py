"""dynamic_shapes from real calls: what is proposed holds for all of them, and export takes it as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import dynamo_lite
from dynamo_lite.observation.relations import Line, relations, through


def test_rows_of_sizes() -> None:
    rows = [(3, 5, 9), (4, 4, 4), (7, 11, 19), (3, 5, 9), (4, 6, 10), (1, 8, 2)]
    assert relations(rows) == [Line(0), None, Line(0, 2, 1), Line(0), Line(0, 1, 1), Line(5)]


def test_two_points_are_no_line_but_equal_sizes_are_one() -> None:
    assert relations([(3, 5), (7, 11), (3, 5)]) == [Line(0), Line(1), Line(0)]


def test_what_is_written_first_may_follow_what_comes_later() -> None:
    assert relations([(6, 10, 18), (3, 5, 9)]) == [Line(1, 2, 0), Line(1)]


@given(st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).map(tuple), min_size=1, max_size=5))
def test_what_is_proposed_holds_in_every_call(rows: list[Any]) -> None:
    for row, line in zip(rows, relations(rows)):
        assert (line is None) == (len(set(row)) == 1)
        assert line is None or all(size == line.a * s + line.b for s, size in zip(rows[line.root], row))


@given(st.integers(1, 5), st.integers(-3, 9), st.lists(st.integers(1, 50), min_size=3, unique=True))
def test_a_line_is_found(a: int, b: int, sizes: list[int]) -> None:
    assert through(tuple(sizes), tuple(a * s + b for s in sizes)) == (a, b)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, tokens: torch.Tensor, past: dict[str, Any], *, mask: torch.Tensor | None = None) -> Any:
        x = torch.cat([past["keys"][0], self.layer(tokens)], 1)
        return x if mask is None else x * mask[:, :, None]


def call(batch: int, length: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    past = {"keys": [torch.randn(batch, 2 * length, 4)], "name": "p"}
    return (torch.randn(batch, length, 4), past), {"mask": torch.ones(batch, 3 * length)}


CALLS = [call(2, 3), call(1, 5), call(4, 8), call(2, 2)]


def check(model: Any, seen: Any, program: Any) -> None:
    for args, kwargs in [*CALLS, call(3, 7)]:
        assert torch.allclose(program.module()(*args, **kwargs), model(*args, **kwargs))
    for wrong in (call(5, 3), call(2, 9), call(2, 1)):
        with pytest.raises(dynamo_lite.InputMismatch):
            program.module()(*wrong[0], **wrong[1])


def test_calls_in_a_block() -> None:
    model = Model()
    with dynamo_lite.observe(model) as seen:
        for args, kwargs in CALLS:
            model(*args, **kwargs)
    model(*CALLS[0][0], **CALLS[0][1])
    assert [len(form.calls) for form in seen.forms] == [4] and not model._forward_pre_hooks
    assert str(seen) == (
        "4 calls of (tokens, past, mask)\n"
        "  tokens.shape[0]: 1 to 4, 3 sizes: tokens_0\n"
        "  tokens.shape[1]: 2 to 8, 4 sizes: tokens_1\n"
        "  past['keys'][0].shape[0]: 1 to 4, 3 sizes: tokens_0\n"
        "  past['keys'][0].shape[1]: 4 to 16, 4 sizes: 2*tokens_1\n"
        "  mask.shape[0]: 1 to 4, 3 sizes: tokens_0\n"
        "  mask.shape[1]: 6 to 24, 4 sizes: 3*tokens_1"
    )
    program = dynamo_lite.export(model, seen.args, seen.kwargs, dynamic_shapes=seen.dynamic_shapes)
    check(model, seen, program)
    check(model, seen, torch.export.export(model, *CALLS[2], dynamic_shapes=seen.dynamic_shapes) and program)


def test_calls_that_are_given_are_not_made() -> None:
    model = Model()
    seen = dynamo_lite.observe(model, CALLS)
    check(model, seen, seen.export())


def test_the_example_is_a_copy_of_a_telling_call() -> None:
    def changes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    seen = dynamo_lite.observe(changes)
    given = [torch.zeros(1, 3), torch.zeros(5, 3), torch.zeros(3, 3)]
    for x in given:
        seen(x)
    assert seen.args[0].shape == (5, 3) and torch.equal(seen.args[0], torch.zeros(5, 3))
    assert torch.equal(seen.export().module()(torch.zeros(2, 3)), torch.ones(2, 3))


def test_calls_of_several_forms() -> None:
    model = Model()
    plain = [(args, {}) for args, _ in CALLS[:2]]
    seen = dynamo_lite.observe(model, [*plain, *CALLS])
    assert [len(form.calls) for form in seen.forms] == [2, 4] and seen.form is seen.forms[1]
    program = seen.export(seen.forms[0])
    args = call(1, 3)[0]
    assert torch.allclose(program.module()(*args), model(*args))


def test_one_call_is_static() -> None:
    seen = dynamo_lite.observe(Model(), CALLS[:1])
    assert seen.dynamic_shapes is None and not seen.export().range_constraints


def test_integers_vary() -> None:
    def repeated(x: torch.Tensor, n: int, flag: bool = True) -> torch.Tensor:
        return x.repeat(n, 1) if flag else x

    seen = dynamo_lite.observe(repeated, [(torch.ones(2, 3), 2), (torch.ones(2, 3), 5), (torch.ones(2, 3), 3)])
    assert seen.export().module()(torch.ones(2, 3), 4).shape == (8, 3)


@dataclass
class Cache:
    layers: list[torch.Tensor]
    kind: str = "static"


def test_containers_that_pytree_does_not_know() -> None:
    class Step(nn.Module):
        def forward(self, x: torch.Tensor, cache: Cache) -> Cache:
            return Cache([torch.cat([layer, x], 1) for layer in cache.layers])

    calls = [(torch.ones(2, 1), Cache([torch.ones(2, n), torch.zeros(2, n)])) for n in (2, 5, 7)]
    seen = dynamo_lite.observe(Step(), calls)
    assert seen.dynamic_shapes is not None and seen.dynamic_shapes["x"] is None
    out = seen.export().module()(torch.ones(2, 1), Cache([torch.ones(2, 4), torch.zeros(2, 4)]))
    assert out.layers[1].shape == (2, 5)


def test_positional_and_keyword_arguments_of_any_number() -> None:
    def total(*parts: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        return sum(part.sum() for part in (*parts, *named.values()))  # type: ignore[return-value]

    calls = [((torch.ones(n), torch.ones(3)), {"more": torch.ones(n + 1)}) for n in (2, 5, 7)]
    seen = dynamo_lite.observe(total, calls)
    got = seen.export().module()(torch.ones(4), torch.ones(3), more=torch.ones(5))
    assert got == 12


def test_a_relation_that_no_call_has_shown_comes_from_the_program() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x]) + y

    calls = [(torch.ones(2), torch.ones(4)), (torch.ones(5), torch.ones(10))]
    seen = dynamo_lite.observe(both, calls)
    with pytest.raises(dynamo_lite.ConstraintViolation):
        dynamo_lite.export(both, seen.args, dynamic_shapes=seen.dynamic_shapes)
    program = seen.export().module()
    assert program(torch.ones(3), torch.ones(6)).shape == (6,)
    with pytest.raises(dynamo_lite.InputMismatch):
        program(torch.ones(3), torch.ones(7))


def test_a_program_that_admits_less_than_what_was_seen_is_refused() -> None:
    def branches(x: torch.Tensor) -> torch.Tensor:
        return x.sum(0) if x.shape[0] == 2 else x  # of other ranks, which no operator gives

    seen = dynamo_lite.observe(branches, [(torch.ones(2),), (torch.ones(5),), (torch.ones(7),)])
    with pytest.raises(dynamo_lite.ConstraintViolation):
        seen.export()


def test_misuse() -> None:
    with pytest.raises(dynamo_lite.InvalidArguments, match="no call was observed"):
        dynamo_lite.observe(Model()).dynamic_shapes  # noqa: B018
    with pytest.raises(dynamo_lite.InvalidArguments):
        dynamo_lite.observe(Model(), [torch.ones(2)])
    seen = dynamo_lite.observe(lambda x: x, [(object(),), (torch.ones(2),)])
    assert len(seen.skipped) == 1 and len(seen.forms) == 1


def test_generation_with_a_cache() -> None:
    """The calls that transformers makes itself: prefill and decode are two forms."""
    hf = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = hf.LlamaForCausalLM(config).eval()

        def forward(self, tokens: torch.Tensor, cache: Any) -> Any:
            out = self.model(tokens, past_key_values=cache, use_cache=True)
            return out.logits, out.past_key_values

    step = Step()

    def cache_of(length: int) -> Any:
        return step.model(torch.randint(4, 60, (1, length)), use_cache=True).past_key_values

    with torch.no_grad(), dynamo_lite.observe(step) as seen:
        for length in (4, 7, 9):
            step(torch.randint(4, 60, (1, 1)), cache_of(length))
    with torch.no_grad():
        program = seen.export().module()
        token = torch.randint(4, 60, (1, 1))
        torch.manual_seed(1)
        cache = cache_of(6)
        torch.manual_seed(1)
        got, want = program(token, cache), step(token, cache_of(6))
    assert torch.allclose(got[0], want[0], atol=1e-5)
    assert got[1].layers[0].keys.shape[2] == 7
