"""Steps of training: `backward()`, the `.grad` of tensors, and optimizers with their state.

`backward.py` records the operators of the autograd engine and accumulates the gradients. `gradients.py` keeps the
`.grad` of each tensor during a run and compares it with what the call found. `optimizers.py` makes the tensors in the
state of optimizers buffers of the program. docs/features/training.md has the rules.
"""
