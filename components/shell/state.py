"""The signed-in person, values that a session remembers, and transactions for pages. No other module uses the session
state.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st
from sqlalchemy import Engine
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotFound, SignedOut, StudyFull, TriptychError
from triptych.languages import language
from triptych.languages.language import _, message
from triptych.people import languages, logins, signing_in
from triptych.people.signing_in import Browser
from triptych.storage import database
from triptych.storage.models import Person, Role, Study
from triptych.study import lifecycle
from triptych.study.persons import Certainty, Who
from triptych.web import budgets
from triptych.web.session import browser_in, cookie_in, identity_in, wait_to_sign_in, web_engine, who_holds

LANGUAGE, CHOSEN_LANGUAGE = "language", "chosen language"
MESSAGES, ARRIVAL, RAN_BY_ITSELF = "messages", "arrival", "ran by itself"
CAME_BACK, OUTCOMES = "came back", "outcomes"
PASSCODE_TYPED_AT = "passcode typed at"
THIS_COMPUTER = "127.0.0.1"  # Streamlit reports no address for it
CLICKS, PAGE, SHOWN_NEXT = "clicks", "page", "shown next"
LAST_READ, DONE_AT = "last click read", "last command done at"
DOUBLE_CLICK_SECONDS = 0.5
SLOW_CLICK_SECONDS = 1.5
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
AUTOLINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+\-])(?=@)", re.IGNORECASE)
UNREAD = message("Your last click did nothing, because the page had changed. Look at it before you click again.")
_identified, _this_run = threading.local(), threading.local()
P = ParamSpec("P")
T = TypeVar("T")
FOR_OTHERS = {
    "annotator": message("This page is for annotators. Your own pages are in the bar above."),
    "lead": message("This page is for leads. Your own pages are in the bar above."),
    "viewer": message("This page is for viewers. Your own pages are in the bar above."),
}
MAY_OPEN = {"annotator": {Role.annotator, Role.lead}, "lead": {Role.lead}, "viewer": {Role.viewer}}


@dataclass(frozen=True)
class Arrival:
    """Somebody who was identified and gets a cookie next; then `study` opens, if it is set."""

    ticket: str
    return_code: str | None = None
    study: str = ""


def engine() -> Engine:
    """The process's engine; the database is first migrated to this version's schema."""
    return web_engine()


def reading() -> AbstractContextManager[Session]:
    """A session for reading, see `database.reading`."""
    return _among_few(database.reading)


def writing() -> AbstractContextManager[Session]:
    """A session whose changes are stored together at the end, or not at all."""
    return _among_few(database.writing)


@contextmanager
def _among_few(to: Callable[[Engine], AbstractContextManager[Session]]) -> Iterator[Session]:
    """A session. Callbacks, fragments and the router run without a turn; there it waits while a few others of its kind
    from this address are under way, as hundreds would hold all connections. Raises DatabaseBusy.
    """
    key = f"{to.__name__} {budgets.key_of(None, _address())}"
    place = nullcontext() if _has_turn() else budgets.few_at_once("address_runs", key)
    with place, _with_turn(), to(engine()) as session:
        yield session


def _has_turn() -> bool:
    return getattr(_this_run, "is_taken", False)


@contextmanager
def _with_turn() -> Iterator[None]:
    """Within this context the sessions of this thread wait for no place."""
    before, _this_run.is_taken = _has_turn(), True
    try:
        yield
    finally:
        _this_run.is_taken = before


def database_answers() -> bool:
    """Whether the database is available."""
    return database.answers(engine())


def current_person() -> Who | None:
    """The person whose cookie this browser sent, read from the database."""
    return who_holds(session_cookie())


def session_cookie() -> str | None:
    """The content of this browser's session cookie."""
    return cookie_in(st.context.cookies, _is_https())


def identity() -> str:
    """The identity with which the visitor came by single sign-on; empty without one."""
    return identity_in(st.context.headers)


@contextmanager
def turn_of(who: Who) -> Iterator[None]:
    """A run of a page for this person, which waits while a few others of theirs are under way, and, of an annotator,
    of all annotators at their address: in an open study these may be one stranger's. Raises DatabaseBusy.
    """
    own = budgets.few_at_once("account_runs", budgets.key_of_person(who.person_id))
    all_here = budgets.few_at_once("address_runs", budgets.key_of(None, _address()))
    with own, all_here if who.role == Role.annotator else nullcontext(), _with_turn():
        yield


