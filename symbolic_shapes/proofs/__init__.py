"""Facts and proofs as data, and the checker that verifies a proof without search."""
