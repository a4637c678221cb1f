"""Conclusions of large studies: computed in the background, one at a time, and never shown for other work."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace

import pytest
from helpers.present import present
from helpers.ratings import exclude, submit
from helpers.results_pages import visit, words  # noqa: F401  (fixtures)
from helpers.studies import add_person, full_answers

from components.results.first_screen import beside
from triptych.annotate import onboarding
from triptych.errors import TriptychError
from triptych.people import invitations, joining
from triptych.results.caveats import caveats
from triptych.results.first_screen import conclusion as conclusions
from triptych.results.first_screen.conclusion import FAILED, STEPS, Latest, latest
from triptych.results.first_screen.means import means
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.looking import log_look
from triptych.results.study_analysis import StudyAnalysis
from triptych.storage import database, events
from triptych.storage.events import EventKind
from triptych.storage.models import Role, Study
from triptych.study import design
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names
from triptych.web.session import web_engine


@pytest.fixture
def lab(engine, make_study):
    """(engine, study, annotators): each of them has rated one item of three."""
    with database.writing(engine) as session:
        study, _, people = make_study(session, items=3, annotators=3)
        for place, who in enumerate(people):
            submit(session, study, who, full_answers(fluency=1 + place % 3))
    return engine, study, people


@pytest.fixture(autouse=True)
def no_head_start(monkeypatch):
    monkeypatch.setattr(conclusions, "HEAD_START", 0)


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr(conclusions, "PAUSE", 0)


def ask(engine, study, counted: Counted = Counted()) -> Latest:
    with database.reading(engine) as session:
        return latest(session, study, counted)


def at_work() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "conclusion"]


def asked_until_whole(engine, study, counted: Counted = Counted()) -> Latest:
    """As the page asks: it begins what is due, and asks again after that."""
    ask(engine, study, counted)
    for thread in at_work():
        thread.join()
    return ask(engine, study, counted)


@dataclass(frozen=True)
class Held:
    """A thread at work that waits in its first step; `arrived` when it is there, until `release`."""

    arrived: threading.Event
    may_go_on: threading.Event

    def wait(self, _analysis: StudyAnalysis) -> None:
        self.arrived.set()
        assert self.may_go_on.wait(30)

    def release(self) -> None:
        self.may_go_on.set()


@pytest.fixture
def held(monkeypatch):
    held = Held(threading.Event(), threading.Event())
    monkeypatch.setattr(conclusions, "STEPS", {"being held": held.wait} | STEPS)
    yield held
    held.release()
    for thread in at_work():
        thread.join()


def test_a_conclusion_says_what_it_goes_up_to(lab):
    engine, study, _ = lab
    assert ask(engine, study).conclusion is None
    first = asked_until_whole(engine, study)
    conclusion = present(first.conclusion)
    assert (first.current, first.progress, first.failure) == (True, None, "")
    with database.reading(engine) as session:
        frame = frame_of(session, study)
        assert conclusion.number == frame.number
        assert conclusion.findings == caveats(session, study, conclusion.analysis)
    assert conclusion.annotations == 3
    assert conclusion.last_at == frame.work["submitted_at"].max()
    assert ask(engine, study).conclusion is conclusion
    assert not at_work()


def test_one_thread_at_most_works_for_a_study(lab, held):
    engine, study, _ = lab
    ask(engine, study)
    assert held.arrived.wait(30)
    others = [ask(engine, study, Counted(with_excluded=True)) for _ in range(3)]
    assert len(at_work()) == 1
    assert [present(other.progress).step for other in others] == ["being held"] * 3
    held.release()
    first, other = asked_until_whole(engine, study), asked_until_whole(engine, study, Counted(with_excluded=True))
    assert present(first.conclusion).analysis.scope != present(other.conclusion).analysis.scope


def test_conclusions_of_several_studies_wait_for_each_other(lab, make_study, monkeypatch):
    engine, *_ = lab
    with database.writing(engine) as session:
        studies = [make_study(session, title=f"Study {n}", annotators=1) for n in range(3)]
        for study, _, people in studies:
            submit(session, study, people[0])
    has_turn: list[bool] = []
    compute = {"being watched": lambda _: has_turn.append(conclusions._turn.locked())}
    monkeypatch.setattr(conclusions, "STEPS", compute | STEPS)
    for study, *_ in studies:
        ask(engine, study)
    for thread in at_work():
        thread.join()
    assert has_turn == [True] * 3


def test_the_last_conclusion_stays_until_the_next_is_whole(lab, held, no_pause):
    engine, study, people = lab
    held.release()
    old = present(asked_until_whole(engine, study).conclusion)
    with database.writing(engine) as session:
        submit(session, study, people[0], full_answers())
    meanwhile = ask(engine, study)
    assert (meanwhile.conclusion, meanwhile.current) == (old, False)
    assert old.annotations == 3
    new = asked_until_whole(engine, study)
    assert new.current
    assert present(new.conclusion).annotations == 4
    assert present(new.conclusion).number > old.number


def test_the_next_conclusion_waits_so_that_annotators_do_not(lab, monkeypatch):
    engine, study, people = lab
    old = present(asked_until_whole(engine, study).conclusion)
    with database.writing(engine) as session:
        submit(session, study, people[0], full_answers())
    assert ask(engine, study) == Latest(old, False, None)
    assert not at_work()
    began = conclusions.time.monotonic()
    monkeypatch.setattr(conclusions.time, "monotonic", lambda: began + 1_000_000)
    assert present(asked_until_whole(engine, study).conclusion).annotations == 4


def test_a_look_at_results_leaves_the_conclusion_standing(lab):
    engine, study, _ = lab
    old = asked_until_whole(engine, study).conclusion
    with database.writing(engine) as session:
        log_look(session, study, 3, 9, "L-AAAAA")
    assert ask(engine, study) == Latest(old, True, None)


def test_arrivals_leave_the_last_conclusion_standing(lab):
    """While people joined, or one of them answered a check again and again, leads saw no results."""
    engine, study, people = lab
    with database.writing(engine) as session:
        consent = {"text": "Please agree."}
        design.amend(session, study, design.Parts(settings={"consent": consent}), "asked now", "P-lead")
    old = asked_until_whole(engine, study).conclusion
    with database.writing(engine) as session:
        study = session.get_one(Study, study.id)
        again = {"actor": people[0].pseudonym, "subject": people[0].pseudonym}
        events.record(session, study.id, EventKind.check_answered_again, **again)
        invitations.invite_one(session, study, "Vera", "", Role.viewer, "P-lead")
    assert ask(engine, study) == Latest(old, True, None)

    with database.writing(engine) as session:
        study = session.get_one(Study, study.id)
        joining.enrol(session, study, (newcomer := add_person(session, "new")).person_id, newcomer.pseudonym)
        joining.consent(session, study, newcomer, settings_of(study).consent.version)
        onboarding.read_instructions(session, study, newcomer, onboarding.wording_of(study))

    assert (ask(engine, study).conclusion, ask(engine, study).current) == (old, False)


def test_after_an_exclusion_the_last_conclusion_is_not_shown_again(lab):
    engine, study, people = lab
    assert asked_until_whole(engine, study).conclusion
    with database.writing(engine) as session:
        exclude(session, study, people[0])
    assert ask(engine, study).conclusion is None
    assert present(asked_until_whole(engine, study).conclusion).annotations == 2


def test_the_conclusion_of_a_restored_state_is_not_shown(lab):
    engine, study, _ = lab
    old = present(asked_until_whole(engine, study).conclusion)
    (shelf,) = (shelf for shelf in conclusions._shelves.values() if old in shelf.conclusions.values())
    shelf.conclusions = {asked: replace(old, hash="0" * 64) for asked in shelf.conclusions}
    assert ask(engine, study).conclusion is None


@pytest.mark.parametrize(
    ("error", "sentence"), [(ValueError("7 < x"), FAILED), (TriptychError("No disk."), "No disk.")]
)
def test_a_failure_is_a_sentence_and_is_tried_again_later(lab, monkeypatch, caplog, error, sentence):
    engine, study, _ = lab

    def fail(_analysis):
        raise error

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(conclusions, "STEPS", {"failing": fail})
        failed = asked_until_whole(engine, study)
    assert (failed.conclusion, failed.failure) == (None, sentence)
    assert ("7 < x" in caplog.text) == (sentence == FAILED)
    assert not at_work()
    began = conclusions.time.monotonic()
    monkeypatch.setattr(conclusions.time, "monotonic", lambda: began + conclusions.RETRY_SECONDS + 1)
    assert asked_until_whole(engine, study).conclusion


def test_counts_and_means_are_those_of_the_analysis(lab):
    engine, study, _ = lab
    conclusion = present(asked_until_whole(engine, study).conclusion)
    with database.reading(engine) as session:
        table = means(frame_of(session, study), Counted(), system_names(session, study))
    fluency = table[table["Criterion"] == "Fluency"]
    (result,) = (result for result in conclusion.analysis.criteria if result.criterion.key == "fluency")
    assert fluency["System"].tolist() == ["System 1", "System 2", "System 3"]
    assert fluency["Ratings"].tolist() == [system.n for system in result.systems]
    assert fluency["Mean or share"].tolist() == ["2.00"] * 3


def test_a_large_study_shows_means_then_the_conclusion(visit, make_study, monkeypatch, held):
    monkeypatch.setattr(beside, "LARGE", 0)
    with database.writing(web_engine()) as session:
        study, lead, people = make_study(session, items=2)
        for who in people:
            submit(session, study, who, full_answers())
    app = visit(lead, "results.py", study=study.slug)
    assert held.arrived.wait(30)
    text = words(app.run())
    assert "System 1" in text and "plumbum" not in text
    assert [heading.value for heading in app.header] == ["Counts and means so far"]
    assert "being held. You can leave this page" in app.get("progress")[0].proto.text
    assert not app.get("plotly_chart")
    held.release()
    for thread in at_work():
        thread.join()
    text = words(app.run())
    assert "of 2 annotations (" in text and "of the log" in text
    assert app.get("plotly_chart")
