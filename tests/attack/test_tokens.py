"""Tokens of scripts in the wrong hands, at the wrong time, with a cookie, from a foreign page, or sent twice."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from helpers.attackers import Answer, ask, cookie
from helpers.studies import SMALL_RUBRIC, draft_items, sure
from sqlalchemy import Engine, delete, select, update

import triptych as tt
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych import clock
from triptych.people import accounts, invitations, joining, roster, tokens
from triptych.people.tokens import LIVES, Scope
from triptych.scripting import home as home_of_scripts
from triptych.storage import database
from triptych.storage.database import writing
from triptych.storage.models import Event, Person, Role, StoredAnswer, Study, Token
from triptych.study import lifecycle
from triptych.study.persons import Who

MB = 2**20
STUDIES = "/api/v1/studies"
READ, READ_WRITE = {Scope.read}, {Scope.read, Scope.write}


class Served:
    """A server, its database, and two leads: of the world's study, and of another one."""

    def __init__(self, server: Server, world: World, engine: Engine) -> None:
        self.server, self.world, self.engine, self.url = server, world, engine, server.url
        with writing(engine) as session:
            self.lead = self._who(session.scalars(select(Person).where(Person.name == "Bench")).one())
            other = accounts.create_lead(session, f"Other {server.url}", "correct horse battery")
            self.other = self._who(other)
            plan = lifecycle.StudyPlan(title="Theirs")
            self.theirs = lifecycle.create_study(
                session, plan, SMALL_RUBRIC, draft_items(2), other.pseudonym, other.id
            ).slug

    @staticmethod
    def _who(person: Person) -> Who:
        return Who(person.id, person.pseudonym, person.role, person.name, 0)

    def token(self, scopes: set[Scope] = READ_WRITE, study: str = "", who: Who | None = None) -> str:
        who = who or self.lead
        with writing(self.engine) as session:
            row = lifecycle.by_slug(session, study) if study else None
            return tokens.make(session, who, "A script", LIVES[0], scopes, row, sure(who))

    def ask(self, method: str, path: str, token: str = "", body: Any = None, **headers: str) -> Answer:
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        content = b"" if body is None else json.dumps(body).encode()
        return ask(self.url, method, path, {name.replace("_", "-"): value for name, value in sent.items()}, content)


@pytest.fixture(scope="module")
def served(tmp_path_factory, forked) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("tokens")
    world = build_world(folder, items=3)
    engine = database.open_engine(f"sqlite:///{folder / 'triptych.db'}")
    with running_app(folder, {"TRIPTYCH_BUDGETS": "refusal_lines=10000"}, start=forked) as server:
        yield Served(server, world, engine)
    engine.dispose()


@pytest.fixture(autouse=True)
def home_of_the_server(served, monkeypatch):
    """Tokens made by a test are signed with the server's own secret; no lead has more than may be made."""
    monkeypatch.setenv("TRIPTYCH_HOME", str(served.world.home))
    with writing(served.engine) as session:
        session.execute(delete(Token))


def test_a_token_reads_and_a_cookie_alone_does_not(served):
    assert served.ask("GET", STUDIES, served.token()).status == 200
    with_cookie = served.ask("GET", STUDIES, **cookie(served.world.lead))
    assert (with_cookie.status, with_cookie.headers["www-authenticate"]) == (401, "Bearer")


def test_with_a_token_the_cookie_counts_for_nothing(served):
    token = served.token(READ, who=served.other)
    answer = served.ask("GET", STUDIES, token, **cookie(served.world.lead))

    assert [study["study"] for study in json.loads(answer.body)["studies"]] == [served.theirs]
    # on a route of pages, too, a request with a token is nobody's browser
    export = f"/export/{served.world.slug}/ratings.csv"
    assert ask(served.url, "GET", export, cookie(served.world.lead)).status == 200
    assert served.ask("GET", export, token, **cookie(served.world.lead)).status == 401


@pytest.mark.parametrize("form", ["Bearer\t{}", "Bearer  {}", "bearer {}", "Basic eDp5, Bearer {}"])
def test_however_a_token_is_written_the_cookie_is_dropped(served, form):
    headers = {**cookie(served.world.lead), "Authorization": form.format(served.token(READ))}
    assert ask(served.url, "GET", f"/export/{served.world.slug}/ratings.csv", headers).status == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_gets_nothing_with_a_token(served, origin, method):
    assert served.ask(method, STUDIES, served.token(), body={}, Origin=origin).status == 403


def test_our_own_origin_or_none_may_bring_a_token(served):
    token = served.token()

    assert served.ask("GET", STUDIES, token, Origin=served.url).status == 200
    assert served.ask("GET", STUDIES, token).status == 200


def _expire(served: Served, token: str) -> None:
    _change(served, update(Token).values(expires_at=clock.now() - timedelta(seconds=1)))


