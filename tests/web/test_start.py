"""How a server starts, or says why it does not."""

from __future__ import annotations

import pytest

from bench.server import start_server


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("mysql://lab/study", "mysql:// is not one of them."),
        ("postgresql://lab/study", "TRIPTYCH_SECRET is not set."),
    ],
)
def test_a_refused_start_gives_one_sentence(tmp_path, address, sentence):
    server = start_server(tmp_path, {"TRIPTYCH_DATABASE_URL": address, "TRIPTYCH_SECRET": ""})
    try:
        assert server.process.wait(60) != 0
    finally:
        server.kill()

    assert server.output().count(sentence) == 1
    assert "Traceback" not in server.output()
    assert ".py" not in server.output()
