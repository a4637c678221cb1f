"""Going back: the list of one's items, and changes in every direction; checks look like any other item."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.annotations import submission
from helpers.check_items import check_item
from helpers.ratings import assigned
from helpers.studies import SMALL_RUBRIC, add_person, draft_items, full_answers, join
from sqlalchemy import select

from triptych.annotate import desk
from triptych.annotate.annotations import submit
from triptych.annotate.own_items import own_items, shortened
from triptych.operations import verify
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.models import Assignment, Event, Item, Purpose, Rating, StudyState
from triptych.study import lifecycle
from triptych.study.check_items import add_check_items, sorted_out
from triptych.study.settings import Checks, Formats, StudySettings, stored


@pytest.fixture
def make(module_engine):
    """make(checks) → (session, study, annotator) of an open study of 24 items."""
    with writing(module_engine) as session:

        def making(drafts: list[Any] | None = None) -> tuple[Any, Any, Any]:
            plan = lifecycle.StudyPlan(title="S", seed="s")
            study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(24), "lead")
            rules = Checks(attention_every=8, gold_every=8, repeat_percent=20, repeat_distance=5)
            study.settings = stored(StudySettings(checks=rules if drafts else Checks()))
            if drafts:
                add_check_items(session, study, sorted_out(drafts)[1], "lead")
            lifecycle.set_state(session, study, StudyState.open, "lead")
            return session, study, join(session, study, add_person(session, f"ann{study.id}"))

        yield making
        session.rollback()
        session.info.clear()


def some_checks() -> list[Any]:
    kinds = ("attention", "gold") * 3
    return [check_item(n, kind, "fluency = 3 ± 1 (As agreed.); verdict = accept") for n, kind in enumerate(kinds)]


def work(session, study, who, count: int) -> list[int]:
    """Rates so many items; returns the numbers of their assignments."""
    done = []
    for _ in range(count):
        item = assigned(session, study, who)
        submit(session, who, submission(item, f"submission-{item.id}"))
        done.append(item.id)
    return done


def leave_out(session, study, who, token: str, kind: str, reason: str) -> None:
    seen = desk.lay(session, study, who, showing=token).view.work
    desk.act(
        session,
        study,
        who,
        {
            **{"kind": kind, "assignment": token, "version": seen.version, "pen": "a pen of a tab"},
            **{"submission": f"{kind}-{token}-{seen.version}", "base": seen.draft_seq, "reason": reason},
        },
    )


def rate_again(session, study, who, token: str, fluency: int) -> None:
    seen = desk.lay(session, study, who, showing=token).view.work
    action = {
        **{"kind": "submit", "assignment": token, "version": seen.version, "pen": "a pen of a tab"},
        **{"submission": f"again-{token}-{seen.version}", "base": seen.draft_seq},
    }
    desk.act(session, study, who, {**action, "answers": full_answers(fluency=fluency)})


def fluency_of(session, assignment_id: int) -> set[float]:
    ratings = select(Rating.number).where(Rating.assignment_id == assignment_id, Rating.number.is_not(None))
    return set(session.scalars(ratings))


def shape_of(session, study, who) -> list[Any]:
    """What the list says of each item besides its texts and times, in the next transaction."""
    events.write_pending(session)
    items = own_items(session, study, who).items
    return [(item.number, item.state, item.reason, item.noted, sorted(item.model_dump())) for item in items]


def test_items_change_in_both_directions_with_the_reason_kept(make):
    session, study, who = make()
    work(session, study, who, 3)
    assigned(session, study, who)
    second = own_items(session, study, who).items[1].token
    leave_out(session, study, who, second, "ignore", "empty")
    listed = own_items(session, study, who)
    assert [(item.number, item.state, item.reason) for item in listed.items] == [
        *((1, "rated", ""), (2, "ignored", "It asks nothing"), (3, "rated", ""), (4, "open", "")),
    ]
    seen = desk.lay(session, study, who, showing=second).view
    assert (seen.work.number, seen.work.outcome, seen.work.reason) == (2, "ignored", "It asks nothing")
    assert seen.draft and seen.draft["ratings"]["A"]["fluency"] == 2, "what was rated is still there to go back to"
    rate_again(session, study, who, second, fluency=3)
    assert own_items(session, study, who).items[1].state == "rated"
    leave_out(session, study, who, second, "skip", "unclear")
    assert own_items(session, study, who).items[1].reason == "I can't understand the texts"
    report = verify.verify(session, study)
    assert report.holds, report.sentence


def test_any_item_opens_and_the_current_one_too(make):
    session, study, who = make()
    work(session, study, who, 2)
    held = assigned(session, study, who)
    first = own_items(session, study, who).items[0].token
    there = desk.act(session, study, who, {"kind": "open", "assignment": held.token, "item": first})
    assert (there.showing, there.view.work.number, there.view.work.can_go_back) == (first, 1, False)
    back = desk.act(session, study, who, {"kind": "open", "assignment": first, "item": held.token})
    assert (back.showing, back.view.work.number, back.view.work.can_go_back) == (None, 3, True)


@pytest.mark.long
def test_checks_look_like_any_other_item(make):
    """The list, the page and what happens to a change are the same with checks as without them."""
    session, plain, ann = make()
    work(session, plain, ann, 14)
    session, study, who = make(some_checks())
    done = work(session, study, who, 14)
    purposes = dict(session.execute(select(Assignment.id, Assignment.purpose).where(Assignment.id.in_(done))).all())
    assert {Purpose.attention, Purpose.gold, Purpose.repeat} <= set(purposes.values()), "else nothing is compared"
    assert shape_of(session, study, who) == shape_of(session, plain, ann)

    for number in (number for number in done if purposes[number] != Purpose.main):
        token = session.get_one(Assignment, number).token
        place = done.index(number)
        other = own_items(session, plain, ann).items[place].token
        for study_, who_, token_ in ((plain, ann, other), (study, who, token)):
            rate_again(session, study_, who_, token_, fluency=1)
        events.write_pending(session)
        both = [
            desk.lay(session, study_, who_, showing=token_).view
            for study_, who_, token_ in ((plain, ann, other), (study, who, token))
        ]
        works = [view.work.model_dump(exclude={"token", "store_key", "active_seconds"}) for view in both]
        assert works[0] == works[1]
        assert (both[1].draft or {})["ratings"]["A"]["fluency"] == 1
        assert fluency_of(session, number) == {2}, "the first answer counts"
        leave_out(session, plain, ann, other, "ignore", "empty")
        leave_out(session, study, who, token, "ignore", "empty")
        assert shape_of(session, study, who) == shape_of(session, plain, ann)
        assert session.get_one(Assignment, number).state == "submitted"
    events.write_pending(session)
    assert "check answered again" in session.scalars(select(Event.kind)).all()
    report = verify.verify(session, study)
    assert report.holds, report.sentence


@pytest.mark.parametrize(
    ("begins", "shown"),
    [
        ("Short\nand whole", "Short and whole"),
        ("x" * 59 + " y", "x" * 59 + " …"),
        ("word " * 12 + "w", "word " * 12 + "…"),
    ],
)
def test_a_longer_text_says_that_it_goes_on(begins, shown):
    assert shortened(begins) == shown


def test_markdown_begins_without_its_signs(make):
    session, study, who = make()
    study.settings = stored(StudySettings(formats=Formats(context="markdown")))
    item = assigned(session, study, who).item_id
    session.get_one(Item, item).context = "# A *plain* title\n\nand **text**"
    assert own_items(session, study, who).items[0].begins == "A plain title and text"
