"""The pages Items and Log, run as Streamlit runs them."""

from __future__ import annotations

import pytest
from helpers.ratings import resubmit, submit, submit_during_a_check
from helpers.results_pages import words
from helpers.studies import SMALL_RUBRIC, add_person, full_answers, sure
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from components.shell import log_table, state
from components.shell.words import moment
from triptych import settings
from triptych.annotate import comments
from triptych.operations import backup, backup_schedule
from triptych.privacy import withdrawal
from triptych.results import adjudication
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.models import Item, Role, Study
from triptych.study import lifecycle, log
from triptych.study.log import EventFilters
from triptych.web.session import web_engine

LIKE_TWO = "It is short.\n\nLead · 2026-12-01 09:30 UTC\nAgreed: take it out."
HOSTILE = "![x](http://evil.example/x.png) <b>bold</b>"


@pytest.fixture
def lab(make_study):
    """(study, lead, annotators, item) in the app's own database; both annotators have rated its only item."""
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        for who, fluency in zip(people, (3, 2), strict=True):
            submit(session, study, who, full_answers(fluency=fluency) | {"note": HOSTILE})
        return study, lead, people, session.scalars(text("SELECT external_id FROM item")).one()


@pytest.fixture
def agreed(make_study):
    """(study, lead, annotators with their work); both gave the only item the same values, and a note."""
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1)
        answers = full_answers(fluency=2) | {"note": "look"}
        return study, lead, [(who, submit(session, study, who, answers)) for who in people]


def button(app: AppTest, label: str):
    return next(element for element in app.button if element.label == label)


def box(app: AppTest, label: str):
    return next(element for element in [*app.selectbox, *app.text_input] if element.label == label)


def disputed(app: AppTest) -> list:
    """The questions about fluency, on which the two annotators differ."""
    return [element for element in app.selectbox if element.label.startswith("Fluency: Response")]


@pytest.mark.long
def test_a_majority_is_accepted_and_the_rest_chosen_first(visit, lab):
    study, lead, people, item = lab
    app = visit(lead, "items.py", study=study.slug)
    text = words(app)
    assert all(who.pseudonym in text for who in people)
    assert HOSTILE in text  # as a cell of a table, where it is text
    assert not any(HOSTILE in element.value for element in app.markdown)
    assert not any(name in text for name in ("plumbum", "stannum", "ferrum", "System 1"))
    verdicts = [element for element in app.selectbox if element.label.startswith("Verdict: Response")]
    assert {element.value for element in verdicts} == {"accept"}
    assert {element.value for element in disputed(app)} == {""}
    button(app, "Accept all 6").click().run()
    assert "choose a value first" in app.error[0].value
    for element in disputed(app):
        element.set_value(3.0)
    button(app, "Accept all 6").click().run()
    assert not app.exception
    assert [element.value for element in app.success] == ["The final values of item\\-1 are recorded\\."]
    with reading(web_engine()) as session:
        values = adjudication.final_values(session, study)[item].values
    assert values == {(code, "fluency"): 3.0 for code in (1, 2, 3)} | {
        (code, "verdict"): "accept" for code in (1, 2, 3)
    }
    assert "Nothing is left to decide." in words(app)
    app = visit(lead, "items.py", study=study.slug, look=item)
    assert f"Decided by {lead.pseudonym}" in words(app)


@pytest.mark.long
def test_numbers_of_a_slider_without_a_step_are_decided(visit, make_study):
    """Again after a final value, which fills the boxes."""
    points = "kind: likert\n      points: [{value: 1, title: Poor}, {value: 2}, {value: 3, title: Good}]"
    assert points in SMALL_RUBRIC
    rubric = SMALL_RUBRIC.replace(points, "kind: number\n      low: 0\n      high: 100")
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1, rubric=rubric)
        for who in people:
            submit(session, study, who, full_answers(fluency=40))

    app = visit(lead, "items.py", study=study.slug)
    assert [element.value for element in app.number_input] == [40.0] * 3
    app.number_input[0].set_value(55.0)
    button(app, "Accept all 6").click().run()

    assert not app.exception
    app = visit(lead, "items.py", study=study.slug, look="item-1")
    assert (app.number_input[0].value, bool(app.exception)) == (55.0, False)