def _address() -> str:
    """The visitor's address."""
    return st.context.ip_address or THIS_COMPUTER


def _is_https() -> bool:
    """Whether the page was opened over https. Its origin says so, which the gate has checked."""
    return st.context.headers.get("Origin", "").startswith("https:")


def browser() -> Browser:
    """Which browser this is, and who signed in with it before."""
    return browser_in(st.context.cookies, _is_https())


def identify() -> Who | None:
    """As `current_person`, for the router: stores the person, so that the page need not query again.

    A run caused by the user extends a lead's login; one caused by new data does not.
    """
    language.use(recall(LANGUAGE, language.ENGLISH))  # for a database that cannot be reached
    _outcomes()
    if recall(CAME_BACK) is None:  # the first run; a tab names its earlier session when it connects
        protocols = st.context.headers.get("Sec-WebSocket-Protocol", "").split(",")
        came_back = any(part.strip() for part in protocols[2:])
        remember(CAME_BACK, came_back)
        if came_back:
            will_run_by_itself()
    who = _identified.who = current_person()
    if who is not None and not take(RAN_BY_ITSELF):
        end = read(logins.later_end, who)
        if end:
            with writing() as session:
                logins.prolong(session, who, end)
    language.use(language.ENGLISH)  # leads' pages are in English
    if who is None or who.role == Role.annotator:
        speak(who)
    return who


def _take_identified() -> Who | None:
    """The person that the router has identified in this run; None if it was asked for before."""
    who, _identified.who = getattr(_identified, "who", None), None
    return who


def will_run_by_itself() -> None:
    """Mark the next run as not caused by the user."""
    remember(RAN_BY_ITSELF, True)


def speak(who: Who | None) -> None:
    """Set the language of texts to this person's, or this browser's."""
    slug = st.query_params.get("study") or recall("study")
    study = None
    with reading() as session:
        with suppress(NotFound):  # not about a study, or a wrong address
            study = lifecycle.by_slug(session, slug) if slug else None
        code = languages.of_person(session, who.person_id if who else None, study, st.context.locale)
    chosen = None if who else recall(CHOSEN_LANGUAGE)
    remember(LANGUAGE, chosen or code)
    language.use(chosen or code)


def choose_language(who: Who | None, code: str) -> None:
    """Store the language for a person who is signed in; otherwise for the next person who signs in here."""
    remember(CHOSEN_LANGUAGE, code)
    if who:
        run_command(languages.choose, who, code)


def run_again_by_itself() -> None:
    """Run the whole page again because of new data, in a fragment that polls.

    Does nothing while too many pages run at the visitor's address: this counts there, like a message that runs a page.
    """
    if budgets.spending("address_messages").take(budgets.key_of_accounts(_address())):
        return
    will_run_by_itself()
    st.rerun(scope="app")


def led_study(session: Session, who: Who, slug: str) -> Study:
    """The current study, for a callback, which runs before the page looks at who is signed in.

    Raises SignedOut if the lead signed out in another tab, NotFound.
    """
    if current_person() != who:
        raise SignedOut("You are signed out. Sign in again in another tab, or reload this page.")
    return lifecycle.led_by(session, who, slug)


def was_signed_in() -> bool:
    """Whether this browser or tab was signed in before, so that a login without a person has ended.

    An ended login closes its sockets. The tab then reconnects, possibly without the cookie, and names its session,
    which continues only with that login (`web.gate`).
    """
    return session_cookie() is not None or came_back_signed_out()


def came_back_signed_out() -> bool:
    """Whether this tab connected again, in a browser that somebody was signed in with; asked where nobody is."""
    return bool(browser().people and recall(CAME_BACK))


def require(role: str) -> Who:
    """The signed-in person if they may open this page; otherwise draw a message and stop.

    `role` is "annotator" (leads may annotate too), "lead" or "viewer".
    """
    who = _take_identified() or current_person()
    if role == "annotator":
        speak(who)
    if who is None:
        say(_("You are signed out. Reload the page to sign in again; everything that was saved is safe."))
        st.stop()
    if who.role not in MAY_OPEN[role]:
        say(_(FOR_OTHERS[role]))
        st.stop()
    return who


def remember(key: str, value: object) -> None:
    """Store a value for this browser tab until it is reloaded."""
    st.session_state[key] = value


