"""The frame of ratings, kept by the event log, and what is computed from it."""

from __future__ import annotations

import math
import uuid

import pandas as pd
import pytest
from helpers.frames import criterion_results
from helpers.present import present
from helpers.ratings import BEST_RUBRIC, exclude, first_work, resubmit, same, set_aside, submit
from helpers.studies import SYSTEMS, full_answers, sure
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from triptych.annotate import assignments
from triptych.annotate.assignments import Assigned
from triptych.errors import NotFound
from triptych.reports.facts import facts_of
from triptych.results import criterion as findings
from triptych.results import texts
from triptych.results.criterion import criterion_ratings
from triptych.results.frame import upkeep
from triptych.results.frame.counted import counted_ratings
from triptych.results.frame.highlights import highlight_counts, highlights_of_item
from triptych.results.frame.model import Counted
from triptych.results.frame.table import Filters, Page, groups_table, rating_of, ratings_table, values_in
from triptych.results.frame.upkeep import build_frame, frame_of
from triptych.results.page import read_board
from triptych.results.progress import overview
from triptych.results.study_analysis import StudyAnalysis
from triptych.stats.analysis.systems import agreement_of
from triptych.stats.undefined import Undefined
from triptych.storage import database, events
from triptych.storage.models import Assignment, AssignmentState, Kind, Person, Study
from triptych.study import annotator_groups, lifecycle
from triptych.study.system_names import system_names

STEPS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["submit", "submit", "edit", "skip", "ignore", "exclude", "reinstate", "look"]),
    st.integers(1, 3),
)


@pytest.mark.long
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_the_kept_frame_equals_one_built_from_nothing_whatever_happened(sqlite_engine, make_study, steps):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=3, annotators=3, title=f"S {uuid.uuid4().hex[:6]}")
        frame_of(session, study)
        last: dict[int, Assigned] = {}
        out: set[int] = set()
        for n, kind, value in steps:
            who = people[n]
            free = not isinstance(assignments.current(session, study, who), assignments.NoItem)
            match kind:
                case "submit" if free:
                    verdict = ("accept", "unsure", "accept")[value - 1]
                    last[n] = submit(session, study, who, full_answers(fluency=value, verdict=verdict))
                case "edit" if n in last and n not in out:
                    resubmit(session, who, last[n], full_answers(fluency=value))
                case "skip" if free:
                    set_aside(session, study, who, "skip", "unclear")
                case "ignore" if free:
                    last[n] = set_aside(session, study, who, "ignore", "empty")
                case "exclude" | "reinstate":
                    exclude(session, study, who, kind == "exclude")
                    out = out | {n} if kind == "exclude" else out - {n}
                case "look":
                    frame_of(session, study)
        session.flush()
        assert same(frame_of(session, study), build_frame(session, study))


@pytest.fixture
def filled(engine, make_study):
    """(session, study, lead, annotators): two annotators, four items, the second one gives one point less."""
    with database.writing(engine) as session:
        study, lead, people = make_study(session)
        for _ in range(4):
            for who, fluency in zip(people, (3, 2), strict=True):
                submit(session, study, who, full_answers(fluency=fluency), seconds=60)
        yield session, study, lead, people


def criterion(session, study, key, counted=Counted()):
    analysed = criterion_results(frame_of(session, study), counted)
    return next(result for result in analysed if result.criterion.key == key)


def test_an_empty_frame_has_all_columns(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session)
        before = build_frame(session, study)
        submit(session, study, people[0])
        after = build_frame(session, study)
    assert [*before.ratings.columns] == [*after.ratings.columns]
    assert [str(t) for t in before.ratings.dtypes] == [str(t) for t in after.ratings.dtypes]


def test_only_what_an_event_names_is_read_again(filled, monkeypatch):
    session, study, _, people = filled
    frame_of(session, study)
    asked = []
    load = upkeep.load

    def counted(session, study, only):
        asked.append(only)
        return load(session, study, only)

    monkeypatch.setattr(upkeep, "load", counted)
    work = first_work(session, people[0])
    resubmit(session, people[0], work, full_answers(fluency=1))
    assert len(frame_of(session, study).ratings) == 48
    assert asked == [{work.id}]


