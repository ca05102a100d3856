"""README, docs/ and the notebooks: examples run, links lead somewhere."""
