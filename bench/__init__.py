"""How fast Triptych is, measured on a real server: `python -m bench` prints a table and writes JSON to bench/out/."""
