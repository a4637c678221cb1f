"""Which check comes next: rates, distances and repeatability; comparing answers; check items of a file."""

from collections import Counter
from contextlib import nullcontext

import pytest
from helpers.annotations import submission
from helpers.check_items import check_item
from helpers.present import present
from helpers.ratings import assigned
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from triptych.annotate import annotations, assignments, checks, desk
from triptych.annotate.assignments import NoItem
from triptych.annotate.checks import Shown, closeness, due, expected
from triptych.annotate.reservations import Assigned
from triptych.errors import ImportRefused, NotAllowed
from triptych.formats.model import ItemDraft, ItemFile
from triptych.results.frame.upkeep import frame_of
from triptych.rubric.model import LETTERS
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.models import (
    HIDDEN,
    WORK,
    Assignment,
    Item,
    Purpose,
    Reference,
    Slot,
    StudyState,
)
from triptych.study import design, lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.design import Parts
from triptych.study.settings import Checks, StudySettings, stored

ATTENTION = range(1000, 1040)
GOLD = range(2000, 2040)
BEGIN = "{key: wide, title: Wide, summary: One question., instructions: Answer., "


def sequence(rules: Checks, seed: str, total: int, attention=ATTENTION, gold=GOLD) -> list[Shown]:
    """What an annotator is shown who gets `total` main items and skips every seventh."""
    history: list[Shown] = []
    main = 0
    while True:
        had = {shown.item for shown in history}
        check = due(
            rules, seed, history, total, [i for i in attention if i not in had], [i for i in gold if i not in had]
        )
        if check is None and main == total:
            return history
        number = len(history) + 1
        if check is None:
            main += 1
            history.append(Shown(number, main, Purpose.main, main % 7 != 0))
        else:
            history.append(Shown(number, check.item, check.purpose, False))


def places(history: list[Shown], purpose: Purpose) -> list[int]:
    return [place for place, shown in enumerate(history, 1) if shown.purpose == purpose]


RULES = st.builds(
    Checks,
    attention_every=st.sampled_from([0, 10, 20, 33]),
    gold_every=st.sampled_from([0, 8, 15]),
    repeat_percent=st.sampled_from([0, 5, 10]),
)


@settings(max_examples=8)
@given(RULES, st.text(max_size=5), st.integers(0, 120))
def test_checks_keep_their_rates_and_are_never_adjacent(rules: Checks, seed: str, total: int):
    shown = sequence(rules, seed, total)

    assert shown == sequence(rules, seed, total)
    hidden = [check.purpose in HIDDEN for check in shown]
    assert not any(first and second for first, second in zip(hidden, hidden[1:], strict=False))
    for purpose, every in ((Purpose.attention, rules.attention_every), (Purpose.gold, rules.gold_every)):
        number = len(places(shown, purpose))
        assert abs(number - total / every) <= 1.5 if every else number == 0
    attention = places(shown, Purpose.attention)
    assert not attention or 5 <= attention[0] <= 10
    assert abs(expected(rules, seed, total, len(ATTENTION), len(GOLD)) - (len(shown) - total)) <= 2


@settings(max_examples=6)
@given(st.sampled_from([5, 10]), st.integers(1, 20), st.text(max_size=5), st.integers(40, 120))
def test_repeats_come_late_and_show_items_rated_once(percent, distance, seed, total):
    rules = Checks(repeat_percent=percent, repeat_distance=distance)

    shown = sequence(rules, seed, total)

    first = {shown_item.item: place for place, shown_item in enumerate(shown, 1) if shown_item.purpose == Purpose.main}
    repeats = [
        (place, shown_item.item) for place, shown_item in enumerate(shown, 1) if shown_item.purpose == Purpose.repeat
    ]
    assert all(place - first[item] >= distance for place, item in repeats)
    assert all(item % 7 for _, item in repeats)
    assert len({item for _, item in repeats}) == len(repeats)
    assert abs(len(repeats) - max(3, round(total * percent / 100))) <= 1


def test_when_a_check_comes_differs_evenly_between_annotators():
    """Who hears from others when a check came cannot expect theirs."""
    rules = Checks(attention_every=20, gold_every=0)
    shown = [places(sequence(rules, str(seed), 40, gold=()), Purpose.attention) for seed in range(300)]
    first, second = (Counter(attention[number] for attention in shown) for number in (0, 1))

    assert sorted(first) == [5, 6, 7, 8]
    assert sorted(second) == [*range(27, 37)]  # the middle half of its twenty items, after the first check
    assert min(first.values()) > 300 / 4 * 0.7
    assert min(second.values()) > 300 / 10 * 0.5


