"""From a code object to handlers: decoding, the normal form of instructions, names and markers."""
