"""From what a run read to guards: each with a source, the value that it rests on, and a line."""
