"""The two connections from a script to a study: to a running app by HTTP, and to the data folder itself."""

from __future__ import annotations

import base64
import json
import os
import secrets
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import IO, cast
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, ValidationError
from sqlalchemy import Engine

from triptych import settings
from triptych.errors import ImportRefused, NotAllowed, TriptychError, UnsafeDatabase
from triptych.scripting import asking, home
from triptych.scripting.address import BASE, IN_PATH, KEY, LEAD
from triptych.scripting.calls import BY_NAME, Call
from triptych.scripting.messages import Zip, what_does_not_fit
from triptych.scripting.refusals import error_of
from triptych.storage import database, schema
from triptych.storage.database import reading, writing
from triptych.storage.unavailable import DatabaseUnavailable

ANSWER_SECONDS = 600.0  # a report of a large study takes minutes
TRIES = 5
FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 30.0
_ELSEWHERE = "as Triptych never does. Is this the right address?"
AGAIN = {429, 502, 503, 504}  # statuses after which the same request is repeated


class HttpConnection:
    """Calls to a running app. `headers` authenticate them. `url` is the app's address without a trailing slash."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NotAllowed(f"{url!r} is not the address of an app. Write it as https://annotate.example.org.")
        self.url, self.headers = url.rstrip("/"), headers
        # a redirect must not receive the token, nor must a proxy for requests to this computer
        proxies = {} if settings.is_loopback(parts.hostname) else urllib.request.getproxies()
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirect)

    def call(self, name: str, **fields: object) -> BaseModel:
        """The answer to a call. After a temporary error the request is repeated with the same idempotency key.

        Raises the error of a refusal, DatabaseUnavailable if nobody responds.
        """
        call = BY_NAME[name]
        content = self._sent(call, fields, secrets.token_hex(16))
        if call.answer is Zip:
            return Zip(content=content)
        try:
            return call.answer.model_validate_json(content)
        except (ValidationError, RecursionError) as error:
            raise DatabaseUnavailable(f"{self.url} answers {_ELSEWHERE}") from error

    def close(self) -> None:
        """Nothing to close."""

    def _sent(self, call: Call, fields: dict[str, object], key: str) -> bytes:
        path = IN_PATH.sub(lambda match: quote(str(fields[match[1]]), safe=""), call.path)
        rest = {name: value for name, value in fields.items() if f"{{{name}}}" not in call.path}
        headers, body = {**self.headers, "Accept": "application/json"}, None
        address = f"{self.url}{BASE}{path}"
        if call.method == "GET":
            address += f"?{urlencode(rest)}" if rest else ""
        else:
            body = json.dumps(rest).encode()
            headers |= {"Content-Type": "application/json", KEY: key}
        request = urllib.request.Request(address, body, headers, method=call.method)  # noqa: S310 (http or https)
        tries = 0
        while True:
            tries += 1
            try:
                with self.opener.open(request, timeout=ANSWER_SECONDS) as answer:
                    content: bytes = answer.read()
                    return content
            except urllib.error.HTTPError as error:
                if error.code not in AGAIN or tries == TRIES:
                    raise _refusal(error, self.url) from error
                wait = error.headers.get("Retry-After", "")
                seconds = float(wait) if wait.isdecimal() else FIRST_WAIT_SECONDS * 2 ** (tries - 1)
            except (OSError, HTTPException) as error:
                if tries == TRIES:
                    reason = getattr(error, "reason", error)
                    raise DatabaseUnavailable(f"{self.url} does not answer: {reason}.") from error
                seconds = FIRST_WAIT_SECONDS * 2 ** (tries - 1)
            time.sleep(min(seconds, MAX_WAIT_SECONDS))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Never follow a redirect, which would send the token to another address."""


def _refusal(error: urllib.error.HTTPError, url: str) -> TriptychError:
    try:
        body = json.loads(error.read())
        return error_of(str(body["refused"]), str(body["message"]))
    except (ValueError, KeyError, TypeError, RecursionError, OSError, HTTPException):
        return DatabaseUnavailable(f"{url} answers {error.code}, {_ELSEWHERE}")


class HomeConnection:
    """Calls on the database of a data folder. No app can start on it until this is closed.

    `url` is the address in personal links, without a trailing slash.
    """

    def __init__(self, engine: Engine, lock: IO[str] | None, lead: str, url: str) -> None:
        self.engine, self.lock, self.lead, self.url = engine, lock, lead, url.rstrip("/")

    def call(self, name: str, **fields: object) -> BaseModel:
        """The answer to a call. Raises the error of a refusal, DatabaseUnavailable."""
        call = BY_NAME[name]
        try:
            message = call.request.model_validate(fields)
        except ValidationError as error:
            raise ImportRefused(what_does_not_fit(error)) from error
        seen = None
        with reading(self.engine) as session:
            asker = asking.of_home(session, self.lead)
        asking.refuse_without(asker, call.scope)
        if call.read:
            with reading(self.engine) as session:
                seen = call.read(session, asker, message)
        if call.write:
            with writing(self.engine) as session:
                return call.write(session, asker, message, seen)
        return cast(BaseModel, seen)

    def close(self) -> None:
        """Release the database, so that the app can start."""
        self.engine.dispose()
        if self.lock:
            self.lock.close()


Connection = HttpConnection | HomeConnection


def by_token(url: str, token: str) -> HttpConnection:
    """A connection to the app at this address, with a lead's token."""
    return HttpConnection(url, {"Authorization": f"Bearer {token}"})


def to_home(folder: Path | None, lead: str, url: str) -> Connection:
    """A connection to a data folder: to the app if one runs on it, otherwise to its database.

    Without a folder, to the database named by the environment. Raises NotFound, UnsafeDatabase.
    """
    place = settings.database_url() if folder is None else settings.sqlite_url(folder / "triptych.db")
    engine = schema.open_existing(place)
    try:
        lock = database.lock_server(engine)
    except UnsafeDatabase:
        engine.dispose()
        address, key = home.running_app(database.sqlite_path(place).parent if folder is None else folder)
        return HttpConnection(address, {"Authorization": f"Bearer {key}", LEAD: quote(lead)})
    return HomeConnection(engine, lock, lead, url)


def as_upload(name: str, content: bytes) -> dict[str, str]:
    """A file in the form that requests use."""
    return {"name": os.path.basename(name), "content": base64.b64encode(content).decode()}  # noqa: PTH119 (no path)