def recall(key: str, default: object = None) -> Any:
    """A remembered value, or a widget's.

    Read from a copy: Streamlit can interrupt a run at any access to the session state for the next click, which would
    end a callback before it has stored anything.
    """
    values = st.session_state.to_dict()
    return values.get(OUTCOMES, {}).get(key, values.get(key, default))


def keep(key: str, value: object) -> None:
    """As `remember`, for what a command returned. Call it directly after the command, before anything is drawn.

    `remember` would let Streamlit end the run for the next click, and a code that is shown once would be lost.
    """
    _outcomes()[key] = value


def _outcomes() -> dict[str, Any]:
    """What commands returned. Created at a run's start: changing a stored dictionary does not access the state."""
    outcomes: dict[str, Any] | None = recall(OUTCOMES)
    if outcomes is None:
        remember(OUTCOMES, outcomes := {})
    return outcomes


def forget(key: str) -> None:
    take(key)


def take(key: str, default: object = None) -> Any:
    """A remembered or kept value, which is deleted."""
    outcomes = _outcomes()
    return outcomes.pop(key) if key in outcomes else st.session_state.pop(key, default)


def change_shown(key: str, value: object) -> bool:
    """Before a field is drawn: whether it shows another value than this one, which is then set.

    Otherwise draw the field with `value` as its first one. A value set here reaches the browser a moment after the
    field: while a new field waited for it, a click would send, and store, the field's own first value.
    """
    differs = recall(key, value) != value
    if differs:
        remember(key, value)
    return differs


def show_next(key: str) -> None:
    """Scroll the container with this key into view on the next run."""
    keep(SHOWN_NEXT, key)


def button(label: str, key: str, **options: Any) -> bool:
    """Draw a button; whether it was clicked. Call it before drawing anything else.

    Streamlit forgets a click if the next click interrupts its run, so the click is stored until a run of the same page
    reads it here. `key` names the button and what it acts on (study, person, …), so that no other gets the click.

    The second click of a double click, which comes while the command of the first one runs or just afterwards, is
    ignored.
    """
    return _clicked(partial(st.button, key=key), label, key, options)


def form_button(label: str, key: str, *, queue: str = "", **options: Any) -> bool:
    """As `button`, for a form.

    The form must not have `clear_on_submit`: the run that reads the click would get empty fields (see `numbered`). It
    must have fields: the browser sends the click of a form without fields at once, and a moment later the text of the
    field that the user just left; the server may drop one of two messages in quick succession.

    queue: names the buttons of which the next appears where the last one has acted. That ignores a slow second click:
    nobody has looked at what it acts on.
    """
    return _clicked(partial(st.form_submit_button, key=key), label, key, options, queue)


def _clicked(draw: Callable[..., object], label: str, key: str, options: Mapping[str, Any], queue: str = "") -> bool:
    clicks: set[str] | None = recall(CLICKS)
    if clicks is None:
        remember(CLICKS, clicks := set())
    outcomes = _outcomes()
    name = queue or key

    def note_click() -> None:
        """Without an access to the session state, at which the next click may end a callback."""
        since_done = monotonic() - outcomes.get(DONE_AT, -inf)
        pause = SLOW_CLICK_SECONDS if queue else DOUBLE_CLICK_SECONDS
        if name != outcomes.get(LAST_READ) or since_done >= pause:
            clicks.add(key)

    draw(label, on_click=note_click, **options)
    clicked = key in clicks
    clicks.discard(key)
    if clicked:
        outcomes |= {LAST_READ: name, DONE_AT: -inf}
    return clicked


def unread_clicks(prefix: str) -> list[str]:
    """Keys of this beginning that were clicked and that the page, now drawn, has not read; the clicks are forgotten."""
    clicks: set[str] = recall(CLICKS, set())
    unread = sorted(key for key in clicks if key.startswith(prefix))
    clicks.difference_update(unread)
    return unread


def numbered(name: str) -> str:
    """A key for a form or field that is empty again after `renew(name)`."""
    return f"{name}-{recall(name, 0)}"


def key_of(name: str, parts: Iterable[str]) -> str:
    """A key that is another one for other `parts`, for example other people."""
    return f"{name}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:12]}"


def renew(name: str) -> None:
    keep(name, recall(name, 0) + 1)


def run_page(page: st.Page, name: str) -> None:
    """Run a page. Clicks on another page are forgotten before, and those on buttons that it no longer has afterwards,
    unless a rerun ends the page.
    """
    if recall(PAGE) != name:
        remember(PAGE, name)
        forget(CLICKS)
    page.run()
    clicks: set[str] = recall(CLICKS, set())
    if clicks:
        clicks.clear()  # not another set: the callbacks of the drawn buttons have this one
        st.toast(plain(_(UNREAD)), duration="long")


