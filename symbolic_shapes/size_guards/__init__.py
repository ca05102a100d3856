"""The collected facts as a simplified guard set, with derivations, code and explanations."""
