"""Who may do what: every page, every command that writes and every HTTP route, against everybody who could ask.

Commands of leads trust their caller; what guards them is the page. So the table says through which door a command is
reached, a reading of the sources holds that there is no other door, and every door is tried by everybody.
A new page, route or writing command without a row fails.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import contextlib
import inspect
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers.asgi import sent
from helpers.present import present
from helpers.sign_in import shown
from helpers.studies import ROOT, SMALL_RUBRIC, sure
from starlette.applications import Starlette
from streamlit.testing.v1 import AppTest

from components.shell import places, state, study_choice
from triptych import clock
from triptych.annotate import assignments, comments, desk, entry_test, onboarding
from triptych.errors import NotFound, TriptychError
from triptych.formats.writers import FORMATS
from triptych.formats.writers.model import File
from triptych.formats.writers.writing import zipped
from triptych.people import invitations, joining, links, logins, tokens
from triptych.people.tokens import Scope
from triptych.privacy import withdrawal
from triptych.scripting import calls
from triptych.scripting.address import BASE
from triptych.scripting.calls import CALLS
from triptych.storage import database
from triptych.storage.models import Person, Role, Snapshot, StudyState, Workbook
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.web.routes import ROUTES
from triptych.web.session import COOKIE, HEADER, HEADER_VALUE, cookie_value, stored_name, web_engine

ACTORS = ("anonymous", "annotator", "other annotator", "other lead", "lead", "viewer", "other viewer")
PAGES = ROOT / "pages"

# Commands and the door through which each is reached:
#   way in     anybody; what is given (passcode, code, link, ticket, a panel's address) proves who it is
#   annotator  a page of annotators; the command itself reads only their own data
#   route      an HTTP route of the workbench or of signing in and out; tried with the routes below
#   lead       a page of leads, which gets its study from `chosen_study`, which asks `lifecycle.led_by`
#   results    a page of results, of leads or viewers: they are logged before they see it
#   script     a call of scripts, which gets its study from `study_of`, which asks `lifecycle.led_by`
#   clearing   a page where somebody just left, or the start: removes what was deleted from the database's files
#   shell      the command line and the start of the server
#   inner      other commands only
DOORS = {
    "way in": """
        people.links.accept_invitation people.logins.issue_sign_in_ticket people.logins.prolong
        people.panels.join_from_panel people.signing_in.certain people.signing_in.change_passcode
        people.signing_in.first_lead people.signing_in.invited_lead people.signing_in.lead people.signing_in.newcomer
        people.signing_in.returning
    """,
    "annotator": """
        annotate.comments.answer annotate.desk.lay annotate.entry_test.answer annotate.entry_test.hand_in
        annotate.entry_test.start annotate.onboarding.read_instructions annotate.onboarding.refuse
        annotate.onboarding.step
        people.joining.consent people.joining.join privacy.withdrawal.withdraw_myself
    """,
    "route": """
        annotate.drafts.save_draft annotate.drafts.save_next_draft annotate.reservations.renew
        annotate.desk.act preview.rubric_form.change operations.capsule.pieces people.logins.sign_out
        people.logins.use_ticket people.tokens.note_use
        storage.schema.migrate
    """,
    "lead": """
        annotate.comments.ask annotate.exclusions.exclude annotate.exclusions.let_in annotate.exclusions.reinstate
        annotate.workbooks.cancel annotate.workbooks.make annotate.workbooks.make_for_new
        annotate.workbooks.take_back exchange.import_ratings.import_ratings operations.arrival.arrive
        operations.backup.restore_as
        operations.backup_schedule.set_schedule
        people.invitations.invite_all people.invitations.invite_one people.invitations.remind people.invitations.renew
        people.roster.add_lead people.roster.disable people.roster.enable people.roster.end_link people.roster.new_link
        people.roster.remove_lead people.tokens.make people.tokens.revoke
        people.viewers.let_read_explanations people.viewers.withdraw_seat
        privacy.deletion.delete_demo privacy.deletion.delete_draft privacy.erasure.delete_copies
        privacy.erasure.erase privacy.withdrawal.withdraw reports.snapshot.keep
        results.adjudication.ask results.adjudication.record results.adjudication.take_back
        simulate.dry_run.dry_run simulate.planner.declare study.annotator_groups.set_group study.design.amend
        study.duplicate.duplicate study.heds_answers.store study.launch.launch
        study.lifecycle.create_from_file study.lifecycle.set_state study.lifecycle.unblind study.plans.store
        study.saved_setting.redo study.saved_setting.undo study.saved_setting.write
    """,
    "results": """
        results.looking.log_look
    """,
    "script": """
        exchange.judge_scores.append
    """,
    "clearing": """
        privacy.erasure.wipe
    """,
    "shell": """
        operations.backup.restore operations.backup_schedule.back_up_if_due operations.backup_schedule.scheduled
        operations.capsule.import_study operations.capsule.open_capsule
        operations.move.move operations.move.move_to_file people.accounts.create_lead archive.make.archive_study
        people.accounts.issue_setup_ticket people.accounts.reset_passcode people.identities.give
        simulate.demo.load_demo
    """,
    "inner": """
        annotate.annotations.hand_in annotate.annotations.submit
        annotate.assignments.current annotate.assignments.current_of annotate.entry_test.next_gold
        annotate.entry_test.outcome annotate.entry_test.sheet annotate.exclusions.forget_unfinished
        annotate.exclusions.give_up_reservations
        annotate.reservations.extend annotate.reservations.free_place
        annotate.reservations.free_places
        annotate.reservations.end annotate.reservations.free_workbook annotate.reservations.give_back_expired
        annotate.reservations.reserve annotate.reservations.reserve_for_workbook annotate.reservations.take_next
        annotate.reservations.take_place exchange.import_ratings.write operations.lasting.carry_over
        people.access_after_restore.keep_closed
        people.accounts.new_person people.accounts.use_setup_ticket people.joining.annotator_called
        people.joining.enrol people.joining.join_open_study people.links.accept_as_lead people.links.end_links
        people.links.issue_link people.logins.end_logins people.logins.issue_ticket people.logins.mark_used
        people.passcodes.begin_try people.passcodes.forget_tries people.tokens.revoke_all
        people.roster.enrol_lead people.viewers.enrol_viewer privacy.scrub.forget_identity privacy.scrub.forget_words
        storage.events.record_baseline storage.events.write_pending storage.wiping.note_due_wipe storage.wiping.wipe
        storage.wiping.wipe_with_pauses
        storage.writes.add_events storage.writes.add_numbered storage.writes.add_rows
        storage.writes.store_annotation storage.writes.update_row study.annotator_groups.assign
        study.annotator_groups.forget study.check_items.add_check_items
        study.contents.number_systems study.contents.remove_items study.contents.rewrite_rubric
        study.contents.store_rubric study.contents.write_criteria study.contents.write_items
        study.contents.write_references study.contents.write_training study.design.seal study.design.write
        study.lifecycle.create_study study.pairing.apply_overlap study.pairing.give_places
        study.persons.delete_without_part storage.schema.upgrade
    """,
}
# of the commands of leads, those that a script reaches too: none erases, restores, removes somebody or makes a token
SCRIPTED = """
    people.invitations.invite_all people.invitations.renew reports.snapshot.keep
    simulate.dry_run.dry_run study.launch.launch study.lifecycle.create_from_file study.lifecycle.set_state
    study.lifecycle.unblind study.saved_setting.write