@pytest.mark.long
def test_empty_ones_stay_open_when_the_lead_says_so(visit, lab):
    study, lead, _, item = lab
    app = visit(lead, "items.py", study=study.slug)
    next(box for box in app.checkbox if "without a final value" in box.label).check()
    button(app, "Accept all 6").click().run()
    with reading(web_engine()) as session:
        values = adjudication.final_values(session, study)[item].values
    assert {key for _, key in values} == {"verdict"}


@pytest.mark.long
def test_agreed_values_take_one_click_and_the_next_item_follows(visit, make_study, monkeypatch):
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=2)
        for who in people:
            for _ in range(2):
                submit(session, study, who, full_answers(fluency=2) | {"note": "look"})
    app = visit(lead, "items.py", study=study.slug)
    first = app.header[0].value
    button(app, "Accept all 6").click().run()
    assert not app.exception
    assert app.header[0].value != first
    with reading(web_engine()) as session:
        assert len(adjudication.final_values(session, study)) == 1

    monkeypatch.setattr(state, "SLOW_CLICK_SECONDS", 600)  # however slow this computer is
    button(app, "Accept all 6").click().run()
    with reading(web_engine()) as session:
        assert len(adjudication.final_values(session, study)) == 1  # a second click was not for the next item

    monkeypatch.setattr(state, "SLOW_CLICK_SECONDS", 0)
    button(app, "Accept all 6").click().run()
    with reading(web_engine()) as session:
        assert len(adjudication.final_values(session, study)) == 2


@pytest.mark.long
@pytest.mark.parametrize("query", [{"look": "item-1"}, {}], ids=["the item", "the queue"])
def test_a_final_value_recorded_meanwhile_is_not_replaced(visit, agreed, query):
    study, lead, _ = agreed
    first, second = (visit(lead, "items.py", study=study.slug, **query) for _ in range(2))
    button(first, "Accept all 6").click().run()
    box(second, "Why").set_value("read twice")
    button(second, "Accept all 6").click().run()

    assert not second.exception
    [refusal] = [element.value.replace("\\", "") for element in second.error]
    assert "The final values of item-1 were not stored" in refusal and "read twice" in refusal
    with reading(web_engine()) as session:
        kinds = [event.kind for event in events.since(session, study.id, 0)]
        assert adjudication.final_values(session, study)["item-1"].reason == "As most annotators"
    assert "final value changed" not in kinds
    assert not second.run().error


@pytest.mark.long
def test_a_majority_that_changed_meanwhile_is_not_stored(visit, agreed):
    study, lead, works = agreed
    app = visit(lead, "items.py", study=study.slug, look="item-1")
    with writing(web_engine()) as session:
        for who, work in works:
            resubmit(session, who, work, full_answers(fluency=3))
    button(app, "Accept all 6").click().run()
    with reading(web_engine()) as session:
        assert adjudication.final_values(session, study) == {}
    assert {element.value for element in disputed(app)} == {3.0}

    button(app, "Accept all 6").click().run()

    with reading(web_engine()) as session:
        values = adjudication.final_values(session, study)["item-1"].values
    assert {value for (_, criterion), value in values.items() if criterion == "fluency"} == {3.0}


@pytest.mark.long
def test_a_reason_stays_in_a_form_that_was_not_stored(visit, agreed):
    study, lead, [(who, work), _] = agreed
    app = visit(lead, "items.py", study=study.slug, look="item-1")
    box(app, "Why").set_value("read twice")
    with writing(web_engine()) as session:
        resubmit(session, who, work, full_answers(fluency=3))
    button(app, "Accept all 6").click().run()

    assert disputed(app)[0].value == ""
    assert box(app, "Why").value == "read twice"


def test_final_values_recorded_between_drawing_and_storing_stay(visit, agreed, monkeypatch):
    study, lead, _ = agreed
    app = visit(lead, "items.py", study=study.slug, look="item-1")
    record = adjudication.record

    def too_late(session, *arguments, **options):
        record(session, study, "item-1", {(1, "fluency"): 1}, "of another lead", lead)
        monkeypatch.undo()
        record(session, *arguments, **options)

    monkeypatch.setattr(adjudication, "record", too_late)
    button(app, "Accept all 6").click().run()

    refusal = app.error[0].value.replace("\\", "")
    assert f"{lead.pseudonym} changed the final values of item-1 after your page showed them" in refusal


