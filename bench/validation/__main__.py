"""`python -m bench.validation [folder] [--runs n] [--only text …] [--write-docs]`.

Appends batches of simulated studies to results.jsonl in the folder, one line each, starting with the simulation that
has the smallest share of its runs. It can be stopped at any time and then continues. With --write-docs the tables
become docs/validation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import numpy as np

from bench.server import ROOT

from . import agreement, camps, differences, equivalence, groups, looks, planning, proportional_odds
from .fits import without_repeated_work
from .page import page
from .tallies import RUNS, Simulation, Tally

DOCS = ROOT / "docs" / "validation.md"
FOLDER = ROOT / "bench" / "out" / "validation"
SIMULATIONS: tuple[Simulation, ...] = (
    *differences.SIMULATIONS,
    *equivalence.SIMULATIONS,
    *looks.SIMULATIONS,
    *agreement.SIMULATIONS,
    *proportional_odds.SIMULATIONS,
    *camps.SIMULATIONS,
    *groups.SIMULATIONS,
    *planning.SIMULATIONS,
)


def key_of(simulation: Simulation) -> str:
    return f"{simulation.part}: {simulation.name}"


def stored(path: Path) -> defaultdict[str, Tally]:
    """The total of earlier batches, by simulation."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        batch = json.loads(line)
        tallies[batch["simulation"]].add(batch["runs"], batch["counts"])
    return tallies


def add_batch(simulation: Simulation, tally: Tally, path: Path) -> None:
    """Run one batch; its seed depends on the simulation's name and the runs before it."""
    seed = [crc32(key_of(simulation).encode()), tally.runs]
    with without_repeated_work():
        counts = simulation.measure(simulation.batch, np.random.default_rng(seed))
    line = {"simulation": key_of(simulation), "seed": seed, "runs": simulation.batch, "counts": counts}
    with path.open("a", encoding="utf-8") as results:
        results.write(json.dumps(line) + "\n")
    tally.add(simulation.batch, counts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.validation", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help=f"{FOLDER.relative_to(ROOT)} by default")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"{RUNS} by default; costly ones get fewer; 0: none")
    parser.add_argument(
        "--only", action="append", metavar="text", help="simulations whose name contains it; can be repeated"
    )
    parser.add_argument("--write-docs", action="store_true", help="write docs/validation.md")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    path = chosen.folder / "results.jsonl"
    tallies = stored(path)
    simulations = [
        simulation for simulation in SIMULATIONS if any(text in key_of(simulation) for text in chosen.only or [""])
    ]

    if not simulations:
        parser.error("no simulation has such a name")

    def share(simulation: Simulation) -> float:
        return tallies[key_of(simulation)].runs / simulation.most

    while (simulation := min(simulations, key=share)) and share(simulation) < chosen.runs / RUNS:
        print(f"{key_of(simulation)}, {tallies[key_of(simulation)].runs} runs so far", file=sys.stderr, flush=True)
        add_batch(simulation, tallies[key_of(simulation)], path)
    written = page([(simulation, tallies[key_of(simulation)]) for simulation in SIMULATIONS])
    print(written)
    if chosen.write_docs:
        DOCS.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