def test_a_study_without_check_items_has_no_checks():
    assert {shown.purpose for shown in sequence(Checks(), "seed", 60, attention=(), gold=())} == {Purpose.main}
    assert expected(Checks(), "seed", 60, 0, 0) == 0


def test_checks_turned_on_late_do_not_come_in_a_burst():
    history = [Shown(n, n, Purpose.main, True) for n in range(1, 101)]
    rules = Checks(attention_every=20, gold_every=0)
    assert due(rules, "seed", history, 200, ATTENTION, ()).purpose == Purpose.attention

    history += [Shown(101, ATTENTION[0], Purpose.attention, False), Shown(102, 102, Purpose.main, True)]

    assert due(rules, "seed", history, 200, ATTENTION[1:], ()) is None


@pytest.mark.parametrize(
    ("answer", "accepted", "close", "result"),
    [
        (3.0, "3", 0, "same"),
        (2.5, "3", 0.5, "close"),
        (2.0, "3", 0.5, "different"),
        (0.4, "0.3", 0.1, "close"),
        (0.41, "0.3", 0.1, "different"),
        (0.1 + 0.2, "0.3", 0, "same"),
        (1e-10, "2e-10", 0, "different"),
        (4e-10, "3e-10", 1e-10, "close"),
        (1000000000.001, "1000000000.002", 0, "different"),
        ("accept", "accept|unsure", 0, "same"),
        ("unsure", "accept|unsure", 0, "same"),
        ("reject", "accept|unsure", 0, "different"),
        (None, "3", 1, "different"),
        (None, "accept", 1, "different"),
        ("inf", "inf", 0, "same"),  # for informative: an option's key, no number
        ("nan", "inf|nan", 0, "same"),
    ],
)
def test_an_answer_is_compared_with_what_is_accepted(answer, accepted, close, result):
    assert closeness(answer, accepted, close) == result


# Check items of a study


def test_fields_of_a_file_make_check_items():
    main, checks_of_file = sorted_out(
        [*draft_items(2), check_item(1, "gold", "fluency A = 3 ± 1 (reads well); verdict = accept | unsure")]
    )

    assert [item.external_id for item in main] == ["item-1", "item-2"]
    assert sorted_out([check_item(1, "main", "fluency = 3")])[0][0].meta == {"stars": "4"}
    assert checks_of_file[0].purpose == Purpose.gold
    assert checks_of_file[0].item.meta == {"stars": "4"}
    first, second = checks_of_file[0].references
    assert (first.criterion, first.slot, first.accepted, first.close, first.reason) == (
        "fluency",
        "A",
        "3",
        1,
        "reads well",
    )
    assert (second.slot, second.accepted) == (None, "accept | unsure")
    as_json = '[{"criterion": "fluency", "slot": "B", "accepted": 2, "reason": "a; b"}]'
    assert sorted_out([check_item(1, "gold", as_json)])[1][0].references[0].accepted == "2"


@pytest.mark.parametrize("reference", ["", "fluency", "fluency A = 3 ± x", "[1]", "[" * 5000, '{"criterion": 1}'])
def test_an_unreadable_reference_names_the_item_and_an_example(reference):
    with pytest.raises(ImportRefused, match=r"Item gold-1: the reference .* Write for example"):
        sorted_out([check_item(1, "gold", reference)])


def test_a_purpose_that_does_not_exist_is_refused():
    with pytest.raises(ImportRefused, match="not main, gold or attention"):
        sorted_out([check_item(1, "golden", "fluency = 3")])


@pytest.fixture
def checked(module_engine):
    """A function that makes an open study with attention and gold items: (session, study, annotator)."""
    with writing(module_engine) as session:

        def make(items: int, *drafts: ItemDraft, **rules: int):
            plan = lifecycle.StudyPlan(title="Checked", seed="fixed", raters_per_item=1)
            study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(items), "lead")
            study.settings = stored(StudySettings(checks=Checks(**rules)))
            add_check_items(session, study, sorted_out(drafts)[1], "lead")
            lifecycle.set_state(session, study, StudyState.open, "lead")
            return session, study, join(session, study, add_person(session, "ann"))

        yield make
        session.rollback()
        session.info.clear()  # what was recorded is not to be written either


