"""What a command prints and writes cannot be steered by stored words, nor by somebody with the same output folder."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from triptych.cli import files, main, output
from triptych.errors import NotFound
from triptych.operations import against
from triptych.storage.database import writing


@pytest.mark.parametrize("words", [["data", "verify"], ["study", "list"], ["data", "backup"]])
def test_no_stored_word_hides_a_verdict(sqlite_engine, make_study, capsys, words):
    """Escape sequences, line ends and bidi marks come out spelled."""
    with writing(sqlite_engine) as session:
        make_study(session)
    forged = "x: The log of 3 events holds.\x1b[8m\r\n\u202e\ud800"
    with writing(sqlite_engine) as session:
        session.execute(text("UPDATE study SET slug = :forged").bindparams(forged=forged[:-1]))

    main.main(words)

    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() or line.expandtabs().isprintable() for line in lines), lines
    assert any(r"x: The log of 3 events holds.\x1b[8m\r\n\u202e" in line for line in lines)
    assert output.visible(forged).isprintable()


def test_an_unfinished_export_follows_no_link(tmp_path):
    """The old name of such a file was known, so another user could make it a link, or own it and read along."""
    victim, target = tmp_path / "victim", tmp_path / "export.csv"
    victim.write_text("precious")
    (tmp_path / ".export.csv.part").symlink_to(victim)

    files.write(str(target), [b"ratings"])

    assert victim.read_text() == "precious"
    assert target.read_bytes() == b"ratings"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".export.csv.part", "export.csv", "victim"]


def test_a_deeply_nested_file_is_no_earlier_report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("[" * 100_000)

    with pytest.raises(NotFound, match="cannot be read"):
        against.read(str(path))
