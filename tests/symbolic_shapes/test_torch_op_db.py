"""torch's operator samples: what passes with torch's ShapeEnv passes with ours. All: benchmarks/op_db_symbolic.py"""

import json
import time

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext
from torch.testing._internal.common_methods_invocations import op_db

from benchmarks import op_db_symbolic
from benchmarks.op_db_symbolic import (
    PASSED,
    UNKNOWN,
    WRONG,
    Outcome,
    Tally,
    compare,
    eager,
    report,
    run,
    same,
)
from benchmarks.op_db_variants import FREE, OURS, VARIANTS, NoSymbols, Sample, Variant

SLICE = {
    "add", "cat", "view", "reshape", "expand", "permute", "as_strided", "narrow", "split", "chunk", "stack",
    "squeeze", "unsqueeze", "flatten", "unflatten", "matmul", "addmm", "baddbmm", "einsum", "nn.functional.linear",
    "nn.functional.conv2d", "nn.functional.conv_transpose1d", "nn.functional.max_pool2d",
    "nn.functional.avg_pool2d", "nn.functional.adaptive_avg_pool2d", "nn.functional.interpolate",
    "nn.functional.pad", "nn.functional.layer_norm", "nn.functional.batch_norm", "nn.functional.embedding",
    "nn.functional.cross_entropy", "nn.functional.unfold", "nn.functional.scaled_dot_product_attention",
    "index_select", "index_put", "gather", "scatter", "where", "sum", "std", "cumsum", "topk", "sort", "nonzero",
    "masked_select", "unique", "repeat", "roll", "flip", "tril", "fft.rfft", "clone", "contiguous", "tensor_split",
    "unfold", "bmm", "item", "arange", "full_like", "softmax", "select_scatter", "diagonal",
}
SECONDS = 45


def test_what_passes_with_torch_passes_with_ours() -> None:
    start = time.perf_counter()
    chosen = [op for op in op_db if op.name in SLICE]
    assert {op.name for op in chosen} >= SLICE - {"item"}
    tally = compare(chosen, per_operator=1, stop=lambda: time.perf_counter() - start > SECONDS)
    assert tally.worse == []
    assert tally.free == []
    assert tally.outcomes[OURS][WRONG] == 0
    assert tally.outcomes[OURS][PASSED] >= 20, "even a slow machine gets that far"


# -- the comparison itself ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("given, equal", [
    ((torch.float32, (2, 3), (3, 1)), True),
    ((torch.float32, (2, 3), (1, 2)), False),
    ((torch.float32, (3, 2), (3, 1)), False),
    ((torch.float64, (2, 3), (3, 1)), False),
    ((torch.float32, (2,), (3,)), False),
    ((torch.float32, (UNKNOWN, 3), (3, 1)), True),
    ((torch.float32, (UNKNOWN, 4), (3, 1)), False),
])
def test_same(given: tuple, equal: bool) -> None:
    assert same(given, (torch.float32, (2, 3), (3, 1))) is equal


def test_strides_of_sizes_one_and_zero_do_not_matter() -> None:
    assert same((torch.float32, (1, 3), (7, 1)), (torch.float32, (1, 3), (3, 1)))
    assert same((torch.float32, (0, 3), (7, 1)), (torch.float32, (0, 3), (3, 1)))


def test_a_wrong_result_is_noticed() -> None:
    real = torch.zeros(2, 3)
    sample = Sample("transposed", [real], lambda inputs: inputs[0].t())
    assert run(sample, OURS, [op_db_symbolic.describe(real, {})]).status == WRONG
    assert run(sample, FREE, [op_db_symbolic.describe(real.t(), {})]) == Outcome(PASSED)


class Static(Variant):
    def context(self, which: str, tensor: torch.Tensor) -> StatelessSymbolicContext:
        return StatelessSymbolicContext([DimDynamic.STATIC] * tensor.dim())


def test_an_input_without_symbols_is_noticed() -> None:
    sample = Sample("no symbol", [torch.zeros(2, 3)], lambda inputs: inputs[0].t())
    with pytest.raises(NoSymbols):
        run(sample, OURS, [], Static())


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_find_what_is_wrong(name: str) -> None:
    """Each variant accepts the operator's result and not another's."""
    variant = VARIANTS[name]
    inputs = [torch.randn(2, 3, requires_grad=variant.requires_grad)]
    mean = Sample("mean", inputs, lambda x: x[0].mean(1))
    total = Sample("mean", inputs, lambda x: x[0].mean(0))
    for which in variant.environments:
        assert run(mean, which, eager(mean, variant), variant) == Outcome(PASSED)
        assert run(mean, which, eager(total, variant), variant).status == WRONG


def test_strided_inputs_have_other_strides_and_the_same_elements() -> None:
    for shape in [(2, 3), (2, 3, 4, 5), (7,), (2, 1, 3)]:
        tensor = torch.randn(shape)
        other = VARIANTS["strided"].real(tensor)
        assert torch.equal(other, tensor) and not other._is_view()
        assert len(shape) == 1 or not other.is_contiguous()


def test_parts_add_up() -> None:
    chosen = [op for op in op_db if op.name in {"t", "mean"}]
    whole, parts = compare(chosen, per_operator=2), Tally()
    for part in (chosen[::2], chosen[1::2]):
        parts.merge(Tally.from_json(json.loads(json.dumps(compare(part, per_operator=2).as_json()))))
    assert (whole.outcomes, whole.operators, whole.worse) == (parts.outcomes, parts.operators, parts.worse)


def test_the_report_counts(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [op for op in op_db if op.name == "t"]
    text = report({("plain", "op_db"): compare(chosen, per_operator=1)})
    assert "| 1 | up to 1 | ours | 1 | 0 | 0 |" in text and "not with ours: 0." in text