def _revoke(served: Served, token: str) -> None:
    with writing(served.engine) as session:
        tokens.revoke(session, served.lead, session.scalars(select(Token.id)).one())


def _disable(served: Served, token: str) -> None:
    _change(served, update(Person).where(Person.id == served.lead.person_id).values(disabled_at=clock.now()))


def _new_passcode(served: Served, token: str) -> None:
    with writing(served.engine) as session:
        accounts.reset_passcode(session, served.lead.name or "", "another passcode of theirs")


def _change(served: Served, statement: Any) -> None:
    with writing(served.engine) as session:
        session.execute(statement)


@pytest.mark.parametrize("end", [_expire, _revoke, _disable, _new_passcode])
def test_an_ended_token_is_refused(served, end: Callable[[Served, str], None]):
    token = served.token()
    assert served.ask("GET", STUDIES, token).status == 200
    end(served, token)
    answer = served.ask("GET", STUDIES, token)
    _change(served, update(Person).where(Person.id == served.lead.person_id).values(disabled_at=None))

    assert (answer.status, json.loads(answer.body)["refused"]) == (401, "signed_out")


@pytest.mark.parametrize(
    "change", [lambda t: t[:-5] + ("A" if t[-5] != "A" else "B") + t[-4:], lambda t: t.split(".")[0], str.upper]
)
def test_a_changed_token_is_refused_without_a_query(served, change):
    token = change(served.token())

    assert tokens.secret_of(token) is None
    assert served.ask("GET", STUDIES, token).status == 401


def test_a_token_of_a_removed_lead_reaches_nothing(served):
    with writing(served.engine) as session:
        study = lifecycle.by_slug(session, served.world.slug)
        roster.enrol_lead(session, study, session.get_one(Person, served.other.person_id), "x")
    for_all, for_one = (served.token(READ, study, served.other) for study in ("", served.world.slug))
    path = f"{STUDIES}/{served.world.slug}"
    assert [served.ask("GET", path, token).status for token in (for_all, for_one)] == [200, 200]
    with writing(served.engine) as session:
        study = lifecycle.by_slug(session, served.world.slug)
        roster.remove_lead(session, study, served.other.pseudonym, sure(served.lead))

    assert served.ask("GET", path, for_all).status == 404
    assert served.ask("GET", path, for_one).status == 401  # it ended with the seat


def test_a_scope_is_no_more_than_it_says(served):
    path = f"{STUDIES}/{served.world.slug}"
    invitation = {"people": [{"name": "Nobody"}]}
    assert served.ask("POST", f"{path}/invitations", served.token(READ), invitation).status == 403
    assert served.ask("POST", f"{path}/unblinding", served.token(), {}).status == 403
    with pytest.raises(tt.NotAllowed, match="applies to one study"):
        served.token({*Scope})
    with writing(served.engine) as session, pytest.raises(tt.NotAllowed, match="passcode"):
        study = lifecycle.by_slug(session, served.world.slug)
        tokens.make(session, served.lead, "No passcode", LIVES[0], {*Scope}, study)


def test_a_token_of_one_study_gets_no_link_into_another(served):
    """A personal link signs in an account, which also opens the lead's other studies."""
    with writing(served.engine) as session:
        one, two = (
            lifecycle.create_study(
                session,
                lifecycle.StudyPlan(title=title),
                SMALL_RUBRIC,
                draft_items(1),
                served.other.pseudonym,
                served.other.person_id,
            )
            for title in ("One", "Two")
        )
        both, only = (
            invitations.invite_one(session, one, name, "", Role.annotator, served.other.pseudonym).pseudonym
            for name in ("Both", "Only")
        )
        person = session.scalars(select(Person).where(Person.pseudonym == both)).one()
        joining.enrol(session, two, person.id, both)
    path, token = f"{STUDIES}/{one.slug}", served.token(READ_WRITE, one.slug, served.other)

    refused = served.ask("POST", f"{path}/links", token, {"people": [both]})

    assert refused.status == 403
    assert f"also open another study: {both}." in refused.body
    assert served.ask("POST", f"{path}/links", token, {"people": [only]}).status == 200
    of_all = served.token(READ_WRITE, who=served.other)
    assert served.ask("POST", f"{path}/links", of_all, {"people": [both]}).status == 200


def test_a_token_of_one_study_reaches_no_other(served):
    with writing(served.engine) as session:
        other = session.get_one(Person, served.other.person_id)
        study = lifecycle.by_slug(session, served.world.slug)
        roster.enrol_lead(session, study, other, "x")
    token = served.token(READ_WRITE, served.theirs, served.other)
    listed = json.loads(served.ask("GET", STUDIES, token).body)["studies"]
    reached = served.ask("GET", f"{STUDIES}/{served.world.slug}/ratings", token).status
    with writing(served.engine) as session:
        study = lifecycle.by_slug(session, served.world.slug)
        roster.remove_lead(session, study, served.other.pseudonym, sure(served.lead))

    assert [study["study"] for study in listed] == [served.theirs]
    assert reached == 404