def run_command(
    command: Callable[..., T],
    *args: object,
    done: str | Callable[[T], str] | None = None,
    empties: str = "",
    **kwargs: object,
) -> T | None:
    """Run one core command in its own transaction. A refusal becomes a message, and None is returned.

    For callbacks: the message waits for show_messages(). `done` is the message after success, or returns it for a
    result; `empties` is the name of a form that is then empty (see `numbered`).
    """
    language.use(recall(LANGUAGE, language.ENGLISH))  # callbacks run in a thread without the page's language
    try:
        with writing() as session:
            result = command(session, *args, **kwargs)
    except TriptychError as refusal:
        _say_later("error", str(refusal))
        return None
    keep(DONE_AT, monotonic())
    if empties:
        renew(empties)
    if done:
        _say_later("success", done if isinstance(done, str) else done(result))
    return result


def read(query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function that only reads returns, in a session of its own. Raises what it raises."""
    with reading() as session:
        return query(session, *args, **kwargs)


def run_query(query: Callable[..., T], *args: object) -> T | None:
    """As `run_command`, for a function that only reads: slow work does not block writers."""
    try:
        return read(query, *args)
    except TriptychError as refusal:
        _say_later("error", str(refusal))
        return None


def sign_in_by(identify: Callable[[], Person | tuple[Person, str]], study: str = "") -> None:
    """Sign in the person returned by `identify`, who may come with a new return code; a refusal becomes a message.

    study: the short name of the study to open, if the address does not name it.

    `identify` runs outside all transactions, since it may compute a slow hash.
    """

    def command() -> Arrival:
        result = identify()
        person, code = result if isinstance(result, tuple) else (result, None)
        with writing() as session:
            languages.carry(session, person, recall(CHOSEN_LANGUAGE))
            return Arrival(logins.issue_sign_in_ticket(session, person, identity()), code, study)

    arrival = _unless_too_often(command)
    if arrival:
        keep(ARRIVAL, arrival)
        st.rerun()


def _unless_too_often(command: Callable[[], T]) -> T | None:
    """The command's result; None after a refusal or too many tries, which become messages."""
    wait = wait_to_sign_in(session_cookie(), _address())
    if wait:
        _say_later("error", budgets.later(wait))
        return None
    try:
        return command()
    except TriptychError as refusal:
        _say_later("info" if isinstance(refusal, StudyFull) else "error", str(refusal))
        return None


def passcode_is_fresh(who: Who) -> bool:
    """Whether the lead typed their passcode in the last 15 minutes, when signing in or in this tab."""
    return read(logins.passcode_is_fresh, who, recall(PASSCODE_TYPED_AT))


def certainty(who: Who, passcode: str) -> Certainty | None:
    """The proof required for an irreversible action; None, with a message, if the passcode is missing or wrong."""
    typed_at, is_fresh = recall(PASSCODE_TYPED_AT), passcode_is_fresh(who)
    proof = _unless_too_often(lambda: signing_in.certain(engine(), who, typed_at, passcode, browser()))
    if proof and not is_fresh:
        remember(PASSCODE_TYPED_AT, clock.now())
    return proof


def arrival() -> Arrival | None:
    """The arrival between a sign-in and the reload that sends the cookie."""
    return recall(ARRIVAL)


def _say_later(kind: str, text: str) -> None:
    keep(MESSAGES, [*recall(MESSAGES, []), (kind, text)])


def show_messages() -> None:
    """Draw the messages of commands since the last run, once."""
    for kind, text in take(MESSAGES, []):
        say(text, kind)


def say(text: str, kind: str = "error") -> None:
    """Draw a message: error, warning, info or success. The text is shown unformatted."""
    draw = {"error": st.error, "warning": st.warning, "info": st.info, "success": st.success}[kind]
    draw(plain(text))


def plain(text: str) -> str:
    """Text escaped for a place where Streamlit expects Markdown, so that it appears literally.

    Markdown could load a remote image or look like the app's own words. Every ASCII punctuation mark is escaped. Word
    joiners keep :name: from becoming an icon and addresses, which are recognised even if escaped, from becoming links.
    """
    return PUNCTUATION.sub(r"\\\1", AUTOLINK.sub("\u2060", SHORTCODE.sub(":\u2060", text)))
