"""`python -m bench [measure …] [--quick] [--minutes 20] [--write-docs]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import report
from bench.measures import MEASURES
from bench.options import Options


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("measures", nargs="*", metavar="measure", help=f"all, or some of: {', '.join(MEASURES)}")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds, to see that everything runs")
    parser.add_argument(
        "--minutes", type=float, default=4.0, help="how long `memory` loads the server (20 for its target)"
    )
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks.md from bench/out/ at the end")
    parser.add_argument("--no-run", action="store_true", help="measure nothing; with --write-docs")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.measures) - set(MEASURES))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    return chosen


def main() -> int:
    """Run the measures; returns 1 if one missed its target."""
    chosen = arguments()
    options = Options(quick=chosen.quick, minutes=chosen.minutes)
    figures = []
    for name in [] if chosen.no_run else chosen.measures or list(MEASURES):
        print(f"{name} …", file=sys.stderr, flush=True)
        load, began = report.other_load(), report.ProcessorTime.now()
        with tempfile.TemporaryDirectory(prefix="triptych-bench-") as home:
            measured = MEASURES[name](options, Path(home))
        stolen = report.stolen_between(began, report.ProcessorTime.now())
        report.save(name, measured, chosen.quick, load, stolen)
        figures += measured
    if figures:
        print(report.printed(figures))
    if chosen.write_docs:
        report.write_docs()
    return 0 if all(figure.passed for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
