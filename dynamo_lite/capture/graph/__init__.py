"""The FX graph under construction: nodes, placeholders, sub-graphs, sizes as nodes."""
