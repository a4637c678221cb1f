"""Plans: what a file may say, what a proposal is like, what is stored, and the subset that more annotators rate."""

from __future__ import annotations

import io
from collections import Counter
from itertools import combinations
from typing import Literal

import openpyxl
import pytest
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, join
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update
from sqlmodel import Session

from triptych import clock
from triptych.annotate import assignments, reservations
from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.storage import database, events
from triptych.storage.models import (
    Assignment,
    AssignmentState,
    Item,
    Kind,
    Membership,
    Person,
    PlannedItem,
    Purpose,
    Role,
    Study,
    StudyState,
)
from triptych.study import design, lifecycle, pairing, plans
from triptych.study.pairing import PlanLine
from triptych.study.persons import Who
from triptych.study.settings import changed, stored


def draft_study(session: Session, items: int = 4, raters: int = 2, names: str = "abc") -> tuple[Study, list[Who]]:
    """A draft study with annotators of these one-letter names."""
    lead = add_person(session, f"lead-{items}-{names}", Role.lead)
    plan = lifecycle.StudyPlan(title="A small study", seed="fixed", raters_per_item=raters)
    study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(items), lead.pseudonym, lead.person_id)
    return study, [join(session, study, add_person(session, name)) for name in names]


def problems_of(plan: plans.AssignmentPlan, severity: str = "error") -> list[str]:
    return [str(problem) for problem in plan.problems if problem.severity == severity]


def read(session: Session, study: Study, text: str) -> plans.AssignmentPlan:
    return plans.read(session, study, text.encode(), "plan.csv")


def lines(*pairs: tuple[str, int]) -> list[PlanLine]:
    return [PlanLine(f"P-{name}", f"item-{n}") for name, n in pairs]


# Files


