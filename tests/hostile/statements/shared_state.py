"""Parameters, buffers and modules under several names."""

INIT = """\
self.tied = nn.Linear(3, 3); self.twin = nn.Linear(3, 3); self.twin.weight = self.tied.weight
self.one = nn.Linear(3, 3); self.other = self.one
self.register_buffer("mean", torch.zeros(3)); self.register_buffer("mean_again", self.mean, persistent=False)"""

STATEMENTS = """\
z = z + self.twin.weight.sum() - self.tied.weight.mean()
z = z * self.other.bias.sum() + self.one.weight.sum()
self.mean.add_(1); z = z + self.mean_again.sum()
self.mean_again.mul_(0.5); z = z + self.mean.sum()
z = z + (self.twin.weight is self.tied.weight) + (self.mean is self.mean_again)"""
