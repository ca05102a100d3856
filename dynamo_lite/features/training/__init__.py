"""Steps of training: `backward()`, the `.grad` of tensors, and optimizers with their state."""
