"""One long cell of a file takes no longer than its length: a pattern that tries each place twice would stall everybody.

Python holds the interpreter while it matches, so all annotators would wait. Each cell took minutes before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from triptych.formats import read_items
from triptych.people import invitations
from triptych.storage.database import reading
from triptych.storage.models import Study

LONG = 100_000
SECONDS = 5.0
GUESTS = f"a{' ' * LONG}b\n"
ITEMS = f'id,context,cand:a,cand:b\n1,x,"[{" " * LONG}]",z\n'


@pytest.fixture
def quick() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


def test_a_long_line_of_a_guest_list_is_read_at_once(sqlite_engine, quick):
    with reading(sqlite_engine) as session:
        invitations.read_list(session, Study(id=1), GUESTS.encode())


def test_a_long_cell_of_an_items_file_is_read_at_once(quick):
    assert read_items(ITEMS.encode(), "items.csv").ok
