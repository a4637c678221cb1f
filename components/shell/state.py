"""Who is asking, what a session remembers, and transactions for pages: the one module that touches session state."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from sqlalchemy import Engine
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound, StudyFull, TriptychError
from triptych.languages import language
from triptych.languages.language import _, message
from triptych.people import accounts, languages, signing_in
from triptych.people.signing_in import Browser
from triptych.storage import database
from triptych.storage.models import Person, Role
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who
from triptych.web.budgets import later
from triptych.web.session import browser_in, cookie_in, identity_in, wait_to_sign_in, web_engine, who_holds

LANGUAGE, CHOSEN_LANGUAGE = "language", "chosen language"
MESSAGES, ARRIVAL, RAN_BY_ITSELF = "messages", "arrival", "ran by itself"
CAME_BACK = "came back"
PASSCODE_TYPED_AT = "passcode typed at"
THIS_COMPUTER = "127.0.0.1"  # for which Streamlit gives no address
CLICKS, PAGE, SHOWN_NEXT = "clicks", "page", "shown next"
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
AUTOLINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+\-])(?=@)", re.IGNORECASE)
_identified = threading.local()
T = TypeVar("T")
FOR_OTHERS = {
    "annotator": message("This page is for annotators. Your own pages are in the bar above."),
    "lead": message("This page is for leads. Your own pages are in the bar above."),
    "viewer": message("This page is for viewers. Your own pages are in the bar above."),
}
MAY_OPEN = {"annotator": {Role.annotator, Role.lead}, "lead": {Role.lead}, "viewer": {Role.viewer}}


@dataclass(frozen=True)
class Arrival:
    """Somebody whose identity has been checked and who gets a cookie next; `study` opens after that, if any."""

    ticket: str
    return_code: str | None = None
    study: str = ""


def engine() -> Engine:
    """The process's one engine; the database is first migrated to this version's schema."""
    return web_engine()


@contextmanager
def reading() -> Iterator[Session]:
    """One consistent state of the database."""
    with database.reading(engine()) as session:
        yield session


@contextmanager
def writing() -> Iterator[Session]:
    """Changes that are stored together at the end, or not at all."""
    with database.writing(engine()) as session:
        yield session


def database_answers() -> bool:
    """Whether the database is available."""
    return database.answers(engine())


def current_person() -> Who | None:
    """The person whose cookie this browser sent, as the database has them now."""
    return who_holds(session_cookie())


def session_cookie() -> str | None:
    """What this browser's session cookie holds."""
    return cookie_in(st.context.cookies, _is_https())


def identity() -> str:
    """The identity under which the visitor came in by single sign-on; empty without one."""
    return identity_in(st.context.headers)


def _is_https() -> bool:
    """Whether the page was opened over https: the gate accepts sockets only with the requested origin."""
    return st.context.headers.get("Origin", "").startswith("https:")


def browser() -> Browser:
    """Which browser this is, and who signed in with it before."""
    return browser_in(st.context.cookies, _is_https())


def identify() -> Who | None:
    """As `current_person`, for the router, so that the page need not query again. A run caused by the user counts as
    use of a lead's login; one caused by new data does not.
    """
    if recall(CAME_BACK) is None:  # the first run: a tab that had another session names it when it connects
        _, _, *earlier = st.context.headers.get("Sec-WebSocket-Protocol", "").split(",") + ["", ""]
        remember(CAME_BACK, any(part.strip() for part in earlier))
    who = _identified.who = current_person()
    if who is not None and not take(RAN_BY_ITSELF):
        with reading() as session:
            end = accounts.later_end(session, who)
        if end:
            with writing() as session:
                accounts.prolong(session, who, end)
    language.use(language.ENGLISH)  # of leads' pages
    if who is None or who.role == Role.annotator:
        speak(who)
    return who


def will_run_by_itself() -> None:
    """The next run is one that nobody caused."""
    remember(RAN_BY_ITSELF, True)


