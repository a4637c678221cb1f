"""The pages that the measurements write: other text is left unchanged."""

from __future__ import annotations

from bench.figures import at_least, at_most, percentile, rounded, table
from bench.report import ProcessorTime, page, stolen_between, write_part

PROSE = "# A page\n\nSomebody's own words.\n"
MACHINE = {"measured": "2026-01-02", "processors": "2"}


def row(text: str, begins: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {begins}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_part_follows_the_prose_and_is_replaced_in_place(tmp_path):
    written = tmp_path / "page.md"
    written.write_text(PROSE)
    write_part(written, "one", "first\n")
    write_part(written, "two", "second\n")
    once = written.read_text()
    write_part(written, "one", "first\n")
    assert written.read_text() == once
    write_part(written, "one", "again\n")
    assert written.read_text() == once.replace("first", "again")
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


def test_columns_are_as_wide_as_their_widest_cell():
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
    sentence = "(`wait`, quick run, machine load before 0.5, fixed loop 31 ms, 2.5 % of processor time "
    assert f"{sentence}used by others): by the clock." in text


def test_processor_share_of_other_programs_is_counted_between_readings(tmp_path):
    counted = tmp_path / "stat"
    looks = []
    for stolen in (10, 60):
        counted.write_text(f"cpu  100 0 100 {700 + 9 * stolen} 0 0 0 {stolen} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
        looks.append(ProcessorTime.now(counted))
    assert stolen_between(*looks) == 10.0
    assert stolen_between(ProcessorTime.now(tmp_path / "nowhere"), looks[1]) is None
