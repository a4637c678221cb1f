"""Statistics: arrays in, numbers out. No database, no screen; NumPy and SciPy only."""