def speak(who: Who | None) -> None:
    """Set the language of texts to that of this person, or of this browser."""
    slug = st.query_params.get("study") or recall("study")
    study = None
    with reading() as session:
        with suppress(NotFound):  # a page that is about no study, or an address that is wrong
            study = lifecycle.by_slug(session, slug) if slug else None
        code = languages.of_person(session, who.person_id if who else None, study, st.context.locale)
    chosen = None if who else recall(CHOSEN_LANGUAGE)
    remember(LANGUAGE, chosen or code)
    language.use(chosen or code)


def choose_language(who: Who | None, code: str) -> None:
    """Of somebody who is signed in it is stored; otherwise with the person who signs in here next."""
    remember(CHOSEN_LANGUAGE, code)
    if who:
        run_command(languages.choose, who, code)


def run_again_by_itself() -> None:
    """Runs the whole page again because of new data."""
    will_run_by_itself()
    st.rerun(scope="app")


def was_signed_in() -> bool:
    """Whether this browser or tab was signed in; if nobody is signed in now, that login has ended. An ended login
    closes its sockets. The tab then reconnects, possibly without the cookie, and names its session, which continues
    only with that login (`web.gate`).
    """
    return session_cookie() is not None or bool(browser().people and recall(CAME_BACK))


def require(role: str) -> Who:
    """The signed-in person, if they may open this page; otherwise a message, and the page stops.

    `role` is "annotator" (leads may annotate too), "lead" or "viewer".
    """
    who = _identified.__dict__.pop("who", None) or current_person()
    if role == "annotator":
        speak(who)
    if who is None:
        say(_("You are signed out. Reload the page to sign in again; everything that was saved is safe."))
        st.stop()
    if who.role not in MAY_OPEN[role]:
        say(_(FOR_OTHERS[role]))
        st.stop()
    return who


def remember(key: str, value: Any) -> None:
    """Keeps a value for this browser tab until it is reloaded."""
    st.session_state[key] = value


def recall(key: str, default: Any = None) -> Any:
    """A remembered value, or a widget's.

    Read from a copy: a plain read gives way to the next click, which would end a callback before it has stored
    what it was called for.
    """
    return st.session_state.to_dict().get(key, default)


def forget(key: str) -> None:
    st.session_state.pop(key, None)


def take(key: str, default: Any = None) -> Any:
    """A remembered value, which is forgotten with it."""
    return st.session_state.pop(key, default)


def show_next(key: str) -> None:
    """Scroll the container with this key into view on the next run."""
    remember(SHOWN_NEXT, key)


def button(label: str, key: str, **options: Any) -> bool:
    """Draws a button; whether it was clicked. Act on it before anything else is drawn.

    Streamlit forgets the click of a run that the next click interrupts, so it is remembered until a run of the same
    page reads it here. `key` names the study and the button.
    """
    return _clicked(partial(st.button, key=key), label, key, options)


def form_button(label: str, key: str, **options: Any) -> bool:
    """The same for a form.

    The form must not have `clear_on_submit`: the run that reads the click would get its fields empty (see `numbered`).
    Without fields, a form is wrong: the browser sends its click at once, but a text that it takes from the field left
    for it a moment later, and the server may drop the first of two messages that come together.
    """
    return _clicked(st.form_submit_button, label, key, options)


def _clicked(draw: Callable[..., Any], label: str, key: str, options: Mapping[str, Any]) -> bool:
    clicks: set[str] | None = recall(CLICKS)
    if clicks is None:
        remember(CLICKS, clicks := set())
    # the next click may end a callback at any use of the session state, so it changes what is in there already
    draw(label, on_click=clicks.add, args=(key,), **options)
    clicked = key in clicks
    clicks.discard(key)
    return clicked


def numbered(name: str) -> str:
    """A key for a form or a field, which is empty again after `renew(name)`."""
    return f"{name}-{recall(name, 0)}"


def renew(name: str) -> None:
    remember(name, recall(name, 0) + 1)


