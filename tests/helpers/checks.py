"""What several test files share: checks."""

from __future__ import annotations

import pytest

from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.storage import database


def check_item(number: int, purpose: str, reference: str) -> ItemDraft:
    texts = [
        CandidateDraft(system, f"{purpose} {number} {system[0]}", None) for system in ("plumbum", "stannum", "ferrum")
    ]
    meta = {"purpose": purpose, "reference": reference, "stars": "4"}
    return ItemDraft(f"{purpose}-{number}", f"Check {number}?", (), tuple(texts), meta, {}, number)


@pytest.fixture(scope="module")
def one_engine(tmp_path_factory):
    """One database for all tests of a module, each of which takes back what it wrote."""
    engine = database.open_engine(f"sqlite:///{tmp_path_factory.mktemp('one') / 'triptych.db'}")
    database.migrate(engine)
    yield engine
    engine.dispose()
