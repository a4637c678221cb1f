"""A viewer of Markdown, such as a code host, loads and runs nothing that a study's words hold."""

from __future__ import annotations

import pytest
from helpers.annotations import annotate_with_everything
from helpers.studies import SMALL_RUBRIC
from markdown_it import MarkdownIt

from triptych.reports.build import build_report
from triptych.storage.database import reading, writing

HOSTILE = "![x](http://evil.example/x.png) <img src=http://evil.example/y> [z](http://evil.example) ``"
MARKUP = {"image", "html_inline", "html_block", "link_open"}


@pytest.fixture
def report(sqlite_engine, make_study):
    rubric = SMALL_RUBRIC.replace("title: Fluency", f"title: '{HOSTILE}'")
    with writing(sqlite_engine) as session:
        study, _, people = make_study(session, rubric=rubric, title=HOSTILE)
        for somebody in people:
            annotate_with_everything(session, study, somebody)
    with reading(sqlite_engine) as session:
        return build_report(session, study)


def test_no_word_of_a_study_is_markup_in_a_report(report):
    documents = {name: content.decode() for name, content in report.files.items() if name.endswith(".md")}
    tokens = {
        (name, inner.type)
        for name, document in documents.items()
        for token in MarkdownIt("commonmark").parse(document)
        for inner in [token, *(token.children or ())]
    }

    assert documents
    assert not [token for token in tokens if token[1] in MARKUP]
    assert HOSTILE.split()[0] in report.files["methods.txt"].decode()