@pytest.mark.parametrize("is_first", [True, False], ids=["first frame", "later frame"])
@pytest.mark.parametrize("same_session", [True, False], ids=["study of this session", "study of an earlier one"])
def test_a_frame_has_settings_as_new_as_its_number(engine, make_study, is_first, same_session):
    """On PostgreSQL a process kept the settings that a page had read before as those of the newest event."""
    with database.writing(engine) as session:
        study, lead, (anna, _) = make_study(session)
        if not is_first:
            frame_of(session, study)
    with database.reading(engine) as earlier, database.reading(engine) as later:
        page = earlier if same_session else later
        drawn = earlier.get_one(Study, study.id)
        with database.writing(engine) as session:
            mine = session.get_one(Study, study.id)
            annotator_groups.assign(session, mine, {anna.pseudonym: "crowd"}, lead.pseudonym)
            lifecycle.unblind(session, mine, sure(lead))
        assert read_board(page, drawn, Counted()).frame is frame_of(page, drawn)

    with database.reading(engine) as page:
        board = read_board(page, drawn, Counted())
    assert board.frame.settings.annotator_groups == {anna.pseudonym: "crowd"}
    assert board.frame.unblinded_at is not None
    assert sorted(board.names.values()) == sorted(SYSTEMS)


def test_means_medians_and_distributions_are_per_system(filled):
    session, study, _, _ = filled
    result = criterion(session, study, "fluency")
    assert [each.system for each in result.systems] == [1, 2, 3]
    for each in result.systems:
        assert (each.n, each.summary.mean, each.summary.median, each.counts) == (8, 2.5, 2.5, (0, 4, 4))
        assert "annotators are too few" in each.interval.sentence or each.interval.kind == "none"


def test_equal_answers_have_no_alpha_but_a_reason(filled):
    session, study, _, _ = filled
    verdict = criterion(session, study, "verdict").agreement
    assert (verdict.percent, verdict.alpha) == (1.0, Undefined("Not defined: no variation (every rating is the same)."))
    assert criterion(session, study, "fluency").agreement.percent == 0


def test_an_empty_study_speaks_in_sentences_everywhere(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, _ = make_study(session)
        counted = Counted()
        board = read_board(session, study, counted)
        assert (board.overview.done, board.overview.expected, board.overview.minutes_left) == (0, 12, None)
        for result in criterion_results(board.frame, counted):
            assert (
                result.agreement.alpha == result.agreement.percent == Undefined("No item was rated by two annotators.")
            )
            assert isinstance(result.positions, Undefined)
            assert findings.headline(result, board.names) == "There is no rating yet."
        assert ratings_table(board.frame, Filters(), board.names).count == 0


def test_missing_options_are_not_in_the_accept_rate(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=2, annotators=1)
        submit(session, study, people[0], full_answers(verdict="accept"))
        submit(session, study, people[0], full_answers(verdict="unsure"))
        each = criterion(session, study, "verdict").systems[0]
    assert (each.n, each.missing, each.summary.mean) == (1, 1, 1.0)
    assert [(o.option, o.count, o.of) for o in each.shares] == [
        ("accept", 1, 1),
        ("reject", 0, 1),
        ("unsure", 1, 2),
    ]
    assert (each.majority.items, each.majority.positive) == (1, 1)


def test_a_response_set_aside_is_missing_not_disputed(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1)
        answers = full_answers()
        del answers["ratings"]["A"]
        submit(session, study, people[0], {**answers, "set_aside": {"A": "blank"}})
        submit(session, study, people[1])
        result = criterion(session, study, "fluency")
    assert (result.n, result.missing, present(result.agreement.table).units) == (5, 1, 2)


def test_best_is_the_share_of_wins_including_ties(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=2, annotators=1, rubric=BEST_RUBRIC)
        for worth in (0.3, 0.7):
            submit(session, study, people[0], {"ratings": {"item": {"winner": ["A", "B"], "worth": worth}}})
        winner, worth = criterion(session, study, "winner"), criterion(session, study, "worth")
    assert sum(each.summary.mean for each in winner.systems) == 2
    assert (len(worth.systems), worth.systems[0].system, worth.systems[0].summary.mean) == (1, 0, 0.5)
    assert worth.positions == Undefined("Asked about the item, which has no position.")
    assert sum(worth.systems[0].counts) == 2


def test_an_item_most_raters_ignored_is_left_out(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1, annotators=3)
        submit(session, study, people[0])
        set_aside(session, study, people[1], "ignore", "empty")
        assert criterion(session, study, "fluency").n == 3
        set_aside(session, study, people[2], "ignore", "empty")
        assert criterion(session, study, "fluency").n == 0
        assert criterion(session, study, "fluency", Counted(with_ignored=True)).n == 3
        only = frozenset({people[0].pseudonym})
        assert criterion(session, study, "fluency", Counted(annotators=only)).n == 0
        assert criterion(session, study, "fluency", Counted(annotators=only, with_ignored=True)).n == 3


def test_annotations_of_an_ignored_item_are_not_counted(sqlite_engine, make_study):
    """An annotator without ratings that count was listed, with one annotation."""
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1, annotators=3)
        submit(session, study, people[0])
        for who in people[1:]:
            set_aside(session, study, who, "ignore", "empty")
        frame = frame_of(session, study)
        names = system_names(session, study)
        analyses = [StudyAnalysis(frame, Counted(with_ignored=counted), names) for counted in (False, True)]
        assert [facts_of(session, study, each).before_work.annotators for each in analyses] == [0, 1]
    assert [[len(each.work), len(each.workers)] for each in analyses] == [[0, 0], [1, 1]]