def turn_to(page: str) -> None:
    """Called with the page that a run draws: clicks that another page did not read are forgotten."""
    if recall(PAGE) != page:
        remember(PAGE, page)
        forget(CLICKS)


def run_command(
    command: Callable[..., Any], *args: Any, done: str | Callable[[Any], str] | None = None, **kwargs: Any
) -> Any:
    """Run one core command in its own transaction; a refusal becomes a message and None is returned.

    For callbacks: the message waits for show_messages(). `done` is the message after success or makes it of the result.
    """
    language.use(recall(LANGUAGE, language.ENGLISH))  # callbacks run in a thread that the page has not prepared
    try:
        with writing() as session:
            result = command(session, *args, **kwargs)
    except TriptychError as refusal:
        _say_later("error", str(refusal))
        return None
    if done:
        _say_later("success", done if isinstance(done, str) else done(result))
    return result


def sign_in_by(identify: Callable[[], Person | tuple[Person, str]], study: str = "") -> None:
    """Sign in the person that is returned, with a new return code if there is one; a refusal is a message.

    study: the short name of the study to open, where the address does not name it already.

    `identify` runs outside of every transaction, since it may have to compute a slow hash.
    """

    def command() -> Arrival:
        result = identify()
        person, code = result if isinstance(result, tuple) else (result, None)
        with writing() as session:
            languages.carry(session, person, recall(CHOSEN_LANGUAGE))
            return Arrival(accounts.issue_sign_in_ticket(session, person), code, study)

    arrival = _unless_too_often(command)
    if arrival:
        remember(ARRIVAL, arrival)
        st.rerun()


def _unless_too_often(command: Callable[[], T]) -> T | None:
    """What the command returns; a refusal, of too many tries too, becomes a message."""
    wait = wait_to_sign_in(session_cookie(), st.context.ip_address or THIS_COMPUTER)
    if wait:
        _say_later("error", later(wait))
        return None
    try:
        return command()
    except TriptychError as refusal:
        _say_later("info" if isinstance(refusal, StudyFull) else "error", str(refusal))
        return None


def passcode_is_fresh(who: Who) -> bool:
    """Whether the lead typed their passcode less than 15 minutes ago, signing in or in this tab."""
    with reading() as session:
        return accounts.passcode_is_fresh(session, who, recall(PASSCODE_TYPED_AT))


def certainty(who: Who, passcode: str) -> Certainty | None:
    """The proof that an irreversible action requires; None, with a message, without the lead's passcode."""
    typed_at, is_fresh = recall(PASSCODE_TYPED_AT), passcode_is_fresh(who)
    proof = _unless_too_often(lambda: signing_in.certain(engine(), who, typed_at, passcode, browser()))
    if proof and not is_fresh:
        remember(PASSCODE_TYPED_AT, clock.now())
    return proof


def arrival() -> Arrival | None:
    """Set between a sign-in and the reload that sends the cookie."""
    return recall(ARRIVAL)


def _say_later(kind: str, text: str) -> None:
    remember(MESSAGES, [*recall(MESSAGES, []), (kind, text)])


def show_messages() -> None:
    """Draw the messages of commands since the last run, once."""
    for kind, text in take(MESSAGES, []):
        say(text, kind)


def say(text: str, kind: str = "error") -> None:
    """Draw a message: error, warning, info or success. The text is shown unformatted."""
    draw = {"error": st.error, "warning": st.warning, "info": st.info, "success": st.success}[kind]
    draw(plain(text))


def plain(text: str) -> str:
    """Text escaped for a place where Streamlit reads Markdown, so that it is shown literally.

    Markdown could load a remote image or pass as the app's own words. Every ASCII punctuation mark is escaped; a word
    joiner keeps :name: from becoming an icon, and addresses, which are found even where they are escaped, from
    becoming links.
    """
    return PUNCTUATION.sub(r"\\\1", AUTOLINK.sub("\u2060", SHORTCODE.sub(":\u2060", text)))
