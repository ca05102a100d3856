"""What tells two values of a branch apart: constants beyond `==`, tensors beyond their numbers, layouts, sizes."""