@pytest.mark.long
@pytest.mark.parametrize("changes_again", [True, False])
def test_final_values_changed_meanwhile_are_not_taken_back(visit, agreed, changes_again):
    study, lead, _ = agreed
    button(visit(lead, "items.py", study=study.slug), "Accept all 6").click().run()
    app = visit(lead, "items.py", study=study.slug, look="item-1")
    _take_back(app, "too early")
    with writing(web_engine()) as session:
        other = add_person(session, "Another lead", Role.lead)
        seen = adjudication.final_values(session, study)["item-1"]
        if changes_again:
            adjudication.record(session, study, "item-1", {(1, "fluency"): 1}, "read again", other, seen)
        else:
            adjudication.take_back(session, study, "item-1", "not yet", other, seen)
    app.run()

    assert not app.exception
    [refusal] = [element.value.replace("\\", "") for element in app.error]
    assert "The final values of item-1 were not taken back" in refusal and "too early" in refusal
    assert (f"They are {other.pseudonym}'s now." in refusal) == changes_again
    with reading(web_engine()) as session:
        assert {final.reason for final in adjudication.final_values(session, study).values()} == (
            {"read again"} if changes_again else set()
        )
        kinds = [event.kind for event in events.since(session, study.id, 0)]
    assert kinds.count("final value taken back") == (not changes_again)


def _take_back(app: AppTest, reason: str) -> None:
    """Fill in and click, without running the page."""
    next(element for element in app.text_input if "back-" in (element.key or "")).set_value(reason)
    button(app, "Take it back").click()


def test_previous_and_next_walk_the_queue(visit, make_study):
    with writing(web_engine()) as session:
        study, lead, _ = make_study(session)
    app = visit(lead, "items.py", study=study.slug)
    assert "1 of 4" in words(app)
    assert button(app, "Previous").disabled
    button(app, "Next").click().run()
    assert "2 of 4" in words(app)
    button(app, "Previous").click().run()
    assert "1 of 4" in words(app)


def test_a_flagged_annotator_is_not_offered(visit, make_study, monkeypatch):
    with writing(web_engine()) as session:
        study, lead, people = make_study(session, items=1, annotators=3)
        submit(session, study, people[0])
    flag = people[1].pseudonym
    monkeypatch.setattr("triptych.results.quality.flags_of", lambda *_: {flag: ("Too fast.",)})
    app = visit(lead, "items.py", study=study.slug)
    offered = box(app, "Let another annotator decide")
    assert offered.options == [people[2].pseudonym]
    assert f"they are flagged: {flag}" in words(app)


@pytest.mark.long
def test_a_final_value_needs_a_reason(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "items.py", study=study.slug)
    for element in disputed(app):
        element.set_value(3.0)
    box(app, "Why").set_value(" ")
    button(app, "Accept all 6").click().run()
    assert "Give a reason" in app.error[0].value


def test_a_study_without_ratings_still_lists_its_items(visit, make_study):
    with writing(web_engine()) as session:
        study, lead, _ = make_study(session)
    app = visit(lead, "items.py", study=study.slug)
    assert "4 of 4 items" in words(app)
    assert "There is no rating yet" in app.info[0].value


def test_the_log_is_filtered_by_the_address(visit, lab):
    study, lead, people, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    assert "8 events, newest first" in words(app)
    app = visit(lead, "log.py", study=study.slug, kind="submitted", person=people[0].pseudonym)
    text = words(app)
    assert "1 event with these filters" in text
    assert people[0].pseudonym in app.dataframe[0].value.to_string()
    assert people[1].pseudonym not in app.dataframe[0].value.to_string()


def test_the_log_filters_events_and_hides_what_would_unblind(engine, make_study):
    with writing(engine) as session:
        study, _, (first, second) = make_study(session)
        done = submit(session, study, first)
        submit(session, study, second)
    with reading(engine) as session:
        every, count = log.listed(session, study, EventFilters())
        assert count == len(every) == 10
        hidden = [entry for entry in every if entry.withheld]
        assert {entry.event.kind for entry in hidden} == {"reserved"}
        assert all(entry.new is None for entry in hidden)
        listed, _ = log.listed(session, study, EventFilters(assignment=done.id))
        assert [entry.event.kind for entry in listed] == ["submitted", "reserved"]
        item = session.get_one(Item, done.item_id).external_id
        assert {entry.item for entry in log.listed(session, study, EventFilters(item=item))[0]} == {item}
        at = every[2].event.at
        assert (
            log.listed(session, study, EventFilters(until=at))[1]
            + log.listed(session, study, EventFilters(since=at))[1]
            == 10
        )
        assert [entry.event.number for entry in log.listed(session, study, EventFilters(), 2, 3)[0]] == [8, 7, 6]


