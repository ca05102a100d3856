"""After a run: what it left changed, and whether the program carries that, may drop it, or must be refused."""