"""
DOOR_OF = {command: door for door, commands in DOORS.items() for command in commands.split()}
REACHED_FROM = {
    # `state.sign_in_by` hands the ticket out wherever a page could have checked somebody
    "way in": {"everyone", "annotator", "lead", "viewer", "router.py"},
    "annotator": {"annotator", "route"},
    "route": {"route", "shell"},
    "lead": {"lead", "shell", "script"},
    "results": {"lead", "viewer", "script"},
    "script": {"script"},
    "clearing": {"annotator", "lead", "shell"},
    "shell": {"shell"},
    "inner": set(),
}


# Reading the sources


@dataclass
class Piece:
    """What a piece of a module refers to: names, the pairs of `module.name`, functions called, methods of a session."""

    names: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    by_session: set[str] = field(default_factory=set)
    imports: list[ast.ImportFrom] = field(default_factory=list)

    @property
    def changes_rows(self) -> bool:
        return bool(self.calls & {"insert", "update", "delete"} or self.by_session & CHANGING)


CHANGING = {"add", "add_all", "delete", "flush", "merge"}


def read(within: ast.AST) -> Piece:
    piece = Piece()
    for node in ast.walk(within):
        match node:
            case ast.Name(id=name):
                piece.names.add(name)
            case ast.Attribute(value=ast.Name(id=base), attr=name):
                piece.pairs.add((base, name))
            case ast.Call(func=ast.Name(id=name)):
                piece.calls.add(name)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in CHANGING:
                piece.by_session |= {name} if "session" in ast.unparse(owner) else set()
            case ast.ImportFrom(module=str()):
                piece.imports.append(node)
    return piece


@cache
def whole(path: Path) -> Piece:
    return read(tree(path))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def module_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


@cache
def imported_names(path: Path) -> dict[str, str]:
    """Local name → full name of what a module imports from the core."""
    from_core = [node for node in whole(path).imports if node.module.split(".")[0] == "triptych"]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in from_core for alias in node.names}


def used(path: Path, piece: Piece) -> set[str]:
    """Full names of the core's functions that a piece of this module refers to, called or handed on."""
    local, here = imported_names(path), module_of(path)
    by_module = {f"{local[base]}.{name}" for base, name in piece.pairs if base in local}
    return by_module | {local.get(name, f"{here}.{name}") for name in piece.names}


