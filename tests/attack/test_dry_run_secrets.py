"""A dry run asked by a script: what its numbers would give away, and numbers that no query takes."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session

from triptych.simulate import dry_run
from triptych.simulate.annotators import Recipe
from triptych.storage.database import reading, writing
from triptych.storage.models import Candidate, Item, Study, System


@pytest.fixture
def study(engine: Engine, make_study) -> Study:
    """Its systems have other places in the file than in the list of System 1, 2, …"""
    with writing(engine) as session:
        made = make_study(session, items=3, annotators=0)[0]
        systems = session.scalars(select(System).where(System.study_id == made.id).order_by(System.id)).all()
        for system, code in zip(systems, (101, 103, 102), strict=True):
            system.blind_code = code
        session.flush()
        for system in systems:
            system.blind_code -= 100
    return made


def test_simulated_qualities_follow_no_order_of_the_file(engine, study):
    """A seed and the results would tell which system comes first in the file."""
    with reading(engine) as session:
        in_file = [code for _, code in _codes(session, study)][:3]
        drawn = dry_run._systems(session)

    assert in_file != sorted(in_file)
    assert [*drawn.values()] == [[1, 2, 3]] * 3


def _codes(session: Session, study: Study):
    query = select(Item.id, System.blind_code).join(Candidate, Candidate.item_id == Item.id)
    query = query.join(System, System.id == Candidate.system_id).where(Item.study_id == study.id)
    return session.execute(query.order_by(Candidate.id)).all()


@pytest.mark.parametrize("number", [10**40, 2**63])
def test_numbers_that_no_query_takes_ask_for_all_items(engine, study, number):
    with reading(engine) as session:
        assert len(dry_run._items(session, study, Recipe(items=number))) == 3
