"""dynamic_shapes: from the user's specification to symbols, and from guards to ranges, checks and suggested fixes."""