def test_a_huge_body_is_refused_unread(served):
    """It is announced and never comes: a server that reads it first would wait."""
    length = {"Content_Length": str(40 * MB)}
    assert served.ask("POST", STUDIES, served.token(), **length).status == 413
    assert served.ask("POST", STUDIES, **length).status == 401
    assert served.ask("POST", STUDIES, served.token(READ), **length).status == 403
    # all others stand still while JSON is parsed, so a token that only reads sends little of it
    two = {"Content_Length": str(2 * MB)}
    assert served.ask("POST", f"{STUDIES}/{served.world.slug}/dry-run", served.token(READ), **two).status == 413


@pytest.mark.parametrize(
    "body", [b"[1]", b"{", b"[" * 100_000, b'{"title": 1}', b'{"study": "x"}', b'{"unknown": 1}', b"\xff"]
)
def test_a_body_of_another_shape_is_refused_in_words(served, body):
    headers = {"Authorization": f"Bearer {served.token()}"}
    answer = ask(served.url, "POST", STUDIES, headers, body)

    assert answer.status == 400
    assert json.loads(answer.body)["message"]


def test_a_request_sent_again_acts_once(served):
    path, token = f"{STUDIES}/{served.world.slug}/invitations", served.token()
    first, again = (
        json.loads(served.ask("POST", path, token, {"people": [{"name": "Zoe"}]}, Idempotency_Key="k1").body)
        for _ in range(2)
    )
    other = served.ask("POST", path, token, {"people": [{"name": "Yan"}]}, Idempotency_Key="k1")

    assert first["people"][0]["link"].startswith("/?join=")
    assert again["people"] == [{**first["people"][0], "link": None}]
    assert (other.status, json.loads(other.body)["refused"]) == (409, "conflict")
    # another token has keys of its own
    assert served.ask("POST", path, served.token(), {"people": [{"name": "Yan"}]}, Idempotency_Key="k1").status == 200
    with database.reading(served.engine) as session:
        assert "join=" not in str([row.answer for row in session.scalars(select(StoredAnswer))])


def test_a_stored_answer_is_not_for_a_later_token(served):
    """SQLite gives a row that follows a deleted one its number."""
    path, body = f"{STUDIES}/{served.world.slug}/invitations", {"people": [{"name": "Ulf"}]}
    assert served.ask("POST", path, served.token(), body, Idempotency_Key="k3").status == 200
    _revoke(served, "")

    answer = served.ask("POST", path, served.token(), {"people": [{"name": "Una"}]}, Idempotency_Key="k3")

    assert answer.status == 200


def test_a_stored_answer_is_not_for_a_removed_lead(served):
    with writing(served.engine) as session:
        study = lifecycle.by_slug(session, served.world.slug)
        roster.enrol_lead(session, study, session.get_one(Person, served.other.person_id), "x")
    token, path = served.token(who=served.other), f"{STUDIES}/{served.world.slug}/invitations"
    body = {"people": [{"name": "Xen"}]}
    assert served.ask("POST", path, token, body, Idempotency_Key="k2").status == 200
    with writing(served.engine) as session:
        study = lifecycle.by_slug(session, served.world.slug)
        roster.remove_lead(session, study, served.other.pseudonym, sure(served.lead))

    assert served.ask("POST", path, token, body, Idempotency_Key="k2").status == 404


@pytest.mark.long
def test_forged_tokens_use_up_nobodys_budget_but_the_strangers(tmp_path, forked):
    world = build_world(tmp_path, items=1)
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "requests=5/0.01"}, start=forked) as server:
        statuses = [ask(server.url, "GET", STUDIES, {"Authorization": "Bearer triptych_x.y"}).status for _ in range(7)]
        assert statuses == [401] * 5 + [429] * 2
        engine = database.open_engine(f"sqlite:///{world.home / 'triptych.db'}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRIPTYCH_HOME", str(tmp_path))
            of_server = Served(server, world, engine)
            assert of_server.ask("GET", STUDIES, of_server.token()).status == 200
        engine.dispose()


@pytest.mark.long
def test_tokens_of_a_lead_share_the_bytes_of_bodies(tmp_path, forked):
    """A lead made twenty, and each held bodies of 200 MB in memory."""
    world = build_world(tmp_path, items=1)
    with running_app(tmp_path, {"TRIPTYCH_BUDGETS": "body_bytes=1000/0.01"}, start=forked) as server:
        engine = database.open_engine(f"sqlite:///{world.home / 'triptych.db'}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRIPTYCH_HOME", str(tmp_path))
            of_server, body = Served(server, world, engine), {"people": [{"name": "Zoe" * 200}]}
            path = f"{STUDIES}/{world.slug}/invitations"
            statuses = [of_server.ask("POST", path, of_server.token(), body).status for _ in range(2)]
        engine.dispose()

    assert statuses[1] == 429 != statuses[0]


