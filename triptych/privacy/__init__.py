"""Leaving and being forgotten: withdrawal, erasure, one's own data. No statistics."""
