"""`ExportedProgram.module()` after export: conversions of its dtypes and device, its mode, copies and pickles."""
