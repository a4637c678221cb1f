"""People's rights over their data: withdrawal, erasure, a copy of it. No statistics."""
