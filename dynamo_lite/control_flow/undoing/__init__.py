"""What no journal shows of a side: where iterators stand, what was read first, and which objects are its own."""