@dataclass(frozen=True)
class Function:
    uses: set[str]
    takes: set[str]
    writes: bool


def functions_of(path: Path) -> dict[str, Function]:
    """The functions at the top of a module; a statement at the top of the module counts as part of them."""
    statements: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.Assign):
            made = read(node.value)
            if made.changes_rows or made.names & statements:
                statements |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    functions = {}
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef):
            piece = read(node)
            uses, takes = used(path, piece), {argument.arg for argument in node.args.args}
            writes = piece.changes_rows or bool(piece.names & statements or uses & RECORDING)
            functions[f"{module_of(path)}.{node.name}"] = Function(uses, takes, writes)
    return functions


RECORDING = {"triptych.storage.events.record", "triptych.storage.events.record_baseline"}
# what is read is read with what the transaction has recorded, which is written out before: no change of its own
# an upgrade records what it finds; tables are compared with those of an empty database in memory
NO_CHANGE = {
    "triptych.storage.events.write_pending",
    "triptych.storage.events.record_baseline",
    "triptych.storage.foreign_parts.in_database",
}


@cache
def writing_commands() -> frozenset[str]:
    """Public functions of the core that take a session and end, however deep, in a row that changes."""
    apart = {"stats", "formats", "migrations", "web"}
    paths = [path for path in (ROOT / "triptych").rglob("*.py") if not apart & set(path.relative_to(ROOT).parts)]
    where = {name: function for path in paths for name, function in functions_of(path).items()}
    writing = {name for name, function in where.items() if function.writes}
    while more := {name for name, f in where.items() if name not in writing and (f.uses - NO_CHANGE) & writing}:
        writing |= more
    public = {name for name in writing if not name.rpartition(".")[2].startswith("_")}
    taking = {name for name in public if where[name].takes & {"session", "engine", "source"}}
    return frozenset(name.removeprefix("triptych.") for name in taking)


