"""A gradient through a packed sequence, taken in forward

torch.autograd.grad in forward records the operators of the gradient. Those of a recurrent layer on a packed sequence
are as many as the batch sizes say, which are data. Run the layer on the padded sequence, and take what lies within the
lengths: what comes behind changes nothing before it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

TAGS = ("packed sequence", "lengths", "recurrent", "gradients")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 4, batch_first=True)

    def loss(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.gru(packed)[0].data.square().sum()  # stops here

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(self.loss(x, lengths), [*self.parameters()])


class Rewrite(Module):
    def loss(self, x: Tensor, lengths: Tensor) -> Tensor:
        within = torch.arange(x.shape[1]) < lengths[:, None]
        return torch.where(within[..., None], self.gru(x)[0], 0.0).square().sum()


def inputs() -> tuple[Tensor, ...]:
    return torch.randn(2, 5, 3), torch.tensor([5, 3])
