"""Messages that no workbench sends: the server refuses every one, stays up, and not a row changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError

from bench.client import Annotator, our_headers
from bench.server import Server, running_app
from bench.world import World, build_world
from triptych.web.session import COOKIE
from triptych.web.work import MAX_BODY

SEED = 7
SAMPLE = 250
LONG = "x" * 20_000
SURROGATE = "\ud800"
JUNK: dict[type, list[Any]] = {
    dict: [None, [], [1], "x", 5, True],
    list: [None, {}, "x", 5, {"0": 1}],
    str: [None, 5, 1.5, True, [], {}, LONG, SURROGATE],
    int: [None, "x", "", -1, 2.5, 10**12, [], {}, SURROGATE],
    float: [None, "x", "", -1, 10**12, [], {}, SURROGATE],
    bool: [None, "x", 5, [], {}],
    type(None): ["x", -1, 2.5, [], {}, 3],
}
# an annotator may write anything in these, and an item's texts may be any length
FREE_TEXT = {"text", "comment", "note", "pen", "submission"}


@dataclass(frozen=True)
class Served:
    server: Server
    world: World

    def annotator(self, number: int = 0) -> Annotator:
        return self.world.annotator(self.server.url, number)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, forked: Any) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("fuzz")
    world = build_world(home, items=20, annotators=2)
    with running_app(home, {"TRIPTYCH_BUDGETS": "requests=10000"}, start=forked) as server:
        yield Served(server, world)


def table_hashes(home: Path) -> dict[str, str]:
    """A hash per table of all its rows; when a reservation expires is left out, for looking at an item extends it."""
    with closing(sqlite3.connect(f"file:{home / 'triptych.db'}?mode=ro", uri=True)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        hashes = {}
        for table in tables:
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")') if row[1] != "expires_at"]
            rows = db.execute(f'SELECT {", ".join(map("{!r}".format, columns))} FROM "{table}"'.replace("'", '"'))
            hashes[table] = hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()
    return hashes


def places(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a message, the message itself included."""
    yield path
    inside = message.items() if isinstance(message, dict) else enumerate(message) if isinstance(message, list) else ()
    for key, value in inside:
        yield from places(value, (*path, key))


