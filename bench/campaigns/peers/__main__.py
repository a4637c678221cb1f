"""`python -m bench.campaigns.peers [tool …] [--only measure] [--quick] [--write-docs]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.campaigns.peers import report
from bench.campaigns.peers.label_studio import LabelStudio
from bench.campaigns.peers.measures import QUICK, Effort, Quantity, measure, measures
from bench.campaigns.peers.potato import Potato
from bench.campaigns.peers.tool import NotMeasured, Tool
from bench.campaigns.peers.triptych import Triptych
from bench.report import other_load

TOOLS: dict[str, Tool] = {"triptych": Triptych(), "potato": Potato(), "label-studio": LabelStudio()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.campaigns.peers", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="tool", help=f"all, or some of: {', '.join(TOOLS)}")
    parser.add_argument("--quick", action="store_true", help="few values of each, to see that everything runs")
    parser.add_argument(
        "--only", action="append", metavar="measure", help="measure this again, keep the others; can be repeated"
    )
    parser.add_argument("--write-docs", action="store_true", help="write the peers' part of docs/benchmarks.md")
    parser.add_argument("--no-run", action="store_true", help="measure nothing; with --write-docs")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.tools) - set(TOOLS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(TOOLS)}")
    available = measures(QUICK if chosen.quick else Effort())
    unknown = sorted(set(chosen.only or ()) - set(available))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(available)}")
    return chosen


def main() -> int:
    """Install all tools, then measure one after the other."""
    chosen = arguments()
    effort = QUICK if chosen.quick else Effort()
    tools = [] if chosen.no_run else [TOOLS[name] for name in chosen.tools or TOOLS]
    installed = [(tool, _installed(tool)) for tool in tools]
    for tool, version in installed:
        load = other_load()
        quantities = (
            _measured(tool, effort, chosen.only)
            if isinstance(version, str)
            else [Quantity("", "", failed=str(version))]
        )
        if chosen.only:
            quantities = report.earlier(tool, chosen.only) + quantities
        report.save(tool, str(version), chosen.quick, load, quantities)
    results = report.saved(TOOLS.values())
    print(report.part(results))
    if chosen.write_docs:
        report.write_docs(results)
    return 0


def _installed(tool: Tool) -> str | NotMeasured:
    """The tool's version, or why it is not available here."""
    print(f"{tool.name}: installing …", file=sys.stderr, flush=True)
    try:
        return tool.install()
    except NotMeasured as reason:
        return reason


def _measured(tool: Tool, effort: Effort, only: Sequence[str] | None) -> list[Quantity]:
    with tempfile.TemporaryDirectory(prefix="triptych-peers-") as home:
        return measure(tool, Path(home), effort, only)


if __name__ == "__main__":
    sys.exit(main())