def test_highlights_of_an_ignored_item_are_left_out(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1, annotators=3)
        mark = {"slot": "A", "turn": None, "start": 0, "end": 6, "label": "good", "comment": "too vague"}
        submit(session, study, people[0], full_answers() | {"highlights": [mark]})
        for who in people[1:]:
            set_aside(session, study, who, "ignore", "empty")
        frame = frame_of(session, study)
        result = {
            counted.with_ignored: (
                highlight_counts(session, study, counted),
                len(texts.readings_of(session, study, frame, counted)),
                len(texts.comments_of(session, study, frame, counted)),
            )
            for counted in (Counted(), Counted(with_ignored=True))
        }
    assert result == {False: ({}, 0, 0), True: ({"item-1": 1}, 3, 1)}


def test_who_gave_no_rating_marked_nothing_that_counts(sqlite_engine, make_study):
    """A response set aside, and an ignored item without a place, counted as read and left without highlights."""
    place = {"turn": None, "start": 0, "end": 6, "label": "good", "comment": ""}
    marks = [{"slot": slot, **place} for slot in "ABC"]
    ratings = full_answers()["ratings"]
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1, annotators=3)
        submit(session, study, people[0], {"ratings": ratings, "highlights": marks})
        some = {"ratings": {slot: ratings[slot] for slot in "AB"}, "highlights": marks[:2]}
        submit(session, study, people[1], some | {"set_aside": {"C": "blank"}})
        ignored = set_aside(session, study, people[2], "ignore", "empty")
        state = update(Assignment).where(Assignment.id == ignored.id).values(state=AssignmentState.surplus)
        session.execute(state)
        readings = texts.readings_of(session, study, frame_of(session, study), Counted(with_ignored=True))
    assert len(readings) == 5
    assert readings["start"].notna().all()


def test_an_excluded_annotator_appears_only_in_the_list(filled):
    session, study, _, people = filled
    exclude(session, study, people[0])
    assert criterion(session, study, "fluency").systems[0].summary.mean == 2
    table = ratings_table(frame_of(session, study), Filters(marks=frozenset({"excluded"})), {})
    assert table.count == 24
    assert set(table.rows["Marks"]) == {"excluded"}


def test_only_people_count_unless_simulated_annotators_are_asked_for(filled):
    session, study, _, people = filled
    session.get_one(Person, people[0].person_id).kind = Kind.simulated
    session.flush()
    frame = build_frame(session, study)
    assert len(counted_ratings(frame, Counted())) == 24
    assert len(counted_ratings(frame, Counted(frozenset(Kind)))) == 48


