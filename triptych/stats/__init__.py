"""Statistics: arrays in, numbers out, and how numbers are written. No database, no screen; NumPy and SciPy only."""
