"""What no journal shows of a side: where iterators stand, and what was read first."""