def test_plan_files_take_pseudonyms_or_names_with_optional_ranks(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, _ = draft_study(session)
        plan = read(
            session, study, "Item,Annotator,rank\nitem-1,P-a,2\nitem-2, A ,1\nitem-1,p-b,\nitem-3,b,\nitem-4,c,\n"
        )
        assert plan.ok
        assert plan.lines[0] == PlanLine("P-a", "item-1", 2, 2)
        assert [(line.annotator, line.rank) for line in plan.lines] == [
            ("P-a", 2), ("P-a", 1), ("P-b", None), ("P-b", None), ("P-c", None),
        ]  # fmt: skip
        book = openpyxl.Workbook()
        for row in (("annotator", "item_id", "rank"), ("P-a", "item-1", 2), ("b", "item-1", None)):
            book.active.append(row)
        content = io.BytesIO()
        book.save(content)
        plan = plans.read(session, study, content.getvalue(), "plan.xlsx")
        assert plan.lines == (PlanLine("P-a", "item-1", 2, 2), PlanLine("P-b", "item-1", None, 3))


def test_every_mistake_of_a_file_is_named_by_its_row(sqlite_engine) -> None:
    text = (
        "annotator,item_id,rank\nP-a,item-1,1\nnobody,item-1,2\nP-b,item-9,1\nP-a,item-1,3\n"
        "P-b,item-1,first\nP-c,item-1,1\nP-a,item-4,4\ntwin,item-2,1\n"
    )
    with Session(sqlite_engine) as session:
        study, people = draft_study(session, names="abcde")
        session.scalars(select(Item).where(Item.external_id == "item-4")).one().retired = True
        for who in people[3:]:
            session.get_one(Person, who.person_id).name = "Twin"
        session.flush()
        plan = read(session, study, text)
        assert not plan.ok
        assert problems_of(plan) == [
            "Row 6, column 'rank': is 'first'; a rank is a whole number, at least 1.",
            "Row 3, column 'annotator': 'nobody' does not take part in this study; use "
            "a pseudonym, or the name of someone who was invited.",
            "Row 4, column 'item_id': 'item-9' is not an item of this study.",
            "Row 8, column 'item_id': 'item-4' is retired.",
            "Row 9, column 'annotator': 'twin' is the name of several people in this study; use the pseudonym.",
            "Row 5: 'P-a' and item 'item-1' are already in row 2.",
            "Row 7: item 'item-1' has 3 annotators (rows 2, 6–7), but only 2 rate it. "
            "Take lines out, or raise the annotators per item.",
        ]


def test_a_plan_whose_rows_cannot_be_read_is_no_plan(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, _ = draft_study(session)
        plan = read(session, study, "annotator,item_id\nP-a\n")
        (problem,) = problems_of(plan)
        assert problem.startswith("Row 2: has 1 cell, the header has 2 columns.")
        assert not plan.ok


def test_what_a_plan_leaves_out_is_a_warning(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, people = draft_study(session, names="abcd")
        study.settings = stored(changed(study, items_per_annotator=1))
        left = select(Membership).where(Membership.person_id == people[3].person_id)
        session.scalars(left).one().excluded_at = clock.now()
        plan = read(session, study, "annotator,item_id\nP-a,item-1\nP-a,item-2\nP-b,item-3\n")
        assert plan.ok
        assert problems_of(plan, "warning") == [
            "3 item(s) have fewer annotators than the study asks for.",
            "1 item(s) have no annotator, so nobody will rate them: item-4.",
            "1 annotator(s) have no line and will get no items: P-c.",
            "An annotator rates at most 1 items; more are planned for P-a.",
            "The plan falls into 2 parts that share no item: P-a; P-b.",
        ]
        assert not read(session, study, "annotator,item_id\nP-d,item-1\n").ok


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("plan.csv", b"who,item_id\nP-a,item-1\n", "A plan needs the columns annotator and item_id"),
        ("plan.csv", b"P-a,item-1\n", "must name the columns, for example: annotator, item_id, rank"),
        ("plan.csv", b"annotator,item_id\n", "nothing to import"),
        ("plan.csv", b"PK\x03\x04", "a zip archive or an Excel workbook"),
        ("plan.json", b"[]", "cannot be read here. Known are .csv, .tsv, .txt, .xlsx"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_early(name: str, content: bytes, words: str) -> None:
    with pytest.raises(ImportRefused, match=words):
        plans.read(Session(), Study(title="None", slug="none", series="none", rubric_id=0, seed=""), content, name)


# What hangs together, and a proposal


def test_parts_that_share_no_item_are_distinguished() -> None:
    parts = pairing.connected(lines(("a", 1), ("b", 1), ("b", 2), ("c", 2), ("d", 3)))
    assert parts == [("P-a", "P-b", "P-c"), ("P-d",)]
    assert pairing.connected([]) == []


@settings(max_examples=25)
@given(st.integers(2, 9), st.integers(2, 30), st.integers(0, 40), st.integers(2, 4), st.integers(0, 99))
def test_a_proposal_is_full_even_and_connected(people: int, overlap: int, rest: int, raters: int, seed: int) -> None:
    names = [f"P{n}" for n in range(people)]
    raters_of = {f"o{n}": raters for n in range(overlap)} | {f"r{n}": 1 for n in range(rest)}
    made = pairing.proposed(raters_of, names, None, str(seed))
    assert len({(line.annotator, line.item_id) for line in made}) == len(made)
    assert Counter(line.item_id for line in made) == {item: min(k, people) for item, k in raters_of.items()}
    load = Counter(line.annotator for line in made)
    assert max(load.values()) - min(load.get(name, 0) for name in names) <= 1
    assert made == pairing.proposed(raters_of, names[::-1], None, str(seed))
    if overlap * (min(raters, people) - 1) >= people - 1:
        assert len(pairing.connected(made)) == 1
    for name in names:
        own = [line for line in made if line.annotator == name]
        assert [line.rank for line in own] == list(range(1, len(own) + 1))
        assert [line.item_id[0] for line in own] == sorted(line.item_id[0] for line in own)


def test_pairs_of_annotators_meet_about_equally_often() -> None:
    made = pairing.proposed({f"i{n}": 3 for n in range(60)}, [f"P{n}" for n in range(8)], None, "s")
    teams: dict[str, list[str]] = {}
    for line in made:
        teams.setdefault(line.item_id, []).append(line.annotator)
    met = Counter(frozenset(pair) for team in teams.values() for pair in combinations(team, 2))
    assert len(met) == 28
    assert max(met.values()) - min(met.values()) <= 2


def test_loads_never_exceed_the_cap() -> None:
    made = pairing.proposed({f"i{n}": 3 for n in range(10)}, ["a", "b", "c", "d"], 5, "s")
    assert set(Counter(line.annotator for line in made).values()) == {5}


# Stored


def test_a_stored_plan_keeps_its_ranks_over_a_round_trip(engine) -> None:
    with Session(engine) as session:
        study, people = draft_study(session)
        plan = read(session, study, "annotator,item_id,rank\nP-a,item-2,\nP-a,item-3,5\nP-a,item-1,2\nP-b,item-1,1\n")
        plans.store(session, study, plan.lines, "P-lead")
        database.commit(session)
        stored_lines = pairing.lines_of(session, study)
        assert [(line.annotator, line.item_id, line.rank) for line in stored_lines] == [
            ("P-a", "item-1", 1), ("P-a", "item-3", 2), ("P-a", "item-2", 3), ("P-b", "item-1", 1),
        ]  # fmt: skip
        again = read(session, study, plans.as_csv(stored_lines))
        plans.store(session, study, again.lines, "P-lead")
        database.commit(session)
        assert pairing.lines_of(session, study) == stored_lines
        with pytest.raises(ImportRefused, match="'item-9' is not an item of this study"):
            plans.store(session, study, lines(("a", 1), ("b", 9)), "P-lead")
        assert pairing.lines_of(session, study) == stored_lines
        assert [event.kind for event in events.since(session, study.id, 0)][-2:] == ["plan stored"] * 2
        plans.store(session, study, [], "P-lead")
        assert session.scalars(select(PlannedItem)).all() == []


def test_a_plan_after_launch_is_an_amendment(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, people = draft_study(session, items=1, raters=1)
        lifecycle.set_state(session, study, StudyState.open, "P-lead")
        database.commit(session)
        assignments.current(session, study, people[0])
        with pytest.raises(NotAllowed, match="needs a reason"):
            plans.store(session, study, lines(("a", 1)), "P-lead")
        with pytest.raises(ImportRefused, match="cannot get all planned annotators: item-1"):
            plans.store(session, study, lines(("b", 1)), "P-lead", "b shall do it")
        before = study.design_hash
        plans.store(session, study, lines(("a", 1)), "P-lead", "a has begun")
        database.commit(session)
        assert study.design_hash != before
        assert [amendment.reason for amendment in design.amendments(session, study)] == ["a has begun"]
        lifecycle.set_state(session, study, StudyState.closed, "P-lead")
        with pytest.raises(Conflict, match="closed"):
            plans.store(session, study, [], "P-lead", "too late")


def test_a_proposed_plan_covers_items_or_names_gaps(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, _ = draft_study(session, items=6, raters=2, names="abcd")
        plan = plans.check(session, study, plans.propose(session, study))
        assert (plan.ok, len(plan.lines), plan.problems) == (True, 12, ())
        empty, _ = draft_study(session, names="")
        with pytest.raises(NotAllowed, match="invite people first"):
            plans.propose(session, empty)


def test_no_item_is_planned_for_judges_or_disabled_accounts(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, (_, disabled, judge) = draft_study(session, items=4, raters=1)
        session.get_one(Person, disabled.person_id).disabled_at = clock.now()
        session.get_one(Person, judge.person_id).kind = Kind.judge
        session.flush()
        proposed = plans.propose(session, study)
        assert {line.annotator for line in proposed} == {"P-a"}
        assert plans.check(session, study, proposed).problems == ()
        assert problems_of(plans.check(session, study, lines(("c", 1))))


# The subset that more annotators rate


def test_finishing_items_first_assigns_them_in_blocks(sqlite_engine) -> None:
    with Session(sqlite_engine) as session:
        study, _ = draft_study(session, items=25, raters=3)
        study.settings = stored(changed(study, item_order="finish", overlap={"items": 2, "raters": 5}))
        pairing.apply_overlap(session, study)
        rows = session.execute(select(Item.priority).order_by(Item.rank)).scalars().all()
    assert Counter(rows)[-1] == 2
    others = [priority for priority in rows if priority >= 0]
    assert others == sorted(others)
    assert max(Counter(others).values()) <= 10
    assert others[-1] == 2


@pytest.mark.parametrize(("order", "share_of_work"), [("finish", 0.1), ("cover", 0.37)])
def test_agreement_exists_early_when_items_are_finished_first(
    order: Literal["finish", "cover"], share_of_work: float, sqlite_engine
) -> None:
    """Four annotators take turns; counted are the places taken until five items have two annotators."""
    with Session(sqlite_engine) as session:
        study, people = draft_study(session, items=60, raters=3, names="abcd")
        study.settings = stored(changed(study, item_order=order))
        pairing.apply_overlap(session, study)
        lifecycle.set_state(session, study, StudyState.open, "P-lead")
        taken = 0
        twice = select(func.count()).where(Item.study_id == study.id, Item.taken > 1)
        while session.execute(twice).scalar_one() < 5:
            who = people[taken % 4]
            item_id = present(reservations.take_next(session, study, who, planned=False))
            assigned = reservations.reserve(session, study, who, item_id, Purpose.main, ())
            done = {"state": AssignmentState.submitted, "submitted_at": clock.now()}
            session.execute(update(Assignment).where(Assignment.id == assigned.id).values(done))
            taken += 1
    assert taken <= share_of_work * 180 + 1
    assert order == "finish" or taken > 60


def test_the_overlap_subset_is_stable_until_launch_and_comes_first(sqlite_engine) -> None:
    def drawn() -> dict[str, tuple[int, int]]:
        pairing.apply_overlap(session, study)
        rows = session.execute(select(Item.external_id, Item.raters, Item.priority).order_by(Item.priority, Item.rank))
        return {name: (raters, priority) for name, raters, priority in rows}

    with Session(sqlite_engine) as session:
        study, _ = draft_study(session, items=10, raters=1)
        study.settings = stored(changed(study, overlap={"items": 3, "raters": 4}))
        first = drawn()
        assert Counter(first.values()) == {(4, -1): 3, (1, 0): 7}
        assert list(first.values())[:3] == [(4, -1)] * 3
        assert drawn() == first
        study.settings, study.raters_per_item = stored(changed(study, overlap={})), 2
        assert set(drawn().values()) == {(2, 0)}
        lifecycle.set_state(session, study, StudyState.open, "P-lead")
        with pytest.raises(Conflict, match="before launch"):
            pairing.apply_overlap(session, study)
