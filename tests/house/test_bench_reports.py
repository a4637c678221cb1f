"""The pages that the measurements write: nothing of somebody else's is touched, and ratios say who is better."""

from __future__ import annotations

import pytest

from bench.figures import at_least, at_most, percentile, rounded, table
from bench.peers import report as peers
from bench.report import ProcessorTime, page, stolen_between, write_part

PROSE = "# A page\n\nSomebody's own words.\n"
MACHINE = {"measured": "2026-01-02", "processors": "2"}


def tool(name: str, *found: dict) -> dict:
    about = {"tool": name, "version": "1.0", "notes": f"how {name} ran", "quick": False, "load": 0.5}
    return {**about, "machine": MACHINE, "found": list(found)}


def found(what: str, *values: float, unit: str = "ms", more_is_better: bool = False, failed: str = "") -> dict:
    given = {"what": what, "unit": unit, "values": values, "more_is_better": more_is_better}
    return {**given, "failed": failed, "measure": "load"}


def row(text: str, begins: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {begins}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_part_is_put_behind_the_prose_and_replaced_in_its_place(tmp_path):
    written = tmp_path / "page.md"
    written.write_text(PROSE)
    write_part(written, "one", "first\n")
    write_part(written, "two", "second\n")
    once = written.read_text()
    write_part(written, "one", "first\n")
    assert written.read_text() == once
    write_part(written, "one", "anew\n")
    assert written.read_text() == once.replace("first", "anew")
    assert once.startswith(PROSE)
    assert once.index("first") < once.index("second")


def test_a_page_that_is_not_there_yet_is_made(tmp_path):
    write_part(tmp_path / "page.md", "one", "first\n")
    assert "first\n" in (tmp_path / "page.md").read_text()


def test_a_percentile_is_a_value_that_was_measured():
    assert percentile([3, 1, 2], 50) == 2
    assert percentile(range(1, 101), 95) == 95
    assert percentile([7], 95) == 7


def test_a_figure_passes_by_the_value_that_its_target_names():
    values = [1.0] * 18 + [50.0] * 2
    assert at_most("waiting", "ms", values, 10).passed
    assert not at_most("waiting", "ms", values, 10, by="p95").passed
    assert at_least("speed", "/s", [9.0, 10.0, 11.0], 10).passed
    assert not at_least("speed", "/s", [9.0, 9.5, 11.0], 10).passed


def test_figures_are_rounded_to_three_digits_without_an_exponent():
    assert [rounded(value) for value in (0.01234, 1.005, 99.94, 123456.0)] == ["0.0123", "1", "99.9", "123456"]


def test_the_columns_of_a_table_are_as_wide_as_their_widest_cell():
    assert table([["long cell", "1"]], ["a", "b"]).splitlines() == [
        "| a         | b |",
        "|-----------|---|",
        "| long cell | 1 |",
    ]


def test_our_page_says_what_failed_and_under_which_circumstances():
    figure = {"what": "waiting", "unit": "ms", "median": 12.0, "p95": 20.0, "n": 5, "target": "median ≤ 10 ms"}
    result = {"measure": "wait", "quick": True, "load": 0.5, "loop": 31, "stolen": 2.5, "machine": MACHINE}
    text = page([{**result, "figures": [{**figure, "passed": False, "note": "by the clock"}]}])
    assert row(text, "waiting") == ["waiting", "12 ms", "20 ms", "5", "median ≤ 10 ms", "FAIL"]
    said = "(`wait`, quick run, load of the machine before it 0.5, fixed loop 31 ms, 2.5 % of the processors taken "
    assert f"{said}away): by the clock." in text


def test_the_share_of_the_processors_that_others_took_is_counted_between_two_looks(tmp_path):
    counted = tmp_path / "stat"
    looks = []
    for stolen in (10, 60):
        counted.write_text(f"cpu  100 0 100 {700 + 9 * stolen} 0 0 0 {stolen} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
        looks.append(ProcessorTime.now(counted))
    assert stolen_between(*looks) == 10.0
    assert stolen_between(ProcessorTime.now(tmp_path / "nowhere"), looks[1]) is None


def test_a_ratio_above_one_always_means_that_we_are_better():
    ours = tool("Triptych", found("waiting", 10, 10, 30), found("speed", 50, more_is_better=True))
    theirs = tool("Potato", found("waiting", 40, 40, 60), found("speed", 100, more_is_better=True))
    text = peers.part([ours, theirs])
    assert row(text, "waiting") == ["waiting", "10 ms (10 to 30)", "40 ms (40 to 60)", "4 ×"]
    assert row(text, "speed")[-1] == "0.5 ×"
    better = text.partition("### Where a peer is better")[2].partition("###")[0]
    assert "- **Potato**, speed: 100 ms against 50 ms." in better
    assert "waiting" not in better


@pytest.mark.parametrize(("waited", "drawn"), [(40, "pass"), (39, "FAIL")])
def test_a_target_is_met_by_a_ratio_and_not_by_a_time(waited, drawn):
    shown = "submit → next item shown"
    text = peers.part([tool("Triptych", found(shown, 10)), tool("Potato", found(shown, waited))])
    targets = text.partition("### Against Potato")[2]
    assert row(targets, shown)[-2:] == ["≥ 4 ×", drawn]
    assert row(targets, "50 annotators, no pause")[-1] == "not measured"


def test_what_could_not_be_measured_says_why_and_wins_nothing():
    ours = tool("Triptych", found("waiting", 10))
    gone = {"what": "", "unit": "", "values": (), "more_is_better": False, "failed": "it | ended", "measure": "load"}
    text = peers.part([ours, tool("Potato", gone)])
    assert row(text, "waiting") == ["waiting", "10 ms", "not measured: it / ended", "–"]
    assert "In nothing that was measured here." in text


def test_a_peer_that_loses_nothing_is_better_than_one_that_loses_something():
    lost = "annotations lost"
    text = peers.part([tool("Triptych", found(lost, 1, unit="")), tool("Potato", found(lost, 0, unit=""))])
    assert f"- **Potato**, {lost}: 0 against 1." in text
