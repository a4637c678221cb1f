"""Nobody who guesses the names of systems can confirm by a hash which of them wrote which response."""

from __future__ import annotations

from sqlalchemy import update

from triptych.operations import frozen
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.events import EventKind
from triptych.storage.models import System
from triptych.study import contents


def test_no_logged_hash_is_of_names_alone(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        events.write_pending(session)

        logged = [entry.new for entry in events.entries(session, study)]

        assert any("systems_seal" in (new or {}) for new in logged)
        assert contents.systems_hash(session, study) not in str(logged)


def test_a_hash_of_an_earlier_version_is_withheld(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        new = {"systems_hash": contents.systems_hash(session, study)}
        events.record(session, study.id, EventKind.design_amended, lead.pseudonym, new=new)
        events.write_pending(session)

        *_, amended = events.entries(session, study)

        assert (amended.new, amended.withheld) == (None, True)


def test_a_hash_of_an_earlier_version_proves_as_before(engine, make_study):
    with writing(engine) as session:
        study, *_ = make_study(session)
        logged = {"design_hash": study.design_hash, "systems_hash": contents.systems_hash(session, study)}
        assert list(frozen.of_design(session, study, (logged, 1))) == []

        session.execute(update(System).values(name=System.name + " 2"))

        (problem,) = frozen.of_design(session, study, (logged, 1))
        assert problem.startswith("The assignment of responses to systems differs")