def test_reasons_are_counted_by_their_hidden_tag_and_system(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=1, annotators=1)
        answers = full_answers(verdict="reject")
        answers["explanations"] = {
            "A": {"verdict": {"reject": {"reasons": ["wrong", "rude"]}}},
            "B": {"verdict": {"reject": {"reasons": ["wrong"]}}},
            "C": {"verdict": {"reject": {"text": "no reason at all"}}},
        }
        submit(session, study, people[0], answers)
        result = criterion(session, study, "verdict")
    assert [(r.tag, r.total, r.texts) for r in result.reasons] == [
        ("error", 2, ("It is wrong",)),
        ("tone", 1, ("It is rude",)),
    ]
    assert (sum(result.reasons[0].systems.values()), result.free_texts) == (2, 1)


def test_the_mean_by_position_shows_who_always_likes_the_first(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=6, annotators=1)
        for _ in range(6):
            answers = full_answers(fluency=1)
            answers["ratings"]["A"]["fluency"] = 3
            submit(session, study, people[0], answers)
        positions = criterion(session, study, "fluency").positions
    assert [place.position for place in positions] == [0, 1, 2]
    assert positions[0].mean > 1 > 0 > positions[1].mean


def test_a_changed_annotation_stays_in_its_order(sqlite_engine, make_study, move_clock):
    """Changes to the lowest ratings made a change over time where there was none."""
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=3)
        done = []
        for _ in range(3):
            done.append(submit(session, study, people[0]))
            move_clock(minutes=1)
        resubmit(session, people[0], done[0], full_answers(fluency=2))
        frame = frame_of(session, study)
    ratings = criterion_ratings(frame, Counted())[0]
    at = pd.Series(ratings.at, index=frame.ratings["assignment"].to_numpy()[ratings.rows])
    assert at.sort_values().index.is_monotonic_increasing


def test_changes_of_earlier_annotations_are_no_pace(sqlite_engine, make_study, move_clock):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=4)
        done = [submit(session, study, people[0]) for _ in range(3)]
        assert overview(session, study, Counted()).done_at
        move_clock(days=8)
        for work in done:
            resubmit(session, people[0], work, full_answers(fluency=2))
        assert overview(session, study, Counted()).done_at is None


def test_progress_shows_done_expected_and_time_left(filled):
    session, study, _, people = filled
    set_up = overview(session, study, Counted())
    assert (set_up.done, set_up.expected, set_up.minutes_left, set_up.items_complete) == (8, 12, 4, 0)
    assert [(a.pseudonym, a.done, a.total) for a in set_up.annotators] == [(who.pseudonym, 4, 4) for who in people]