@cache
def doors() -> dict[str, frozenset[str]]:
    """Command → the files outside of the core from which it is reached; a component counts as the pages that use it."""
    users: dict[Path, set[str]] = defaultdict(set)
    screens = [*(ROOT / "components").rglob("*.py"), *PAGES.rglob("*.py")]
    imported = {path: set(component_imports(path)) for path in screens}
    for page in PAGES.rglob("*.py"):
        reached, waiting = set(), {page}
        while waiting:
            source = waiting.pop()
            reached.add(source)
            waiting |= imported[source] - reached
        for source in reached:
            users[source].add(page.relative_to(PAGES).parts[0])
    calls: dict[str, set[str]] = defaultdict(set)
    start = [ROOT / "triptych" / "web" / "start.py", *(ROOT / "triptych" / "cli").glob("*.py"), ROOT / "app.py"]
    routes = set((ROOT / "triptych" / "web").glob("*.py")) - set(start)
    scripts = set((ROOT / "triptych" / "scripting").glob("*.py"))
    beside = {**dict.fromkeys(routes, "route"), **dict.fromkeys(scripts, "script"), **dict.fromkeys(start, "shell")}
    for path in [*screens, *beside]:
        for name in used(path, whole(path)):
            kinds = users[path] if path in screens else {beside[path]}
            calls[name.removeprefix("triptych.")] |= kinds
    return {name: frozenset(kinds) for name, kinds in calls.items()}


def test_a_script_reaches_these_commands_of_leads_and_no_other():
    reached = {command for command, door in DOOR_OF.items() if door == "lead" and "script" in doors().get(command, ())}
    assert sorted(reached) == sorted(SCRIPTED.split())


def component_imports(path: Path) -> Iterator[Path]:
    for node in whole(path).imports:
        if node.module.split(".")[0] == "components":
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                base = ROOT / name.replace(".", "/")
                yield from (p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file())


def test_every_writing_command_has_exactly_one_row():
    assert sorted(DOOR_OF) == sorted(writing_commands())


@pytest.mark.parametrize("door", REACHED_FROM)
def test_commands_are_reached_only_as_their_row_says(door):
    beside = {
        command: doors().get(command, frozenset()) - REACHED_FROM[door]
        for command, its_door in DOOR_OF.items()
        if its_door == door
    }
    assert {command: kinds for command, kinds in beside.items() if kinds} == {}


# The world in which everybody asks


@pytest.fixture
def world(make_study):
    """(study of the lead, its item's token, actor → Who). Every actor but the stranger has their own study."""
    with database.writing(web_engine()) as session:
        study, lead, (anna, _) = make_study(session, title="Hidden Title")
        other, its_lead, (ben, _) = make_study(session, title="Another")
        seats = [_seated(session, seen) for seen in (study, other)]
        work = assignments.current(session, study, anna)
        assignments.current(session, other, ben)
    return study, work.token, dict(zip(ACTORS, (None, anna, ben, its_lead, lead, *seats), strict=True))


def _seated(session, study) -> Who:
    """A viewer of the study."""
    invited = invitations.invite_one(session, study, "Hana Viewer", "", Role.viewer, "L")
    person = links.invited(session, invited.secret)
    return Who(person.id, person.pseudonym, person.role, person.name, 0)


def be(monkeypatch: pytest.MonkeyPatch, who: Who | None) -> None:
    monkeypatch.setattr(state, "current_person", lambda: who)


# Commands of annotators


def _with(command, *arguments):
    return lambda session, study, token, who: command(session, study, who, *arguments)