def test_no_token_is_stored_or_logged_as_it_is(served):
    token = served.token()
    served.ask("GET", STUDIES, token)
    secret = tokens.secret_of(token) or ""
    stored = b"".join(path.read_bytes() for path in served.world.home.glob("triptych.db*"))

    assert secret
    assert secret.encode() not in stored
    assert secret not in served.server.output()


def test_making_and_revoking_is_in_the_log_of_the_studies(served):
    served.token(READ, served.world.slug)
    _revoke(served, "")
    with database.reading(served.engine) as session:
        study = session.scalars(select(Study).where(Study.slug == served.world.slug)).one()
        events = select(Event.kind).where(Event.study_id == study.id).order_by(Event.number.desc()).limit(2)
        assert list(session.scalars(events)) == ["token revoked", "token made"]


# The key of the data folder


def test_a_script_with_the_data_folder_asks_the_running_app(served):
    with tt.open(served.world.home, lead="Bench") as client:
        assert client.study(served.world.slug).facts.items == 3
        assert client.asking.scopes == [Scope.read, Scope.write]
    with pytest.raises(tt.NotFound, match="no lead called"):
        tt.open(served.world.home, lead="Nobody")


def test_the_key_is_private_and_another_one_is_refused(served):
    path = served.world.home / home_of_scripts.FILE
    key = json.loads(path.read_text())["key"]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert served.ask("GET", STUDIES, key, X_Triptych_Lead="Bench").status == 200
    assert served.ask("GET", STUDIES, f"{key[:-1]}!", X_Triptych_Lead="Bench").status == 401
    assert served.ask("GET", STUDIES, key, X_Triptych_Lead="Bench", Origin="http://evil.example").status == 403
    assert (
        served.ask("POST", f"{STUDIES}/{served.world.slug}/unblinding", key, {}, X_Triptych_Lead="Bench").status == 403
    )


def test_each_start_has_a_key_of_its_own(tmp_path):
    keys = []
    for _ in range(2):
        with home_of_scripts.announced(tmp_path, "http://127.0.0.1:1"):
            _, key = home_of_scripts.running_app(tmp_path)
            keys.append(key)
            assert [home_of_scripts.is_key(key) for key in keys] == [False] * (len(keys) - 1) + [True]
        assert not (tmp_path / home_of_scripts.FILE).exists()
    assert len({*keys}) == 2


def test_the_key_is_compared_in_constant_time(tmp_path, monkeypatch):
    compared: list[tuple[bytes, ...]] = []

    def compare(*pair: bytes) -> bool:
        compared.append(pair)
        return False

    monkeypatch.setattr(home_of_scripts.hmac, "compare_digest", compare)
    with home_of_scripts.announced(tmp_path, "http://127.0.0.1:1"):
        _, key = home_of_scripts.running_app(tmp_path)
        assert not home_of_scripts.is_key("x")
    assert compared == [(key.encode(), b"x")]


def test_a_link_in_the_place_of_the_key_is_replaced(tmp_path):
    """Somebody who may write to the folder lays a link, so that the key would go to a file of theirs."""
    theirs = tmp_path / "theirs"
    (tmp_path / home_of_scripts.FILE).symlink_to(theirs)
    with home_of_scripts.announced(tmp_path, "http://127.0.0.1:1"):
        assert not theirs.exists()
        assert not (tmp_path / home_of_scripts.FILE).is_symlink()


# The client


def test_the_client_takes_no_token_to_another_address():
    """A server that redirects gets no second request, wherever it points."""
    asked: list[str] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(tt.DatabaseUnavailable, match="as Triptych never does"):
        tt.connect(f"http://127.0.0.1:{server.server_port}", token="secret")
    server.shutdown()
    server.server_close()
    assert asked == ["/api/v1/asking"]


def test_a_proxy_sees_no_token_for_this_computer(served, monkeypatch):
    """A token for an app on this computer stays on it, whatever http_proxy says."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert os.environ["http_proxy"]

    with tt.connect(served.url, token=served.token()) as client:
        assert not client.studies().empty


@pytest.mark.long
def test_the_client_raises_what_the_app_refuses(served):
    with pytest.raises(tt.SignedOut, match="unknown, revoked or expired"):
        tt.connect(served.url, token="triptych_nothing")
    with tt.connect(served.url, token=served.token(READ)) as client:
        with pytest.raises(tt.NotFound, match="You do not lead a study"):
            client.study(served.theirs)
        with pytest.raises(tt.NotAllowed, match="may write"):
            client.study(served.world.slug).pause()
