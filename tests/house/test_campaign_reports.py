"""What is written about the comparison with other tools: ratios say who is better."""

from __future__ import annotations

import pytest

from bench.campaigns.peers import report as peers

MACHINE = {"measured": "2026-01-02", "processors": "2"}


def tool(name: str, *measures: dict) -> dict:
    about = {"tool": name, "version": "1.0", "notes": f"how {name} ran", "quick": False, "load": 0.5}
    return {**about, "machine": MACHINE, "found": list(measures)}


def measure(what: str, *values: float, unit: str = "ms", more_is_better: bool = False, failed: str = "") -> dict:
    fields = {"what": what, "unit": unit, "values": values, "more_is_better": more_is_better}
    return {**fields, "failed": failed, "measure": "load"}


def row(text: str, begins: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {begins}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_ratio_above_one_always_means_that_we_are_better():
    ours = tool("Triptych", measure("waiting", 10, 10, 30), measure("speed", 50, more_is_better=True))
    theirs = tool("Potato", measure("waiting", 40, 40, 60), measure("speed", 100, more_is_better=True))
    text = peers.part([ours, theirs])
    assert row(text, "waiting") == ["waiting", "10 ms (10 to 30)", "40 ms (40 to 60)", "4 ×"]
    assert row(text, "speed")[-1] == "0.5 ×"
    better = text.partition("### Where a peer is better")[2].partition("###")[0]
    assert "- **Potato**, speed: 100 ms against 50 ms." in better
    assert "waiting" not in better


@pytest.mark.parametrize(("waited", "drawn"), [(40, "pass"), (39, "FAIL")])
def test_a_target_is_met_by_a_ratio(waited, drawn):
    shown = "submit → next item shown"
    text = peers.part([tool("Triptych", measure(shown, 10)), tool("Potato", measure(shown, waited))])
    targets = text.partition("### Against Potato")[2]
    assert row(targets, shown)[-2:] == ["≥ 4 ×", drawn]
    assert row(targets, "50 annotators, no pause")[-1] == "not measured"


def test_what_could_not_be_measured_says_why_and_wins_nothing():
    ours = tool("Triptych", measure("waiting", 10))
    gone = {"what": "", "unit": "", "values": (), "more_is_better": False, "failed": "it | ended", "measure": "load"}
    text = peers.part([ours, tool("Potato", gone)])
    assert row(text, "waiting") == ["waiting", "10 ms", "not measured: it / ended", "–"]
    assert "In nothing that was measured here." in text


def test_a_peer_that_loses_nothing_is_better():
    lost = "annotations lost"
    text = peers.part([tool("Triptych", measure(lost, 1, unit="")), tool("Potato", measure(lost, 0, unit=""))])
    assert f"- **Potato**, {lost}: 0 against 1." in text
