"""The names of a study's systems that a lead may see."""

from __future__ import annotations

import hashlib

from sqlalchemy import select
from sqlmodel import Session

from triptych.rubric.model import Rubric
from triptych.storage.models import Study, System


def system_names(session: Session, study: Study, blind: bool = False) -> dict[int, str]:
    """Blind code → the name that a lead may see: System 1, System 2, … until the study is unblinded.

    blind: not even then.
    """
    rows = session.execute(select(System.blind_code, System.name).where(System.study_id == study.id))
    blind = blind or study.unblinded_at is None
    return {code: f"System {code}" if blind else name for code, name in sorted(map(tuple, rows))}


def speaker_titles(rubric: Rubric, study: Study, blind: bool = False) -> dict[str, str]:
    """Speaker in the file → the title that a lead sees instead, as annotators do: the name may be a system's.

    Empty once the study is unblinded. blind: not even then.
    """
    return rubric.speaker_titles if blind or study.unblinded_at is None else {}


def mark_of(name: str) -> str:
    """The hash that represents a system's name where names must not appear."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]