def value_at(message: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        message = message[key]
    return message


def replaced(message: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = deepcopy(message)
    value_at(changed, path[:-1])[path[-1]] = junk
    return changed


def is_still_valid(path: tuple[Any, ...], old: Any, junk: Any) -> bool:
    """Replacements that an honest browser might send as well."""
    name = path[-1] if path else None
    if name in FREE_TEXT and isinstance(junk, str) and junk not in (LONG, SURROGATE):
        return True
    if (name, junk) in (("turn", 3), ("end", 10**12)) and "draft" in path:
        return True  # the position of a span is checked when it is submitted
    # whole numbers may come as 5.0, and seconds have a fraction
    return name == "active_seconds" and isinstance(junk, float) and junk >= 0


def mutations(message: dict[str, Any], count: int) -> list[tuple[str, Any]]:
    """This many wrong messages, each with the place where it is wrong; always the same ones for the same message."""
    every = [
        (".".join(map(str, path)), path, junk)
        for path in places(message)
        for junk in JUNK[type(value_at(message, path))]
        if not is_still_valid(path, value_at(message, path), junk)
    ]
    drawn = random.Random(SEED).sample(every, min(count, len(every)))
    return [(f"{name or 'all'} = {str(junk)[:30]!r}", replaced(message, path, junk)) for name, path, junk in drawn]


def with_ratings(answers: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**answers, "ratings": {**answers["ratings"], **changed}}


def with_highlight(answers: dict[str, Any], **changed: Any) -> dict[str, Any]:
    span = {"slot": "A", "turn": None, "start": 0, "end": 5, "label": "addresses_review", "comment": "", **changed}
    return {**answers, "highlights": [span]}


def impossible_answers(answers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Answers that are well formed and cannot be given on this item."""
    a = answers["ratings"]["A"]
    return {
        "above the scale": with_ratings(answers, A={**a, "fluency": 8}),
        "below the scale": with_ratings(answers, A={**a, "fluency": 0}),
        "between two points": with_ratings(answers, A={**a, "fluency": 3.5}),
        "not a number": with_ratings(answers, A={**a, "fluency": float("nan")}),
        "infinite": with_ratings(answers, A={**a, "fluency": float("inf")}),
        "a yes for a number": with_ratings(answers, A={**a, "fluency": True}),
        "an option that is not offered": with_ratings(answers, A={**a, "verdict": "maybe"}),
        "a criterion that is not asked": with_ratings(answers, A={**a, "charm": 3}),
        "a response that is not shown": with_ratings(answers, D=a),
        "a label that is not offered": with_highlight(answers, label="rude"),
        "a highlight that ends before it starts": with_highlight(answers, start=5, end=4),
        "a highlight of nothing": with_highlight(answers, start=5, end=5),
        "a highlight before the text": with_highlight(answers, start=-1),
        "a highlight of the context": with_highlight(answers, slot="item"),
        "a field that does not exist": {**answers, "system": "tuned-7b"},
        "a reason that is not offered": {**answers, "set_aside": {"A": "boring"}},
        "too many highlights": {**answers, "highlights": with_highlight(answers)["highlights"] * 201},
    }


def unfit_for_submit(answers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What a draft may hold but a submission may not."""
    a = answers["ratings"]["A"]
    return {
        "nothing at all": {},
        "one rating missing": with_ratings(answers, A={k: v for k, v in a.items() if k != "fluency"}),
        "one response missing": {**answers, "ratings": {"A": a, "B": a}},
        "a highlight that ends off the text": with_highlight(answers, end=10**6),
        "a highlight of a turn of a text": with_highlight(answers, turn=0),
        "a note that is a book": {**answers, "note": "x" * 10_001},
    }


def complete_answers(annotator: Annotator) -> dict[str, Any]:
    """Every question answered, one highlight, nothing set aside."""
    points = {"semantic_relevance": 3, "fluency": 4, "sentiment_appropriateness": 5, "domain_accuracy": 6}
    letters = [candidate["letter"] for candidate in annotator.view["item"]["candidates"]]
    ratings = {letter: {**points, "verdict": "accept"} for letter in letters}
    answers = {"ratings": ratings, "explanations": {}, "highlights": [], "set_aside": {}, "note": "a note"}
    return with_highlight(answers)


def draft_body(annotator: Annotator, **changed: Any) -> dict[str, Any]:
    work = annotator.view["work"]
    body = {"assignment": work["token"], "version": work["version"], "pen": annotator.pen, "seq": 1, "base": 0}
    return {**body, "take": False, "draft": complete_answers(annotator), "active_seconds": 1.0, **changed}


async def post(annotator: Annotator, data: str | bytes, path: str = "desk/draft", **headers: str | None) -> int:
    """The status of the answer to a raw body; a header given as None is left out."""
    named = {**our_headers(annotator.url), **{name.replace("_", "-"): value for name, value in headers.items()}}
    present = {name: value for name, value in named.items() if value is not None}
    async with annotator.http.post(f"{annotator.url}/{path}", data=data, headers=present) as answer:
        with suppress(ClientPayloadError):  # a body that is refused before all of it was sent ends the connection
            await answer.read()
        return answer.status


async def wrong_drafts(served: Served) -> dict[str, int]:
    async with served.annotator() as annotator:
        body = draft_body(annotator)
        wrong = [*mutations(body, SAMPLE)]
        wrong += [(n, {**body, "draft": draft}) for n, draft in impossible_answers(body["draft"]).items()]
        wrong += [(f"an unknown field {n}", {**body, n: 1}) for n in ("kind", "state", "person_id")]
        return {name: await post(annotator, json.dumps(message)) for name, message in wrong}


@pytest.mark.long
def test_every_wrong_draft_is_refused_and_changes_nothing(served: Served):
    asyncio.run(look(served))
    before = table_hashes(served.world.home)

    statuses = asyncio.run(wrong_drafts(served))

    assert {name: s for name, s in statuses.items() if s not in (400, 409)} == {}
    assert table_hashes(served.world.home) == before


async def look(served: Served) -> None:
    """Both annotators hold an item from now on, so that looking again changes nothing."""
    for number in (0, 1):
        async with served.annotator(number) as annotator:
            assert annotator.view


async def broken_bodies(served: Served) -> dict[str, int]:
    async with served.annotator() as annotator:
        bodies = {
            "nothing": b"",
            "half": json.dumps(draft_body(annotator))[:-40].encode(),
            "no UTF-8": b'{"assignment": "\xff\xfe"}',
            "deep": b"[" * 100_000,
            "giant": b'{"draft": "' + b"x" * MAX_BODY + b'"}',
            "a number": b"5",
            "null": b"null",
            "a huge number": b"9" * 10_000,
            "a form": b"assignment=x&version=1",
        }
        return {f"{path}: {n}": await post(annotator, b, path) for path in ROUTES for n, b in bodies.items()}


ROUTES = ("desk/draft", "desk/renew", "desk/act")


def test_every_broken_body_is_refused_and_changes_nothing(served: Served):
    asyncio.run(look(served))
    before = table_hashes(served.world.home)

    statuses = asyncio.run(broken_bodies(served))

    assert {name: status for name, status in statuses.items() if status not in (400, 413)} == {}
    assert table_hashes(served.world.home) == before


async def foreign_requests(served: Served) -> dict[str, int]:
    async with served.annotator() as annotator:
        body = json.dumps(draft_body(annotator))
        cookie = served.world.cookies[0][COOKIE]
        headers: dict[str, dict[str, str | None]] = {
            "without our header": {"X_Triptych": None},
            "with another value in it": {"X_Triptych": "0"},
            "from another site": {"Sec_Fetch_Site": "cross-site"},
            "from a neighbour": {"Sec_Fetch_Site": "same-site"},
            "by hand": {"Sec_Fetch_Site": "none"},
        }
        answers = {n: await post(annotator, body, p, **h) for n, h in headers.items() for p in ROUTES}
        annotator.http.cookie_jar.clear()
        cookies = {
            "signed out": "",
            "a cookie without its signature": cookie.rpartition(".")[0],
            "a cookie with a letter changed": ("A" if cookie[0] != "A" else "B") + cookie[1:],
            "a cookie that is a book": LONG[:6000],
        }
        for name, value in cookies.items():
            answers[name] = await post(annotator, body, Cookie=f"{COOKIE}={value}" if value else None)
        return answers


def test_requests_from_outside_our_signed_in_pages_are_refused(served: Served):
    asyncio.run(look(served))
    before = table_hashes(served.world.home)

    statuses = asyncio.run(foreign_requests(served))

    assert {name: status for name, status in statuses.items() if status not in (401, 403)} == {}
    assert table_hashes(served.world.home) == before


async def messages_about_foreign_items(served: Served) -> list[Any]:
    """Annotator 0 sends everything about the item that annotator 1 holds."""
    async with served.annotator(0) as first, served.annotator(1) as other:
        answers, work, own = complete_answers(first), other.view["work"], first.view["work"]["token"]
        status, _ = await first.save_draft(work, answers)
        taken, _ = await first.save_draft(work, answers, take=True)
        renewed = await post(first, json.dumps({"assignment": work["token"]}), "desk/renew")
        await first.act({**first.submission(first.view, answers), "assignment": work["token"]})
        await first.act(skip(first, work["token"]))
        await first.act({"kind": "back", "assignment": work["token"]})
        return [status, taken, renewed, own == first.view["work"]["token"]]


def skip(annotator: Annotator, token: str) -> dict[str, Any]:
    message = {"kind": "skip", "assignment": token, "version": 1, "pen": annotator.pen, "reason": "unclear", "text": ""}
    return {**message, "submission": "a-submission-of-my-own"}


def test_an_item_held_by_another_annotator_stores_nothing(served: Served):
    asyncio.run(look(served))
    before = table_hashes(served.world.home)

    status, taken, renewed, is_on_own_item = asyncio.run(messages_about_foreign_items(served))

    assert status == taken == 409
    assert renewed in (200, 409)
    assert is_on_own_item
    assert table_hashes(served.world.home) == before


async def wrong_actions(served: Served) -> list[str]:
    """The name of the first action after which the annotator was not on the item they had before, if there is one."""
    moved = []
    async with served.annotator() as annotator:
        answers = complete_answers(annotator)
        right = annotator.submission(annotator.view, answers)
        wrong = mutations(right, 80)
        fits = {**impossible_answers(answers), **unfit_for_submit(answers)}
        wrong += [(name, {**right, "answers": answers}) for name, answers in fits.items()]
        for reason in ("bored", "", None, LONG):
            wrong.append((f"skip for {str(reason)[:10]!r}", {**skip(annotator, right["assignment"]), "reason": reason}))
        wrong += [("an action of no kind", {}), ("an action with another kind", {"kind": "unblind"})]
        junk: tuple[Any, ...] = ([], "submit", 5, True)
        wrong += [(f"the action {action!r}", action) for action in junk]
        for name, message in wrong:
            await annotator.act(message)
            work = annotator.view["work"] if annotator.has_work else {}
            if (work.get("token"), work.get("version")) != (right["assignment"], right["version"]):
                moved.append(name)
                break
    return moved


@pytest.mark.long
def test_every_wrong_action_is_refused_and_changes_nothing(served: Served):
    asyncio.run(look(served))
    before = table_hashes(served.world.home)

    moved = asyncio.run(wrong_actions(served))

    assert moved == []
    assert table_hashes(served.world.home) == before


@pytest.mark.parametrize("kind", [[], {}], ids=["list", "object"])
def test_an_action_whose_kind_is_no_word_is_refused(served: Served, kind: Any):
    async def is_still_there() -> bool:
        async with served.annotator() as annotator:
            await annotator.act({"kind": kind})
            return annotator.has_work

    assert asyncio.run(is_still_there())


@pytest.mark.parametrize("changed", [{"item": {"fluency": 3}}, {"A": {"fluency": []}}], ids=["of the item", "empty"])
def test_a_rating_that_was_not_asked_is_refused(served: Served, changed: dict[str, Any]):
    async def status() -> int:
        async with served.annotator() as annotator:
            draft = with_ratings(complete_answers(annotator), **changed)
            return await post(annotator, json.dumps(draft_body(annotator, seq=100, take=True, draft=draft)))

    assert asyncio.run(status()) == 400


async def honest_work(served: Served) -> str:
    async with served.annotator() as annotator:
        view = annotator.view
        status, _ = await annotator.save_draft(view["work"], complete_answers(annotator))
        assert status == 200
        submission, _ = await annotator.submit(view, complete_answers(annotator))
        return submission


@pytest.mark.long
def test_the_same_annotator_can_still_draft_and_submit(served: Served):
    """The control: what the tests above send is refused for its fault alone."""
    before = table_hashes(served.world.home)

    assert asyncio.run(honest_work(served))

    after = table_hashes(served.world.home)
    assert {"assignment", "rating", "highlight", "submission", "event"} <= {t for t in after if after[t] != before[t]}
