"""Dim specifications of inputs: their symbols, violations in words, and suggested fixes."""
