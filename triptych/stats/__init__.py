"""Statistics: arrays in, numbers out. No database, no screen; numpy, scipy and pandas only."""
