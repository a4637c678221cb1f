"""Encodings that a file does not name: guessed, shown with the first lines, read only once confirmed."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from triptych.cli.files import items_from, read
from triptych.cli.ratings import ratings_in
from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.decode import ENCODINGS, UnconfirmedEncoding, recoded
from triptych.formats.ratings import archives, read_files
from triptych.formats.ratings.roles import ColumnMapping

RATED = "item_id,system,annotator,criterion,value\n"
HEADER = "item_id,context,cand:a,cand:b\n"
TEXTS = {
    "Shift-JIS": "1,今日は天気がいいですね。,そうですね、散歩に行きましょう。,いいえ、雨が降っています。\n",
    "GB18030": "1,今天天气很好，我们去散步吧。,好的，我想去公园。,不，我在家里看书。\n",
    "Windows-1252": "1,The staff’s “welcome” cost €5 – café extra,Sorry…,Naïve\n",
}
UNNAMED = {
    "Korean": "1,오늘은 날씨가 좋네요 산책하러 갑시다,네 좋아요,아니요 비가 와요\n".encode("euc_kr"),
    "Japanese EUC": TEXTS["Shift-JIS"].encode("euc_jp"),
    "Cyrillic": "1,«Привет» – сказал он,хорошо,плохо\n".encode("cp1251"),
    "traditional Chinese": "1,今天天氣很好，我們去散步吧。,好的，我想去公園。,不，我在家裡看書。\n".encode("big5"),
    "two encodings": "1,Café,x,y\n".encode() + "2,Café,x,y\n".encode("latin-1"),
}


def encoded(name: str) -> bytes:
    return (HEADER + TEXTS[name]).encode(ENCODINGS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_a_guess_is_shown_and_not_read(name: str):
    with pytest.raises(UnconfirmedEncoding, match="Line 2: byte 0x.. is not UTF-8") as caught:
        read_items(encoded(name), "items.csv")

    assert caught.value.encoding == name
    assert caught.value.lines == (HEADER + TEXTS[name]).rstrip("\n")
    assert f"--encoding {name}" in str(caught.value)


@pytest.mark.parametrize("name", TEXTS)
def test_a_confirmed_encoding_is_read(name: str):
    file = read_items(recoded(encoded(name), name), "items.csv")

    assert file.ok
    assert file.items[0].context_text == TEXTS[name].split(",")[1]


@pytest.mark.parametrize("data", UNNAMED.values(), ids=UNNAMED)
def test_other_encodings_are_refused_without_a_guess(data: bytes):
    with pytest.raises(ImportRefused) as caught:
        read_items(HEADER.encode() + data, "items.csv")

    assert not isinstance(caught.value, UnconfirmedEncoding)
    assert "CSV UTF-8" in str(caught.value)


def test_a_confirmed_encoding_changes_no_utf8_and_no_workbook():
    for data in (HEADER.encode(), "café".encode(), "café".encode("utf-16"), b"PK\x03\x04\xe9", b"PAR1\xe9"):
        assert recoded(data, "Windows-1252") == data


def test_an_encoding_that_does_not_fit_is_refused():
    with pytest.raises(ImportRefused, match="Line 2: byte .* is neither UTF-8 nor GB18030"):
        recoded(HEADER.encode() + "1,café,x,y\n".encode("latin-1"), "GB18030")


@pytest.mark.parametrize("name", TEXTS)
def test_the_command_line_reads_what_its_option_says(name: str, tmp_path: Path):
    path = tmp_path / "items.csv"
    path.write_bytes(encoded(name))

    with pytest.raises(UnconfirmedEncoding):
        items_from([str(path)])
    assert items_from([str(path)], name).ok
    assert read(str(path), name).decode() == HEADER + TEXTS[name]


def archive(*names: str) -> bytes:
    """A zip with a file of ratings in each of these encodings, and one in UTF-8."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("plain.csv", RATED + "1,s,café,good,4\n")
        for name in names:
            annotator = TEXTS[name].split(",")[1]
            file.writestr(f"{name}.csv", (RATED + f"1,s,{annotator},good,4\n").encode(ENCODINGS[name]))
    return made.getvalue()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_a_zip_is_read_once_confirmed(name: str, tmp_path: Path):
    path = tmp_path / "ratings.zip"
    path.write_bytes(archive(name))

    with pytest.raises(ImportRefused, match=f"{name}.csv: Line 2(.|\n)*--encoding {name}"):
        ratings_in([str(path)], [], ColumnMapping())
    files = ratings_in([str(path)], [], ColumnMapping(), name)
    assert [file.ratings[0].annotator for file in files] == ["café", TEXTS[name].split(",")[1]]


def test_each_text_in_a_zip_has_its_own_encoding():
    data = archive(*TEXTS)
    questions = archives.unconfirmed(data)
    assert {name: question.encoding for name, question in questions.items()} == {f"{n}.csv": n for n in TEXTS}

    files = read_files(archives.recoded_zip(data, {f"{name}.csv": name for name in TEXTS}), "ratings.zip")

    assert [file.ratings[0].annotator for file in files[1:]] == [text.split(",")[1] for text in TEXTS.values()]


def test_the_page_asks_about_texts_in_a_zip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "ratings.zip"
    path.write_bytes(archive("Shift-JIS", "GB18030"))
    monkeypatch.setenv("ZIP_OF_THE_TEST", str(path))
    app = AppTest.from_function(zip_screen).run()
    shown = [text.value for text in app.text]
    assert "今日は天気がいいですね。" in shown[0]
    assert "今天天气很好，我们去散步吧。" in shown[1]
    assert shown[2] == "waiting"

    app.button[0].click().run()

    assert [text.value for text in app.text] == [
        "Shift-JIS.csv is read as Shift-JIS.",
        "GB18030.csv is read as GB18030.",
        "3 files, first by café",
    ]


def zip_screen() -> None:
    import os
    from pathlib import Path
    from typing import Any

    import streamlit as st

    from components.shell.uploads import content_of
    from triptych.formats.ratings import read_files

    class Upload:
        name, file_id = "ratings.zip", "1"

        def getvalue(self) -> bytes:
            return Path(os.environ["ZIP_OF_THE_TEST"]).read_bytes()

    upload: Any = Upload()
    content = content_of(upload)
    files = read_files(content, "ratings.zip") if content is not None else ()
    st.text(f"{len(files)} files, first by {files[0].ratings[0].annotator}" if files else "waiting")


def screen() -> None:
    from typing import Any

    import streamlit as st

    from components.shell.uploads import content_of

    class Upload:
        name, file_id = "items.csv", "1"

        def getvalue(self) -> bytes:
            return "item_id\n今日は天気がいいですね。\n".encode("cp932")

    upload: Any = Upload()
    content = content_of(upload)
    st.text("waiting" if content is None else content.decode())


def test_the_page_asks_before_it_reads():
    app = AppTest.from_function(screen).run()
    assert [text.value for text in app.text] == ["item_id\n今日は天気がいいですね。", "waiting"]

    app.button[0].click().run()
    assert [text.value for text in app.text] == [
        "items.csv is read as Shift-JIS.",
        "item_id\n今日は天気がいいですね。",
    ]


@pytest.mark.parametrize("name", ["Shift-JIS", "GB18030"])
def test_guessing_an_encoding_takes_no_gigabytes(name: str):
    """A list of all letters and lines took eighty times the size of the file, and held all threads meanwhile."""
    data = (HEADER + TEXTS[name] * 40_000).encode(ENCODINGS[name])
    tracemalloc.start()
    with pytest.raises(UnconfirmedEncoding):
        read_items(data, "items.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(data)
