"""Programs of the classes that a hunt for wrong exports found: each against eager, and after export."""
