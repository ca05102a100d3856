"""Real modules (benchmarks/control_flow_programs): what is captured equals eager, on calls in a row too."""

from __future__ import annotations

import contextlib

import pytest
import torch
from torch import nn

import dynamo_lite
from benchmarks.control_flow_modules import compared, exported, made
from benchmarks.control_flow_programs import MODULES

QUICK = [
    "AnomalyCheck", "AudioNormalise", "BeamSearch", "Bisection", "BranchyNet", "CTCAlpha", "CRFPartition", "CTCGreedy",
    "CacheWarmUp", "ConjugateGradient", "Curriculum", "DeepEquilibriumTrained", "ExitAtLayer", "ExpertByIndex",
    "ExponentialSmoothing",
    "GreedyDecoderList", "HostRoutedMoE", "Jacobi", "KMeans", "KVCache", "MambaScan", "MaskShortcut", "MaskedLoss",
    "MixtralRouting", "NMS", "NMSWhile", "ObserverRange", "Sinkhorn", "SpeculativeDecoding", "SwitchOneExpert",
    "TokenMerging",
    "TokenPruning", "TripletLoss", "Viterbi",
]  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_equals_eager(name: str) -> None:
    entry = MODULES[name]
    model = made(entry)
    program = exported(entry, model).module()
    with torch.no_grad() if entry.no_grad else contextlib.nullcontext():
        assert compared(model, program, entry.calls) == []


class _OneStorage(nn.Module):
    """rows and cols are columns of one result of nonzero: the second is copied for the operator."""

    def forward(self, x):
        rows, cols = torch.where(x > 0)
        if rows.numel() == 0:
            return x.sum()
        return x[rows, cols].sum() * 2


def test_a_copy_of_an_operand_asks_nothing_of_its_sizes() -> None:
    program = dynamo_lite.export(_OneStorage(), (torch.ones(3, 2),), control_flow="capture").module()
    for x in (torch.ones(3, 2), -torch.ones(3, 2)):
        assert torch.equal(program(x), _OneStorage()(x))
