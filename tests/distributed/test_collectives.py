"""Collectives on two real ranks (gloo): each rank's program, and the saved one in another process, equal eager.

Processes are expensive: two pairs do everything, and each test looks at the results of all programs.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.distributed import dtensors, programs, worker

SAME_AS_STRICT = ["reduce_scatter", "functional_all", "in_a_helper_that_asks", "min"]
"""Static programs whose operators are compared with those of torch.export strict."""

Results = dict[str, list[Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    folder = tmp_path_factory.mktemp("ranks")
    exported, theirs, refused, wrapped = worker.run(
        folder,
        (worker.export, programs.NAMES),
        (worker.torch_export, SAME_AS_STRICT),
        (worker.refused, [*programs.REFUSED]),
        (dtensors.export, dtensors.NAMES),
    )
    (loaded,) = worker.run(folder, (worker.load, programs.NAMES))
    return {"exported": exported, "theirs": theirs, "refused": refused, "loaded": loaded, "dtensors": wrapped}


@pytest.mark.parametrize("which", ["exported", "loaded"])
def test_programs_equal_eager_on_each_rank(results: dict[str, Results], which: str) -> None:
    for name, ranks in results[which].items():
        for number, rank in enumerate(ranks):
            assert isinstance(rank, dict), (name, number, rank)
            assert len(rank["given"]) == len(rank["wanted"]) > 0
            for given, wanted in zip(rank["given"], rank["wanted"]):
                torch.testing.assert_close(given, wanted, msg=lambda text: f"{name}, rank {number}: {text}")  # noqa: B023


def test_programs_hold_functional_collectives_alone(results: dict[str, Results]) -> None:
    for name, ranks in results["exported"].items():
        for rank in ranks:
            namespaces = {operator.partition(".")[0] for operator in rank["operators"]}
            assert "_c10d_functional" in namespaces and "c10d" not in namespaces, name
            assert rank["originals"] != "dynamo_lite.capture.kernels.collectives", "the methods are put back"


def test_ranks_need_each_other(results: dict[str, Results]) -> None:
    """The values are those of communication: no rank alone could give them."""
    first, second = (rank["given"][0] for rank in results["exported"]["broadcast"])
    assert torch.equal(first, second)
    own = programs.make("broadcast").linear(*programs.inputs("broadcast", 0))
    assert not torch.allclose(first, own)


def test_a_program_that_reads_its_rank_says_so(results: dict[str, Results]) -> None:
    for number, rank in enumerate(results["exported"]["of_a_literal"]):
        assert any(f"get_rank() is {number} in the program" in note for note in rank["notes"])


def test_operators_are_those_of_torch_export(results: dict[str, Results]) -> None:
    for name in SAME_AS_STRICT:
        for mine, strict in zip(results["exported"][name], results["theirs"][name], strict=True):
            assert isinstance(strict, dict), strict
            assert mine["operators"] == strict["operators"], name


def test_what_a_program_cannot_hold_is_refused(results: dict[str, Results]) -> None:
    expected = {name: ["collective"] * programs.RANKS for name in programs.REFUSED}
    expected["objects"] = ["data-dependent-branch"] * programs.RANKS  # pickled into tensors, and read from them
    assert results["refused"] == expected


def test_dtensors_are_inputs_and_parameters(results: dict[str, Results]) -> None:
    for name in ("doubled", "sharded", "local", "moved"):
        for number, rank in enumerate(results["dtensors"][name]):
            assert isinstance(rank, dict), (name, number, rank)
            (given, placed), (wanted, place) = rank["given"], rank["wanted"]
            torch.testing.assert_close(given, wanted, rtol=0, atol=0)
            assert placed == place
    assert results["dtensors"]["made"] == [{"refused": "tensor-subclass"}] * programs.RANKS
