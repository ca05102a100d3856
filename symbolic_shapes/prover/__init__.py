"""What follows from the facts: propagation, refutation, models, and the ladder of decide()."""
