"""The page of a report that somebody else made: it runs nothing, reaches nothing, and fills no memory."""

from __future__ import annotations

import asyncio
import io
import zipfile

import pytest
from helpers.downloads import get
from sqlalchemy import insert
from starlette.applications import Starlette

from triptych import clock
from triptych.storage.database import writing
from triptych.storage.models import Snapshot
from triptych.web import export
from triptych.web.session import web_engine

HASH = "a" * 64
SCRIPT = "<script>top.location = 'https://evil.example'</script><form action='/auth/sign-out' method='post'>"


@pytest.fixture
def read(make_study, monkeypatch):
    """What a lead is answered who opens the page of a report with these files."""

    def read_page(files):
        with writing(web_engine()) as session:
            study, lead, _ = make_study(session, annotators=0)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
            row = {"study_id": study.id, "event_number": 1, "event_hash": HASH, "scope": {}, "sha256": HASH}
            row |= {"made_at": clock.now(), "made_by": "L-1", "file": packed.getvalue()}
            session.execute(insert(Snapshot).values(row))
        monkeypatch.setattr(export, "current_login", lambda request: lead)
        return asyncio.run(get(Starlette(routes=export.EXPORT_ROUTES), f"/report/{study.slug}/{HASH}.html"))

    return read_page


def test_a_page_of_a_report_is_shut_in(read):
    answer = read({"x/report.html": SCRIPT})
    words = answer.headers["content-security-policy"].split("; ")

    assert answer.text == SCRIPT
    # "sandbox" with a word behind it would allow scripts, forms or the app's own origin
    assert words == ["sandbox", "default-src 'none'", "style-src 'unsafe-inline'", "frame-ancestors 'self'"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("files", [{}, {"x/report.html": bytes(25_000_000)}])
def test_a_report_without_a_readable_page_is_not_found(read, files):
    assert read(files).status_code == 404
