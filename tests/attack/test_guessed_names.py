"""Nobody who guesses the names of systems can confirm which of them wrote which response."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from helpers.studies import SYSTEMS, add_person, draft_items, sure
from sqlalchemy import select, update

from triptych.annotate import exclusions
from triptych.errors import Conflict, ImportRefused
from triptych.formats import read_items
from triptych.formats.model import CandidateDraft, ItemFile
from triptych.operations import frozen
from triptych.people import roster
from triptych.storage import events
from triptych.storage.database import writing
from triptych.storage.events import EventKind
from triptych.storage.models import Person, Role, StudyState, System
from triptych.study import checklist, contents, design, lifecycle, log
from triptych.study.duplicate import duplicate
from triptych.study.lint import linter
from triptych.study.system_names import mark_of

WHY = "More items are needed"


def test_no_logged_hash_is_of_names_alone(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        events.write_pending(session)

        logged = [entry.new for entry in log.entries(session, study)]

        assert any("systems_seal" in (new or {}) for new in logged)
        assert contents.systems_hash(session, study) not in str(logged)


@pytest.mark.parametrize("name", [SYSTEMS[0], "never heard of"])
def test_a_lookalike_of_any_name_is_refused_alike(engine, make_study, name):
    """Without a reason for the change nothing was logged, and the refusal showed whether the name was there."""
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        spelled = f"{name}\u200b"
        file = read_items(f'item_id,cand:{spelled}\nnew,"a text"\n'.encode(), "more.csv")
        with pytest.raises(ImportRefused, match="has invisible characters"):
            design.amend(session, study, design.Parts(items=file), "", lead.pseudonym)


@pytest.mark.parametrize("guess", [SYSTEMS[0], "never heard of"])
def test_a_guess_in_the_log_is_shown_right_or_wrong(engine, make_study, guess):
    """A reason that was the name of a system was withheld, another one shown."""
    with writing(engine) as session:
        study, lead, (anna, _) = make_study(session)
        exclusions.exclude(session, study, anna.pseudonym, guess, lead.pseudonym)
        design.amend(session, study, design.Parts(settings={"common_names": [mark_of(guess)]}), WHY, lead.pseudonym)
        events.write_pending(session)

        *_, excluded, amended = log.entries(session, study)

        assert ((excluded.new or {})["reason"], excluded.withheld) == (guess, False)
        assert (amended.new, amended.withheld) == (None, True)


def test_a_hash_of_an_earlier_version_is_withheld(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        new = {"systems_hash": contents.systems_hash(session, study)}
        events.record(session, study.id, EventKind.design_amended, lead.pseudonym, new=new)
        events.write_pending(session)

        *_, amended = log.entries(session, study)

        assert (amended.new, amended.withheld) == (None, True)


def test_a_hash_of_an_earlier_version_proves_as_before(engine, make_study):
    with writing(engine) as session:
        study, *_ = make_study(session)
        logged = {"design_hash": study.design_hash, "systems_hash": contents.systems_hash(session, study)}
        assert list(frozen.of_design(session, study, (logged, 1))) == []

        session.execute(update(System).values(name=System.name + " 2"))

        (problem,) = frozen.of_design(session, study, (logged, 1))
        assert problem.startswith("The assignment of responses to systems differs")


def test_only_the_maker_adds_items_to_a_blind_copy(engine, make_study):
    """A right guess of a name got the number of its system, and the original's log showed nothing."""
    with writing(engine) as session:
        study, maker, _ = make_study(session)
        guesser = _another_lead(session, study, maker)
        copy = duplicate(session, study, "Copy", guesser)
        events.write_pending(session)
        copy_of_copy = duplicate(session, copy, "Another", guesser)
        lifecycle.set_state(session, copy_of_copy, StudyState.open, guesser.pseudonym)
        events.write_pending(session)
        for guessed_in in (copy, copy_of_copy):
            with pytest.raises(Conflict, match="copy of one that is still blind"):
                design.amend(session, guessed_in, design.Parts(items=_file("new", *SYSTEMS)), WHY, guesser.pseudonym)

        assert design.amend(session, copy, design.Parts(items=_file("new", *SYSTEMS)), WHY, maker.pseudonym)
        lifecycle.unblind(session, study, sure(maker))
        assert design.amend(session, copy, design.Parts(items=_file("newer", *SYSTEMS)), WHY, guesser.pseudonym)


def test_no_checklist_of_a_copy_confirms_a_guess(engine, make_study):
    """A lead may write guesses into the title of a draft, as often as they like."""
    with writing(engine) as session:
        study, maker, _ = make_study(session)
        copy = duplicate(session, study, "Copy", _another_lead(session, study, maker))
        events.write_pending(session)
        lines = checklist.points(session, copy)
        copy.title = f"Is {SYSTEMS[0]} better?"

        assert checklist.points(session, copy) == lines


