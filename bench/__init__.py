"""Measures how fast Triptych is on a real server: `python -m bench` prints a table and writes JSON to bench/out/."""