TRIED = {
    "annotate.comments.answer": lambda session, study, token, who: comments.answer(session, study, who, token, "Yes."),
    "annotate.entry_test.answer": _with(entry_test.answer, "q", "a"),
    "annotate.entry_test.hand_in": _with(entry_test.hand_in),
    "annotate.entry_test.start": _with(entry_test.start),
    "annotate.desk.lay": lambda session, study, token, who: desk.lay(session, study, who, showing=token),
    "annotate.onboarding.read_instructions": _with(onboarding.read_instructions, "version"),
    "annotate.onboarding.refuse": _with(onboarding.refuse),
    "annotate.onboarding.step": _with(onboarding.step),
    "people.joining.consent": _with(joining.consent, "version"),
    "people.joining.join": lambda session, study, token, who: joining.join(session, study, who),
    "privacy.withdrawal.withdraw_myself": _with(withdrawal.withdraw_myself),
}
# the study is open to everybody
OPEN_TO = {"people.joining.join": {"annotator", "other annotator", "other lead", "lead"}}


def test_a_command_of_annotators_finds_nothing_for_others(world):
    study, token, actors = world
    let_in = defaultdict(set)
    for name, command in TRIED.items():
        for actor in ACTORS[1:]:
            with contextlib.suppress(Undone), database.writing(web_engine()) as session:
                try:
                    command(session, lifecycle.by_slug(session, study.slug), token, actors[actor])
                    let_in[name].add(actor)
                except NotFound:
                    pass
                except TriptychError:
                    let_in[name].add(actor)  # past the door; there was nothing to do there
                raise Undone
    assert set(TRIED) == {command for command, door in DOOR_OF.items() if door == "annotator"}
    assert dict(let_in) == {name: OPEN_TO.get(name, {"annotator"}) for name in TRIED}


class Undone(Exception):
    """Takes back what was tried."""


# Pages

LEAD_PAGES = sorted(path.name for path in (PAGES / "lead").glob("*.py"))
ABOUT_NO_STUDY = {
    *("studies.py", "new_study.py", "import_ratings.py", "import_study.py"),
    *("planner.py", "account.py", "help.py"),
}
ANNOTATOR_PAGES = {"my_work.py", "annotate.py", "my_data.py"}
VIEWER_PAGES = {"results.py", "items.py", "report.py"}
EVERYONES_PAGES = {"arriving.py", "panel.py", "personal_link.py", "setup.py", "sign_in.py"}


