"""Comments between leads and an annotator about one annotation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.postgres_databases import wait_for_a_lock
from helpers.ratings import resubmit, submit
from helpers.studies import full_answers, sure
from sqlalchemy import select

from triptych.annotate import comments, desk
from triptych.annotate.own_items import own_items
from triptych.errors import Conflict, NotAllowed, NotFound
from triptych.operations import verify
from triptych.privacy import erasure, personal_data, withdrawal
from triptych.results.caveats import caveats
from triptych.results.frame.model import Counted
from triptych.results.frame.upkeep import frame_of
from triptych.results.study_analysis import analyse
from triptych.storage.database import reading, writing
from triptych.storage.models import Assignment, Comment, EventDetail, Study, StudyState
from triptych.study import lifecycle, log
from triptych.study.system_names import system_names

QUESTION, ANSWER = "Why is B so low?", "It never answers."


@pytest.fixture
def talk(sqlite_engine, make_study):
    """(engine, study, lead, the two annotators, the first one's work); the lead asked about it and got an answer."""
    with writing(sqlite_engine) as session:
        study, lead, people = make_study(session, items=1)
        works = [submit(session, study, who, full_answers()) for who in people]
        comments.ask(session, study, "item-1", people[0].pseudonym, f" {QUESTION}\n", lead)
        comments.answer(session, study, people[0], works[0].token, ANSWER)
    return sqlite_engine, study, lead, people, works[0]


def texts(thread: comments.Thread) -> list[tuple[bool, str]]:
    return [(comment.from_lead, comment.text) for comment in thread.comments]


def test_both_sides_read_the_thread_and_nobody_else_does(talk):
    engine, study, lead, (first, second), work = talk
    with reading(engine) as session:
        (thread,) = comments.threads(session, study, "item-1")
        assert (thread.annotator, texts(thread)) == (first.pseudonym, [(True, QUESTION), (False, ANSWER)])
        assert not thread.is_waiting
        (own,) = comments.threads_of(session, study, first)
        assert (own.number, own.token, texts(own.thread)) == (1, work.token, texts(thread))
        assert {(given.letter, given.criterion) for given in own.given} >= {("A", "Fluency"), ("C", "Verdict")}
        assert not any(name in repr((own.item, own.given)) for name in ("plumbum", "stannum", "ferrum", "item-1"))
        assert comments.threads_of(session, study, second) == []
        with pytest.raises(NotFound):
            comments.answer(session, study, second, work.token, "mine")


def test_the_item_shows_a_question_that_waits(talk):
    engine, study, lead, (first, second), work = talk
    with writing(engine) as session:
        assert desk.lay(session, study, first, showing=work.token).view.notice is None
        comments.ask(session, study, "item-1", first.pseudonym, "Are you sure?", lead)
        notice = desk.lay(session, study, first, showing=work.token).view.notice
    assert (notice.kind, "Are you sure?" in notice.text, QUESTION in notice.text) == ("info", True, False)


def test_a_comment_names_no_system_and_has_words(talk):
    engine, study, lead, (first, _), _ = talk
    for comment, words in (("Is it Plumbum?", "name of a system"), (" ", "1 to"), ("x" * 2001, "1 to")):
        with pytest.raises(NotAllowed, match=words), writing(engine) as session:
            comments.ask(session, study, "item-1", first.pseudonym, comment, lead)


def test_only_annotators_of_the_item_who_stay_are_asked(talk):
    engine, study, lead, (first, second), _ = talk
    with writing(engine) as session:
        theirs = own_items(session, study, second).items[0].token
        withdrawal.withdraw(session, study, second.pseudonym, lead.pseudonym)
        with pytest.raises(NotAllowed, match="You no longer take part"):
            comments.answer(session, study, second, theirs, ANSWER)
        assert comments.askable(session, study, "item-1", lead) == [first.pseudonym]
        for pseudonym in (second.pseudonym, lead.pseudonym, "A-00000"):
            with pytest.raises(NotFound):
                comments.ask(session, study, "item-1", pseudonym, QUESTION, lead)


def test_an_annotator_answers_only_what_was_asked(talk):
    engine, study, _, (_, second), _ = talk
    with writing(engine) as session:
        asked = session.scalars(select(Assignment.token).join(Comment)).first()
        work = own_items(session, study, second).items[0]
        assert work.token != asked
        with pytest.raises(Conflict, match="No comment waits"):
            comments.answer(session, study, second, work.token, ANSWER)


def test_a_closed_study_still_takes_an_answer(talk):
    engine, study, lead, (first, _), work = talk
    with writing(engine) as session:
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        comments.answer(session, study, first, work.token, "And it is rude.")
    with reading(engine) as session:
        assert verify.verify(session, study).sentence.startswith("The log of")


def test_the_log_has_both_sides_and_the_rows_fit_it(talk):
    engine, study, lead, (first, _), _ = talk
    with reading(engine) as session:
        logged = [entry for entry in log.entries(session, study) if entry.event.kind == "commented"]
        said = [(entry.event.actor, entry.new) for entry in logged]
        assert said == [(lead.pseudonym, {"text": QUESTION}), (first.pseudonym, {"text": ANSWER})]
        assert verify.verify(session, study).holds
    with writing(engine) as session:
        session.scalars(select(Comment)).first().text = "Something else"
    with reading(engine) as session:
        assert "comment" in verify.verify(session, study).sentence


@pytest.mark.parametrize("leave", ["withdraw", "erase"])
def test_comments_go_with_the_annotator(talk, leave):
    engine, study, lead, (first, second), work = talk
    with writing(engine) as session:
        comments.ask(session, study, "item-1", second.pseudonym, "And you?", lead)
        if leave == "withdraw":
            withdrawal.withdraw_myself(session, study, first)
        else:
            erasure.erase(session, study, first.pseudonym, sure(lead))
    with reading(engine) as session:
        assert session.scalars(select(Comment.text)).all() == ["And you?"]
        values = " ".join(map(str, session.scalars(select(EventDetail.new))))
        assert QUESTION not in values and ANSWER not in values and "And you?" in values
        assert verify.verify(session, study).holds


@pytest.mark.long
def test_no_comment_is_stored_while_its_annotator_leaves(postgres_engine, make_study):
    """What the lead wrote about them stayed for good."""
    with writing(postgres_engine) as session:
        study, lead, (anna, _) = make_study(session, items=1)
        submit(session, study, anna, full_answers())

    def ask() -> None:
        with writing(postgres_engine) as session:
            comments.ask(session, session.get_one(Study, study.id), "item-1", anna.pseudonym, QUESTION, lead)

    with ThreadPoolExecutor(1) as pool:
        with writing(postgres_engine) as session:
            withdrawal.withdraw_myself(session, session.get_one(Study, study.id), anna)
            asked = pool.submit(ask)
            wait_for_a_lock(session, asked)
        with pytest.raises(NotFound):
            asked.result()
    with reading(postgres_engine) as session:
        assert session.scalars(select(Comment.text)).all() == []


def test_ones_own_data_hold_the_comments(talk):
    engine, study, _, (first, _), _ = talk
    with reading(engine) as session:
        (part,) = personal_data.about(session, first.person_id)["studies"]
        said = [(comment["from"], comment["text"]) for comment in next(part["annotations"])["comments"]]
    assert said == [("lead", QUESTION), ("annotator", ANSWER)]


def test_a_change_after_a_comment_is_a_finding(talk):
    engine, study, _, (first, _), work = talk
    with writing(engine) as session:
        resubmit(session, first, work, full_answers(fluency=1))
    with reading(engine) as session:
        analysis = analyse(frame_of(session, study), Counted(), system_names(session, study))
        sentences = [finding.sentence for finding in caveats(session, study, analysis)]
    assert "1 change of submitted annotations after a lead had asked about them." in sentences
    assert any("2 comments between leads and annotators" in sentence for sentence in sentences)
