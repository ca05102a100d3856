"""torch's SymNode protocol: what SymInt, SymFloat and SymBool hold, and how torch spells expressions."""
