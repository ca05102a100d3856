"""Loops that go round while data says so, as torch while_loop."""
