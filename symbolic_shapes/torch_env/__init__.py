"""torch's ShapeEnv protocol over symbolic_shapes.ShapeEnv."""