def test_no_check_item_lets_a_copy_out_of_the_rule(engine, make_study):
    with writing(engine) as session:
        study, maker, _ = make_study(session)
        check = b"item_id,purpose,context,cand:plumbum,cand:stannum,reference\nc,attention,?,One.,Two.,fluency A = 3\n"
        design.amend(session, study, design.Parts(items=read_items(check, "checks.csv")), WHY, maker.pseudonym)
        copy = duplicate(session, study, "Copy", _another_lead(session, study, maker))
        events.write_pending(session)
        retired = tuple(item.external_id for item in contents.stored_items(session, copy))
        design.amend(session, copy, design.Parts(retire=retired), "", "L-2")

        with pytest.raises(Conflict, match="copy of one that is still blind"):
            design.amend(session, copy, design.Parts(items=_file("new", *SYSTEMS)), "", "L-2")


def test_the_log_states_that_systems_were_named_for_new_items(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        file = _file("new", SYSTEMS[0], SYSTEMS[1], "aurum")
        design.amend(session, study, design.Parts(items=file), WHY, lead.pseudonym)
        events.write_pending(session)

        *_, amended = log.entries(session, study)

        assert (amended.new or {})["existing_systems_named"] == 2


@pytest.mark.long
def test_numbers_of_systems_repeat_no_order_of_names(engine, make_study):
    """A lead put systems of their own in the place of all, and saw which of the former names came first."""
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        copy = duplicate(session, study, "Copy", lead)
        replaced = set()
        for number in range(12):
            parts = design.Parts(items=_file(f"{number}", "a", "b", "c"), replace_items=True)
            replaced.add(_numbers(session, copy, parts, lead))

        added = set()
        for number in range(12):
            names = [f"{name}{number}" for name in "abc"]
            order = _numbers(session, study, design.Parts(items=_file(f"{number}", *names)), lead, names)
            added.add(tuple(code - min(order) for code in order))

        assert len(replaced) > 1
        assert len(added) > 1


def test_a_rubrics_change_leaves_the_numbers_of_systems(engine, make_study):
    with writing(engine) as session:
        study, lead, _ = make_study(session)
        copy = duplicate(session, study, "Copy", lead)
        before = _numbers(session, copy, design.Parts(title="Copied"), lead, SYSTEMS)
        yaml = lifecycle.rubric_text(session, copy)
        for number in range(6):
            parts = design.Parts(rubric_yaml=f"{yaml}\n# {number}\n")
            assert _numbers(session, copy, parts, lead, SYSTEMS) == before


def test_the_same_texts_under_guessed_names_are_unblinded_like_any(engine, make_study):
    """A lead made a study of the responses under guessed names: only a right guess was refused its unblinding."""
    with writing(engine) as session:
        study, maker, _ = make_study(session)
        guesser = _another_lead(session, study, maker)
        refused = []
        for names in (SYSTEMS, (*SYSTEMS[1:], SYSTEMS[0]), ("aurum", "b", "c")):
            items = [replace(item, candidates=tuple(map(_renamed, item.candidates, names))) for item in draft_items(4)]
            plan, yaml = lifecycle.StudyPlan(title="Guesses"), lifecycle.rubric_text(session, study)
            own = lifecycle.create_study(session, plan, yaml, items, guesser.pseudonym, guesser.person_id)
            with pytest.raises(Conflict) as refusal:
                lifecycle.unblind(session, own, sure(guesser))
            refused.append(str(refusal.value))

        assert all(first == second for first, second in pairwise(refused))


def test_no_finding_tells_which_system_a_text_names(engine, make_study):
    """Texts of guesses were added: the finding said which system has the name."""
    items = [
        replace(item, candidates=tuple(CandidateDraft(name, f"As {name} says, {number}.") for name in SYSTEMS))
        for number, item in enumerate(draft_items(2))
    ]
    with writing(engine) as session:
        study, *_ = make_study(session)
        plan, yaml = lifecycle.StudyPlan(title="Names"), lifecycle.rubric_text(session, study)
        draft = lifecycle.create_study(session, plan, yaml, items, "L-1")
        said = [finding.text for finding in linter.lint_study(session, draft) if "name of" in finding.text]
        assert len(said) == len(SYSTEMS)
        assert all(text.startswith("The name of a system is in") for text in said)


def _another_lead(session, study, lead):
    another = add_person(session, "L-2", Role.lead)
    roster.enrol_lead(session, study, session.get_one(Person, another.person_id), lead.pseudonym)
    events.write_pending(session)
    return another


def _file(name: str, *systems: str) -> ItemFile:
    head = ",".join(["item_id", "context", *(f"cand:{system}" for system in systems)])
    texts = (f"Response {number} for {name}." for number, _ in enumerate(systems))
    return read_items(f"{head}\n{name},What now?,{','.join(texts)}\n".encode(), "more.csv")


def _renamed(candidate: CandidateDraft, name: str) -> CandidateDraft:
    return replace(candidate, system=name)


def _numbers(session, study, parts, lead, names=("a", "b", "c")) -> tuple[int, ...]:
    """The numbers of these systems after a change."""
    design.amend(session, study, parts, WHY, lead.pseudonym)
    events.write_pending(session)
    query = select(System.name, System.blind_code).where(System.study_id == study.id)
    codes = dict(map(tuple, session.execute(query)))
    return tuple(codes[name] for name in names)