def test_every_page_has_a_row_and_the_router_follows_it():
    lists = {
        node.targets[0].id: {constant.value for constant in ast.walk(node.value) if isinstance(constant, ast.Constant)}
        for node in tree(PAGES / "router.py").body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    offered = {name: {path for path in values if str(path).endswith(".py")} for name, values in lists.items()}
    of_a_study = {screen.page for screens in places.PLACES.values() for screen in screens}
    assert offered["PAGES_OF_LEADS"] | of_a_study == {f"lead/{name}" for name in LEAD_PAGES}
    assert set(places.FORMER.values()) <= of_a_study
    assert offered["PAGES_OF_ANNOTATORS"] == {f"annotator/{name}" for name in ANNOTATOR_PAGES}
    assert offered["PAGES_OF_VIEWERS"] == {f"viewer/{name}" for name in VIEWER_PAGES}
    folders: dict[str, set[str]] = {path.parent.name: set() for path in PAGES.glob("*/*.py")}
    for path in PAGES.glob("*/*.py"):
        folders[path.parent.name].add(path.name)
    assert folders == {
        "lead": set(LEAD_PAGES),
        "annotator": ANNOTATOR_PAGES,
        "viewer": VIEWER_PAGES,
        "everyone": EVERYONES_PAGES,
    }


def test_lead_pages_check_who_leads_the_study_first():
    for name in LEAD_PAGES:
        code = (PAGES / "lead" / name).read_text()
        assert 'who = state.require("lead")' in code, name
        assert ("\nwith chosen_study(who" in code) == (name not in ABOUT_NO_STUDY), name
    assert "yield session, _led(session, who)" in inspect.getsource(study_choice.chosen_study)
    assert "return lifecycle.led_by(session, who," in inspect.getsource(study_choice)
    for name in ANNOTATOR_PAGES:
        assert 'who = state.require("annotator")' in (PAGES / "annotator" / name).read_text(), name
    for name in VIEWER_PAGES:
        code = (PAGES / "viewer" / name).read_text()
        assert 'who = state.require("viewer")\nwith watched_study(who' in code, name


def run(page: Path, **query: str) -> str:
    """All that a page says when its file is run by itself, past the router."""
    app = AppTest.from_file(str(page), default_timeout=30)
    for name, value in query.items():
        app.query_params[name] = value
    return shown(app.run())


def test_lead_pages_open_for_leads_only(monkeypatch, world):
    study, _, actors = world
    for number, name in enumerate(LEAD_PAGES):
        annotator = ("annotator", "other annotator")[number % 2]  # the page knows their role only
        closed = "This page is for leads."
        for actor, expected in (("anonymous", "You are signed out."), (annotator, closed), ("viewer", closed)):
            be(monkeypatch, actors[actor])
            text = run(PAGES / "lead" / name, study=study.slug)
            assert text.splitlines()[0].startswith(expected), name
            assert study.title not in text, name


def test_no_lead_page_shows_a_study_to_other_leads(monkeypatch, world):
    study, _, actors = world
    be(monkeypatch, actors["other lead"])
    for name in LEAD_PAGES:
        if name not in ABOUT_NO_STUDY:
            text = run(PAGES / "lead" / name, study=study.slug)
            assert "You do not lead a study with this address." in text, name
            assert study.title not in text, name
    app = AppTest.from_file(str(PAGES / "router.py"), default_timeout=30).run()
    for name in sorted(ABOUT_NO_STUDY):
        app.switch_page(str(PAGES / "lead" / name))
        app.query_params["study"] = study.slug
        text = shown(app.run())
        assert study.title not in text + str([box.options for box in app.selectbox]), name


def test_pages_of_viewers_open_for_viewers_of_the_study_only(monkeypatch, world):
    study, _, actors = world
    for actor in ACTORS:
        be(monkeypatch, actors[actor])
        for name in VIEWER_PAGES:
            text = run(PAGES / "viewer" / name, study=study.slug)
            assert (study.title in text) == (actor == "viewer"), (name, actor)
            assert ("Another" in text) == (actor == "other viewer"), (name, actor)


def test_pages_of_annotators_show_a_study_to_its_own_only(monkeypatch, world):
    study, _, actors = world
    texts: dict[tuple[str, str], str] = {}
    for actor in ACTORS:
        be(monkeypatch, actors[actor])
        texts |= {(name, actor): text for name, text in _texts(study.slug, signed_in=actor in AT_WORK)}
    for (name, actor), text in texts.items():
        if actor == "anonymous":
            assert text.startswith("You are signed out."), name
        elif actor not in AT_WORK:
            assert text.startswith("This page is for annotators."), name
        else:
            # an open study is offered to everybody on My work; its items and an annotator's data are theirs alone
            assert (study.title in text or "Question number" in text) == (actor == "annotator" or name == "my_work.py")


def _texts(slug: str, signed_in: bool) -> Iterator[tuple[str, str]]:
    """(page, what it says) for each page of annotators."""
    pages = [PAGES / "annotator" / name for name in sorted(ANNOTATOR_PAGES)]
    if not signed_in:
        yield from ((page.name, run(page, study=slug)) for page in pages)
        return
    app = AppTest.from_file(str(PAGES / "router.py"), default_timeout=30).run()
    for page in pages:
        app.switch_page(str(page))
        app.query_params["study"] = slug
        text = shown(app.run())
        yield page.name, text + "".join(element.proto.json for element in app.get("bidi_component"))


# HTTP routes: who gets what they ask for

EVERYBODY, AT_WORK = set(ACTORS), set(ACTORS[1:5])  # a viewer has no data but the name on the invitation
NOBODY: set[str] = set()
ALLOWED = {
    "GET /healthz": EVERYBODY,
    "GET /readyz": EVERYBODY,
    "GET /metrics": NOBODY,  # without a token
    "POST /auth/ticket": NOBODY,  # the ticket is none
    "POST /auth/sign-out": EVERYBODY,
    "POST /desk/draft": {"annotator"},
    "POST /desk/renew": {"annotator"},
    "POST /desk/act": {"annotator"},
    "POST /desk/items": {"annotator"},
    "POST /lead/rubric": {"lead"},
    "GET /export/{slug}/{name}.csv": {"lead"},
    "GET /export/{slug}/{name}.zip": {"lead"},
    "GET /workbook/{slug}/{number}.xlsx": {"lead"},
    "GET /report/{slug}.zip": {"lead"},
    "GET /report/{slug}/{sha256}.html": {"lead", "viewer"},
    "GET /capsule/{slug}.zip": {"lead"},
    "GET /my-data.{form}": AT_WORK,
    "GET /people/{slug}/{pseudonym}.{form}": {"lead"},
    "GET /api/v1/openapi.json": EVERYBODY,
}
# the calls of scripts: cookies open none of them, tokens those of their lead, as far as their scopes go
BY_TOKEN = {f"{call.method} {BASE}{call.path}": call for call in CALLS}
ALLOWED |= dict.fromkeys(BY_TOKEN, NOBODY)
ABOUT_ALL_STUDIES = {"asking", "studies", "create_study"}
FILES = ("/assets/",)  # our own scripts and styles


def test_every_route_has_a_row():
    routes = [route for route in ROUTES if not route.path.startswith(FILES)]
    registered = [(route.path, present(route.methods) - {"HEAD"}) for route in routes]
    assert {f"{method} {path}" for path, methods in registered for method in methods} == set(ALLOWED)
    assert all(len(methods) == 1 for _, methods in registered)


@pytest.fixture
def filled_in(world):
    """Row → the address, with everything that it names there, and what is sent to it."""
    study, token, actors = world
    with database.writing(web_engine()) as session:
        packed = b"".join(zipped([File("report.html", iter([b"page"]))], "report"))
        frozen: dict[str, Any] = {"event_hash": "", "made_at": clock.now(), "made_by": "x", "file": packed}
        session.add(Snapshot(study_id=study.id, event_number=1, sha256="a" * 64, **frozen))
        made = Workbook(study_id=study.id, person_id=actors["annotator"].person_id, token="t", made_at=clock.now())
        session.add(made)
        session.flush()
        lifecycle.unblind(session, study, sure(actors["lead"]))  # before, nobody takes a capsule
        parts = {
            "slug": study.slug,
            "study": study.slug,
            "sha256": "a" * 64,
            "pseudonym": actors["annotator"].pseudonym,
            "form": "json",
        }
    names = {"{name}.csv": "ratings.csv", "{name}.zip": f"{next(iter(FORMATS))}.zip", "{number}": str(made.id)}
    own = {"assignment": token, "version": 1, "pen": "pen-of-a-tab", "active_seconds": 1}
    bodies: dict[str, dict[str, Any]] = {
        "POST /desk/draft": {**own, "seq": 1, "base": 0, "draft": {}},
        "POST /desk/renew": {"assignment": token},
        "POST /lead/rubric": {"study": study.slug, "form": stored_name(actors["lead"].pseudonym, study.slug)},
        "POST /desk/act": {"action": {**own, "kind": "continue"}},
        "POST /desk/items": own,
    }
    score = {"item_id": "item-1", "system": "plumbum", "criterion": "fluency", "value": 2}
    items = base64.b64encode(b'{"item_id": "1", "context": "a", "candidates": {"x": "b", "y": "c"}}').decode()
    numbers = itertools.count()
    said: dict[str, Callable[[], dict[str, Any]]] = {
        "create_study": lambda: {
            "title": "Made",
            "rubric": SMALL_RUBRIC,
            "items": {"name": "x.jsonl", "content": items},
        },
        "set_state": lambda: {"state": next_state(study)},
        "invite": lambda: {"people": [{"name": f"Zoe {next(numbers)}"}]},
        "new_links": lambda: {"people": [actors["annotator"].pseudonym]},
        "append_scores": lambda: {"judge": f"model {next(numbers)}", "scores": [score]},
        "dry_run": lambda: {"annotators": 2, "items": 2},
    }

    def filled(row: str) -> tuple[str, str, bytes]:
        method, path = row.split()
        for mark, value in (names | {f"{{{name}}}": value for name, value in parts.items()}).items():
            path = path.replace(mark, value)
        body = said[BY_TOKEN[row].name]() if row in BY_TOKEN and BY_TOKEN[row].name in said else bodies.get(row, {})
        return method, path, json.dumps(body).encode()

    return filled


def test_every_route_answers_only_those_it_may(world, filled_in):
    app, cookies = Starlette(routes=ROUTES), {actor: cookie_of(who) for actor, who in world[2].items()}
    rows = sorted(ALLOWED, key=lambda row: row.endswith("sign-out"))  # nobody is signed in after it
    got = {row: {actor for actor in ACTORS if gets(app, filled_in(row), cookies[actor])} for row in rows}
    assert got == ALLOWED
    again = {actor for actor in ACTORS if gets(app, filled_in("GET /my-data.{form}"), cookies[actor])}
    assert again == NOBODY


SCOPES = [{Scope.read}, {Scope.read, Scope.write}, {Scope.read, Scope.unblind}, {*Scope}]


def test_every_call_answers_only_tokens_that_may_ask_it(world, filled_in):
    study, _, actors = world
    app, got, expected = Starlette(routes=ROUTES), {}, {}
    for actor in ("lead", "other lead"):
        for scopes in SCOPES:
            bearer = token_of(actors[actor], scopes, study)
            asked = {call.name for row, call in BY_TOKEN.items() if gets(app, filled_in(row), bearer)}
            one_study = Scope.unblind in scopes
            reached = set(calls.BY_NAME) if actor == "lead" else ABOUT_ALL_STUDIES
            able = {name for name in reached if calls.BY_NAME[name].scope in scopes}
            got[actor, *sorted(scopes)] = asked
            expected[actor, *sorted(scopes)] = able - ({"create_study"} if one_study else set())
    assert got == expected


def next_state(study) -> str:
    with database.reading(web_engine()) as session:
        return "paused" if lifecycle.by_slug(session, study.slug).state == StudyState.open else "open"


def token_of(who: Who, scopes: set[Scope], study) -> list[tuple[bytes, bytes]]:
    """A token for all studies, or, as one that unblinds must be, for this one; no two calls are stored together."""
    unblinds = Scope.unblind in scopes
    with database.writing(web_engine()) as session:
        token = tokens.make(
            session,
            who,
            "A script",
            tokens.LIVES[0],
            scopes,
            study if unblinds else None,
            sure(who) if unblinds else None,
        )
    return [(b"authorization", f"Bearer {token}".encode())]


def test_calls_reach_the_core_by_its_own_commands():
    """No call stores a row itself: what it writes, it writes by a command that pages use too."""
    for path in sorted((ROOT / "triptych" / "scripting").glob("*.py")):
        assert not whole(path).changes_rows, path.name


def cookie_of(who: Who | None) -> list[tuple[bytes, bytes]]:
    if who is None:
        return []
    with database.writing(web_engine()) as session:
        ticket = logins.issue_sign_in_ticket(session, session.get_one(Person, who.person_id))
        return [(b"cookie", f"{COOKIE}={cookie_value(logins.use_ticket(session, ticket))}".encode())]


def gets(app: Starlette, request: tuple[str, str, bytes], cookie: list[tuple[bytes, bytes]]) -> bool:
    """Whether the sender of this cookie gets what they ask for."""
    method, path, body = request
    headers = [(HEADER.encode(), HEADER_VALUE.encode()), *cookie]
    status, answer = asyncio.run(sent(app, method, path, headers, body))
    return status == 200 and b'"renewed":false' not in answer
