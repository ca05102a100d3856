"""Integer and float expressions and relations: canonical forms, bounds, evaluation, text, sympy."""