def test_an_edit_is_shown_rating_by_rating():
    old = {"version": 1, "ratings": [[0, "fluency", 2.0, None, False, [], ""]], "highlights": [], "note": None}
    new = {
        "version": 2,
        "ratings": [
            [0, "fluency", 3.0, None, False, ["wrong"], "so"],
            [None, "verdict", None, "accept", False, [], ""],
        ],
        "highlights": [[1, None, 0, 6, "good", ""]],
        "note": "mended",
    }
    changes = {row["Value"]: (row["Was"], row["Is"]) for row in log_table.changed_values(old, new)}
    assert changes["fluency, Response A"] == ("2", "3")
    assert changes["fluency, Response A: explanation"] == ("–", "wrong · so")
    assert changes["verdict, the item"] == ("–", "accept")
    assert changes["highlight 1, Response B"] == ("–", "good, characters 0 to 6")
    assert changes["note"] == ("–", "mended")


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("ratings", [1]),
        ("ratings", [["x"]]),
        ("ratings", [[0, "fluency", "x", None, False, [], ""]]),
        ("ratings", [["x", "fluency", 1, None, False, [], ""]]),
        ("highlights", [[0, "x", 0, 6, "good", ""]]),
        ("set_aside", ["x"]),
    ],
)
def test_a_part_of_odd_shape_is_shown_plainly(name, odd):
    changes = log_table.changed_values(None, {name: odd, "note": "fine"})

    assert changes == [{"Value": name.replace("_", " "), "Is": str(odd)}, {"Value": "note", "Is": "fine"}]


def test_a_withdrawal_can_be_opened_in_the_log(visit, lab, monkeypatch):
    study, lead, people, _ = lab
    with writing(web_engine()) as session:
        withdrawal.withdraw(session, session.get_one(Study, study.id), people[0].pseudonym, people[0].pseudonym)
    # AppTest selects no line of a table
    monkeypatch.setattr(
        log_table, "log_table", lambda entries, _: next(entry for entry in entries if entry.event.kind == "withdrew")
    )
    app = visit(lead, "log.py", study=study.slug)
    assert not app.exception
    assert [list(row) for row in app.dataframe[-1].value.to_numpy()] == [["ratings", "keep"]]


