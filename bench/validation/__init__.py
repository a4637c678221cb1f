"""Do the tests and intervals keep what they promise? `python -m bench.validation` simulates studies to check."""