def test_a_reference_keeps_all_its_digits(module_engine):
    """1234567 was stored as 1.23457e+06, so the answer that an attention item asks for was wrong."""
    scale = "{kind: number, low: 0, high: 10000000}"
    rubric = f"{BEGIN}criteria: [{{key: price, title: Price, definition: In cents., scale: {scale}}}]}}"
    with writing(module_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan("Wide"), rubric, draft_items(1), "lead")
        drafts = sorted_out([check_item(1, "attention", "price = 1234567 (as told)")])[1]
        add_check_items(session, study, drafts, "lead")
        items = Item.study_id == study.id, Item.purpose == Purpose.attention
        accepted = set(
            session.scalars(select(Reference.accepted).join(Item, Item.id == Reference.item_id).where(*items))
        )
        assert {closeness(1234567.0, reference, 0) for reference in accepted} == {"same"}
        rubric_read = lifecycle.design_of(session, study).rubric
        assert checks.in_words(rubric_read, "price", accepted.pop()) == "1234567"
        session.rollback()
        session.info.clear()


def some_checks() -> list[ItemDraft]:
    references = "fluency = 1; verdict = accept"
    return [
        *(check_item(n, "attention", references) for n in range(4)),
        *(check_item(n, "gold", references) for n in range(6)),
    ]


def test_checks_look_like_items_and_count_in_no_result(checked):
    session, study, who = checked(40, *some_checks(), repeat_percent=5)
    views = []
    done: list[Assigned] = []
    while isinstance(work := assignments.current(session, study, who), Assigned):
        views.append(desk.lay(session, study, who).view)
        answers = full_answers(fluency=1 + len(done) % 3)
        annotations.submit(session, who, submission(work, f"submission-{work.id}", answers=answers))
        done.append(work)

    counts = {purpose: sum(work.purpose == purpose for work in done) for purpose in WORK}
    assert counts == {Purpose.main: 40, Purpose.attention: 2, Purpose.gold: 3, Purpose.repeat: 3}
    assert work is NoItem.finished
    # the browser cannot tell one from another
    assert {view.work.purpose for view in views} == {"main"}
    assert [view.progress.done for view in views] == list(range(48))
    assert {view.progress.total for view in views} == {48}
    # checks take no place and are not among the results
    assert set(session.scalars(select(Item.taken).where(Item.purpose != Purpose.main))) == {0}
    assert len(frame_of(session, study).work) == 40
    # the log shows the order; a repeat has another one than the first time
    for repeat in (work for work in done if work.purpose == Purpose.repeat):
        original = session.get_one(Assignment, session.get_one(Assignment, repeat.id).repeat_of)
        orders = [
            session.scalars(
                select(Slot.candidate_id).where(Slot.assignment_id == assignment_id).order_by(Slot.position)
            ).all()
            for assignment_id in (repeat.id, original.id)
        ]
        assert original.item_id == repeat.item_id
        assert orders[0] != orders[1]
        assert sorted(orders[0]) == sorted(orders[1])


def test_the_first_answer_to_a_check_counts(checked):
    session, study, who = checked(30, *some_checks())
    done: list[Assigned] = []
    while not done or done[-1].purpose == Purpose.main:
        done.append(assigned(session, study, who))
        annotations.submit(session, who, submission(done[-1], f"submission-{done[-1].id}"))
    first = checks.compared(session, Assignment.id == done[-1].id)

    held = assignments.current(session, study, who)
    assert assignments.neighbour(session, study, who, held.token, -1) == done[-1].token
    again = assignments.by_token(session, study, who, done[-1].token)
    annotations.submit(session, who, submission(again, "submission-again", answers=full_answers(fluency=1)))

    assert checks.compared(session, Assignment.id == done[-1].id) == first
    assert assignments.by_token(session, study, who, done[-1].token).version == again.version + 1


