"""All measures by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import analysis, attack, errands, lead, load, processes, proof, reading, reports, resources, results, surface
from bench.figures import Figure
from bench.options import Options

MEASURES: dict[str, Callable[[Options, Path], list[Figure]]] = {
    "click": surface.click,
    "keys": surface.keys,
    "submit": surface.submit,
    "reading": reading.reading,
    "cpu-drafts": load.cpu_with_drafts,
    "cpu": load.cpu_without_drafts,
    "fifty-pause": load.fifty_with_a_pause,
    "fifty": load.fifty_without_pause,
    "two-processes": processes.two_processes,
    "start": resources.start,
    "idle": resources.idle,
    "memory": resources.memory,
    "attack": attack.attack,
    "size": resources.size,
    "lead": lead.lead,
    "errands": errands.errands,
    "errands-keyboard": errands.by_keyboard,
    "analysis": analysis.analysis,
    "comparisons": analysis.comparisons,
    "report": reports.report,
    "results-size": results.large_study,
    "results-clicks": results.clicks,
    "results-tabs": results.many_tabs,
    "verify": proof.proof,
}
