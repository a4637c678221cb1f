"""The names of a study's systems that a lead may see."""

from __future__ import annotations

import hashlib

from sqlalchemy import select
from sqlmodel import Session

from triptych.storage.models import Study, System


def system_names(session: Session, study: Study) -> dict[int, str]:
    """Blind code → the name that a lead may see: System 1, System 2, … until the study is unblinded."""
    rows = session.execute(select(System.blind_code, System.name).where(System.study_id == study.id))
    blind = study.unblinded_at is None
    return {code: f"System {code}" if blind else name for code, name in sorted(map(tuple, rows))}


def mark_of(name: str) -> str:
    """The hash that represents a system's name where names must not appear."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]