def test_a_reference_counts_the_candidates_as_in_the_file(checked):
    """Whatever order the annotator saw."""
    session, study, who = checked(12, check_item(1, "attention", "fluency A = 1; fluency B = 2; fluency C = 3"))
    while (work := assigned(session, study, who)).purpose != Purpose.attention:
        annotations.submit(session, who, submission(work, f"submission-{work.id}"))
    texts = {seen.letter: present(seen.text) for seen in desk.lay(session, study, who).view.item.candidates}
    right = {"p": 1, "s": 2, "f": 3}
    answers = {"ratings": {letter: {"fluency": right[text[-1]], "verdict": "accept"} for letter, text in texts.items()}}
    annotations.submit(session, who, submission(work, "submission-check", answers=answers))

    comparisons = checks.compared(session, Assignment.id == work.id)

    assert [(comparison.criterion, comparison.closeness) for comparison in comparisons] == [("fluency", "same")] * 3
    assert {LETTERS[present(comparison.position)]: comparison.given for comparison in comparisons} == {
        letter: right[text[-1]] for letter, text in texts.items()
    }


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("tone = 3", "'tone' is not a criterion"),
        ("fluency = 9", "9.0 is not a point"),
        ("verdict = perhaps", "'perhaps' is not an option"),
        ("fluency = much", "'much' is not a number"),
        ("fluency D = 1", "no candidate D"),
        ("[]", "It has no reference"),
        ("fluency = 1; fluency A = 2", "two references"),
    ],
)
def test_check_items_that_do_not_fit_are_refused_together(module_engine, reference, why):
    with writing(module_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="x"), SMALL_RUBRIC, draft_items(1), "lead")
        drafts = sorted_out([check_item(1, "gold", "fluency = 1"), check_item(2, "gold", reference)])[1]

        with pytest.raises(ImportRefused, match=f"Item gold-2: .*{why}"):
            add_check_items(session, study, drafts, "lead")
        assert len(session.scalars(select(Item.id)).all()) == 1
        session.rollback()
        session.info.clear()  # what was recorded is not to be written either


def test_check_items_need_ids_of_their_own(module_engine):
    with writing(module_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="x"), SMALL_RUBRIC, draft_items(1), "lead")
        drafts = sorted_out([check_item(1, "gold", "fluency = 1")])[1]
        add_check_items(session, study, drafts, "lead")

        with pytest.raises(ImportRefused, match="Item gold-1: the study already has an item with this id"):
            add_check_items(session, study, drafts, "lead")
        session.rollback()
        session.info.clear()


@pytest.mark.parametrize(("accepted", "why"), [("2", "the reference is 1 .chosen. or 0"), ("1", "")])
def test_a_reference_to_the_best_response_is_chosen_or_not(module_engine, accepted, why):
    rubric = f"{BEGIN}criteria: [{{key: best, title: Best, definition: Which?, about: item, scale: {{kind: best}}}}]}}"
    with writing(module_engine) as session:
        study = lifecycle.create_study(session, lifecycle.StudyPlan(title="x"), rubric, draft_items(1), "lead")
        drafts = sorted_out([check_item(1, "gold", f"best = {accepted}")])[1]

        with pytest.raises(ImportRefused, match=why) if why else nullcontext():
            add_check_items(session, study, drafts, "lead")
        session.rollback()
        session.info.clear()


def rate(session, study, who, limit: int) -> list[str]:
    """Rates up to so many items; returns their ids."""
    done: list[str] = []
    while len(done) < limit and isinstance(work := assignments.current(session, study, who), Assigned):
        annotations.submit(session, who, submission(work, f"submission-{work.id}"))
        done.append(session.get_one(Item, work.item_id).external_id)
    return done


def test_check_items_added_after_launch_are_an_amendment(checked):
    session, study, who = checked(12, gold_every=4)
    before, frozen = rate(session, study, who, 7), study.design_hash
    more = Parts(items=ItemFile("jsonl", (check_item(2, "gold", "fluency = 1"),)))
    with pytest.raises(NotAllowed, match="needs a reason"):
        design.amend(session, study, more, "", "lead")
    design.amend(session, study, more, "no gold item yet", "lead")
    after = rate(session, study, who, 99)

    assert ("gold-2" in before, after.count("gold-2")) == (False, 1)
    assert study.design_hash != frozen
    assert [(amendment.reason, amendment.parts) for amendment in design.amendments(session, study)] == [
        ("no gold item yet", ("items",))
    ]


def test_check_items_are_logged(checked):
    session, study, _ = checked(2, check_item(1, "gold", "fluency = 1"))

    assert "check items added" in [event.kind for event in events.since(session, study.id, 0)]
