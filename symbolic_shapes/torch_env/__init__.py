"""torch's ShapeEnv protocol over dynamo_lite.symbolic_shapes.ShapeEnv."""