def test_the_check_reports_success_or_names_problems(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Integrity check"
    app.run()
    button(app, "Check everything now").click().run()
    assert "every row matches it" in app.success[0].value
    with writing(web_engine()) as session:
        session.execute(text("UPDATE rating SET number = 1 WHERE number = 3"))
    button(app, "Check everything now").click().run()
    assert "rows changed outside the app" in app.error[0].value
    assert "the log says 3" in words(app)
    with writing(web_engine()) as session:
        session.execute(text("UPDATE event SET actor = 'P-eve' WHERE number = 1"))
    button(app, "Check everything now").click().run()
    assert app.error[0].value == "The log itself was changed outside the app."
    assert "event 1" in words(app).lower()


def test_work_stored_during_a_check_is_no_problem(visit, postgres_engine, make_study, monkeypatch):
    monkeypatch.setattr(state, "engine", lambda: postgres_engine)
    with writing(postgres_engine) as session:
        study, lead, (who, _) = make_study(session)
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Integrity check"
    app.run()
    submit_during_a_check(monkeypatch, postgres_engine, study, who)

    button(app, "Check everything now").click().run()

    assert "every row matches it" in app.success[0].value


def test_a_backup_is_made_and_restored_on_the_page(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "backups.py", study=study.slug)
    assert "There is no backup yet." in words(app)
    button(app, "Back up now").click().run()
    assert not app.exception
    assert len(backup.listed()) == 1
    assert f"Last backup: {moment(backup.listed()[0].at)}, " in words(app)
    with writing(web_engine()) as session:
        session.get_one(Study, study.id).title = "Another title"
    (made,) = backup.listed()
    app.selectbox(key="backup").set_value(made.name).run()
    button(app, "Restore this backup").click().run()
    with reading(web_engine()) as session:
        assert session.get_one(Study, study.id).title == "Another title"
    assert "This loses 0 events since then in 0 studies, 0 of them created since." in words(app)
    app.checkbox(key=f"certain-restore-{made.name}-sure").check()
    button(app, "Restore this backup").click().run()
    assert not app.exception
    assert "The database was restored from" in app.success[0].value
    with reading(web_engine()) as session:
        assert session.get_one(Study, study.id).title == study.title
        assert events.since(session, study.id, 0)[-1].kind == "restored from a backup"


def test_a_folder_of_backups_on_an_absent_disk_is_named(visit, lab):
    study, lead, _, _ = lab
    (settings.local_folder() / "backups").symlink_to("absent")
    app = visit(lead, "backups.py", study=study.slug)
    assert not app.exception
    assert "backups is no folder" in app.error[0].value


def test_a_lead_sets_how_often_the_app_backs_up(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "backups.py", study=study.slug)
    box(app, "Make a backup").set_value(24).run()
    app.number_input[0].set_value(3).run()
    assert not app.exception
    with reading(web_engine()) as session:
        assert backup_schedule.state_of(session).schedule == backup_schedule.Schedule(24, 3)
    assert "Next: within minutes." in words(app)
    backup_schedule.back_up_if_due(web_engine())
    app = visit(lead, "backups.py", study=study.slug)
    assert "scheduled-" in words(app) and "Next: 20" in words(app)


def test_a_changed_schedule_keeps_what_another_lead_stored(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "backups.py", study=study.slug)
    with writing(web_engine()) as session:
        backup_schedule.set_schedule(session, backup_schedule.Schedule(168, 5))

    app.number_input[0].set_value(3).run()

    with reading(web_engine()) as session:
        assert backup_schedule.state_of(session).schedule == backup_schedule.Schedule(168, 3)
    assert box(app, "Make a backup").value == 168


def test_two_states_of_the_schedule_do_not_alternate(visit, lab):
    """A browser can send the states of a field that was drawn and of one that is being drawn."""
    study, lead, _, _ = lab
    app = visit(lead, "backups.py", study=study.slug)
    first = app.number_input[0]
    first.set_value(3).run()
    second = app.number_input[0]

    app.session_state[first.key] = 3
    app.session_state[second.key] = 14
    app.run(timeout=10)

    assert not app.exception
    assert app.number_input[0].value == 3


def test_the_capsule_is_there_once_the_study_is_unblinded(visit, lab):
    study, lead, _, _ = lab
    app = visit(lead, "log.py", study=study.slug)
    app.session_state[f"log-section-{study.slug}"] = "Capsule"
    capsule = words(app.run())
    assert "This study is blind." in capsule and "*" not in capsule
    with writing(web_engine()) as session:
        lifecycle.unblind(session, study, sure(lead))
    assert "This study is blind." not in words(app.run())


@pytest.mark.long
def test_a_lead_asks_about_an_item_and_reads_the_answer(visit, lab):
    study, lead, people, item = lab
    app = visit(lead, "items.py", study=study.slug)
    box(app, "Annotator").set_value(people[0].pseudonym)
    text = next(element for element in app.text_area if element.label == "Comment")
    text.set_value("Is it Ferrum?")
    button(app, "Send").click().run()
    assert "name of a system" in app.error[0].value
    text = next(element for element in app.text_area if element.label == "Comment")
    assert text.value == "Is it Ferrum?"  # what was typed is still there
    text.set_value(HOSTILE)
    button(app, "Send").click().run()
    assert "waits for an answer" in words(app)
    assert next(element for element in app.text_area if element.label == "Comment").value == ""
    with writing(web_engine()) as session:
        (own,) = comments.threads_of(session, study, people[0])
        comments.answer(session, study, people[0], own.token, LIKE_TWO)
    app = visit(lead, "items.py", study=study.slug)
    assert f"With {people[0].pseudonym} · answered" in words(app)
    assert LIKE_TWO in [element.value for element in app.text]  # who wrote it, and when, looks otherwise
    assert not any(HOSTILE in element.value for element in app.markdown)
    assert "answered" in app.dataframe[0].value["Comments"].tolist()