def test_skipped_items_take_time_but_fill_no_place(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, _, people = make_study(session, items=20, annotators=1)
        for number in range(9):
            if number % 3:
                set_aside(session, study, people[0], "skip", "unclear")
            else:
                submit(session, study, people[0], full_answers())
        skipped = Assignment.state == AssignmentState.skipped
        session.execute(update(Assignment).where(skipped).values(active_seconds=15.0))
        left = overview(session, study, Counted())
    assert (left.done, left.skipped, left.expected) == (3, 6, 60)
    assert left.minutes_left == round(57 * (3 * 30 + 6 * 15) / 3 / 60)


def test_the_list_of_ratings_is_filtered_before_cut(filled):
    session, study, _, people = filled
    frame, names = frame_of(session, study), system_names(session, study)
    expected = Filters(annotators=frozenset({people[0].pseudonym}), criteria=frozenset({"fluency"}))
    table = ratings_table(frame, expected, names, Page(size=5))
    assert (len(table.rows), table.count, table.total) == (5, 12, 48)
    assert set(table.rows["Value"]) == {"3"}
    assert set(table.rows["System"]) <= {"System 1", "System 2", "System 3"}
    assert ratings_table(frame, Filters(values=frozenset({"Accept"})), names).count == 24
    assert ratings_table(frame, Filters(text="(nothing"), names).count == 0
    assert ratings_table(frame, Filters(item="ITEM-1"), names).count == 12


def test_the_list_of_ratings_names_options_by_their_titles(filled):
    session, study, _, _ = filled
    frame, names = frame_of(session, study), system_names(session, study)
    verdicts = ratings_table(frame, Filters(criteria=frozenset({"verdict"})), names)
    assert set(verdicts.rows["Value"]) == {"Accept"}
    assert values_in(frame) == [*sorted(values_in(frame)[:-1], key=float), "Accept"]


def test_pages_of_ratings_are_ordered_over_all_rows(filled):
    session, study, _, _ = filled
    frame, names = frame_of(session, study), system_names(session, study)
    every = ratings_table(frame, Filters(), names, Page(size=48)).rows
    assert every["Submitted (UTC)"].is_monotonic_decreasing
    for order, column in (("Item", "Item"), ("Annotator", "Annotator"), ("System", "System"), ("Value", "Value")):
        pages = [ratings_table(frame, Filters(), names, Page(order, False, start, 20)).rows for start in (0, 20, 40)]
        assert [len(page) for page in pages] == [20, 20, 8]
        rows = pd.concat(pages)
        assert rows[column].is_monotonic_increasing
        columns = ["Annotator", "Item", "System", "Criterion"]
        assert sorted(map(tuple, rows[columns].values)) == sorted(map(tuple, every[columns].values))


def test_ratings_are_grouped_over_all_rows_that_pass(filled):
    session, study, _, people = filled
    frame = frame_of(session, study)
    by_item = groups_table(frame, Filters(criteria=frozenset({"fluency"})), "Item")
    assert (by_item.count, by_item.total) == (4, 4)
    assert set(by_item.rows["Ratings"]) == {6} and set(by_item.rows["Annotators"]) == {2}
    one = Filters(annotators=frozenset({people[0].pseudonym}))
    by_person = groups_table(frame, one, "Annotator").rows
    assert by_person[["Annotator", "Ratings", "Items"]].values.tolist() == [[people[0].pseudonym, 24, 4]]


def test_a_row_of_the_list_says_which_rating_it_is(filled):
    session, study, _, people = filled
    frame, names = frame_of(session, study), system_names(session, study)
    row = ratings_table(frame, Filters(systems=frozenset({2})), names).rows.iloc[0]
    rating = rating_of(frame, names, dict(row))
    assert rating["of"] == "2" and rating["about"] in {"fluency", "verdict"}
    assert (rating["look"], rating["by"]) == (row["Item"], row["Annotator"])


def test_systems_are_numbers_until_the_lead_unblinds(filled):
    session, study, lead, _ = filled
    assert list(system_names(session, study).values()) == ["System 1", "System 2", "System 3"]
    lifecycle.unblind(session, study, sure(lead))
    assert set(system_names(session, study).values()) == {"plumbum", "stannum", "ferrum"}
    assert events.since(session, study.id, 0)[-1].kind == "unblinded"


def test_highlights_keep_the_text_they_were_made_in(filled):
    session, study, _, people = filled
    work = first_work(session, people[0])
    spans = [{"slot": "A", "turn": None, "start": 26, "end": 29, "label": "good", "comment": "a smile"}]
    resubmit(session, people[0], work, {**full_answers(), "highlights": spans})
    (external_id, count), *_ = highlight_counts(session, study, Counted()).items()
    item = highlights_of_item(session, study, external_id, Counted())
    (span,) = [s for c in item.candidates for p in c.passages for s in p.spans]
    passage = next(p for c in item.candidates for p in c.passages if p.spans)
    assert count == 1
    assert passage.text[span.start : span.end].strip() == passage.text[26:29].strip()
    assert (span.annotator, span.label, span.comment) == (people[0].pseudonym, "good", "a smile")
    assert item.context[0].text.startswith("Question number")
    with pytest.raises(NotFound):
        highlights_of_item(session, study, "item-99", Counted())


def test_page_numbers_are_finite_and_intervals_within_scale(filled):
    session, study, _, _ = filled
    for result in criterion_results(frame_of(session, study)):
        for each in result.systems:
            numbers = [each.interval.mean, each.interval.low, each.interval.high]
            assert all(n is None or (math.isfinite(n) and result.ends[0] <= n <= result.ends[1]) for n in numbers)
        for words in (findings.headline(result, {}), findings.interval_note(result)):
            assert "nan" not in words.lower()


def test_alpha_of_each_system_is_that_of_its_ratings_alone(filled):
    session, study, _, _ = filled
    result = criterion(session, study, "verdict")
    ratings = next(
        each for each in criterion_ratings(frame_of(session, study), Counted()) if each.variable.key == "verdict"
    )
    for each in result.systems:
        alone = agreement_of(ratings.of_system(each.system))
        assert each.alpha.value == alone.alpha
        assert each.alpha.interval == alone.interval
