"""People: accounts, tickets, logins, return codes, links, panels, and what guessing gets you."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from helpers.present import present
from helpers.studies import SMALL_RUBRIC, draft_items, personal_link, sure
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from triptych import clock
from triptych.errors import Conflict, ImportRefused, NotAllowed, StudyNotOpen, TriptychError
from triptych.people import accounts, invitations, joining, links, logins, panels, passcodes, roster, signing_in, tokens
from triptych.storage import events
from triptych.storage.database import reading, writing
from triptych.storage.events import EventKind
from triptych.storage.models import Access, Event, EventDetail, Login, Membership, Person, Role, Study, StudyState
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of

PASSCODE = "correct horse battery"


@pytest.fixture
def study(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        return make_study(session, annotators=0)[0]


def refused(engine, command, *args) -> str:
    """The message that refuses a command in its own transaction; empty if it is accepted."""
    try:
        if command.__module__ == signing_in.__name__:
            command(engine, *args)
            return ""
        with writing(engine) as session:
            command(session, *args)
    except TriptychError as refusal:
        return str(refusal)
    return ""


def set_access(engine, study, access: Access) -> None:
    with writing(engine) as session:
        study.access = access
        session.add(study)


def signed_in(session, person: Person) -> Who:
    login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
    return present(logins.who_is(session, login))


# Leads and the set-up link


def test_the_setup_link_makes_one_lead_account_and_then_nothing(sqlite_engine):
    with writing(sqlite_engine) as session:
        secret = accounts.issue_setup_ticket(session)
    with writing(sqlite_engine) as session:
        lead = accounts.use_setup_ticket(session, secret, "  Ada   Lovelace ", PASSCODE)

    assert (lead.name, lead.role) == ("Ada Lovelace", Role.lead)
    assert "used" in refused(sqlite_engine, accounts.use_setup_ticket, secret, "Eve", PASSCODE)
    assert "already" in refused(sqlite_engine, accounts.issue_setup_ticket)


def test_a_refused_passcode_leaves_the_setup_link_usable(sqlite_engine):
    with writing(sqlite_engine) as session:
        secret = accounts.issue_setup_ticket(session)

    assert "8 to 200" in refused(sqlite_engine, accounts.use_setup_ticket, secret, "Ada", "short")
    assert refused(sqlite_engine, accounts.use_setup_ticket, secret, "Ada", PASSCODE) == ""


def test_a_new_setup_link_ends_the_earlier_one(sqlite_engine):
    with writing(sqlite_engine) as session:
        first, second = accounts.issue_setup_ticket(session), accounts.issue_setup_ticket(session)

    assert refused(sqlite_engine, accounts.check_setup_ticket, first)
    assert not refused(sqlite_engine, accounts.check_setup_ticket, second)


def test_a_setup_link_ends_after_a_day(sqlite_engine, move_clock):
    with writing(sqlite_engine) as session:
        secret = accounts.issue_setup_ticket(session)
    move_clock(hours=24, seconds=1)

    assert refused(sqlite_engine, accounts.check_setup_ticket, secret)


def test_a_sign_in_ticket_is_no_setup_link(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, _ = joining.join_open_study(session, study, "Anna")
        ticket = logins.issue_sign_in_ticket(session, person)

    assert refused(sqlite_engine, accounts.use_setup_ticket, ticket, "Eve", PASSCODE)


@pytest.mark.parametrize("passcode", ["", "seven77", "abc" * 67, "password1", "PASSWORD1", "aaaaaaaaaa", "12345678"])
def test_a_weak_passcode_is_refused(sqlite_engine, passcode):
    assert refused(sqlite_engine, accounts.create_lead, "Ada", passcode)


def test_a_taken_pseudonym_is_not_given_again():
    asked: list[str] = []

    def is_taken(pseudonym: str) -> bool:
        asked.append(pseudonym)
        return len(asked) == 1

    assert accounts.free_pseudonym("A", is_taken) == asked[1] != asked[0]


@pytest.mark.parametrize("passcode", ["abc" * 2 + "ab", "abc" * 66 + "ab"], ids=["8 characters", "200 characters"])
def test_all_characters_of_a_passcode_count(sqlite_engine, passcode):
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", passcode)

    assert signing_in.lead(sqlite_engine, "Ada", passcode)
    for other in (passcode + "c", passcode[:-1], passcode[:-1] + "c"):
        assert refused(sqlite_engine, signing_in.lead, "Ada", other) == signing_in.WRONG_PASSCODE


def test_a_lead_signs_in_with_any_spelling_of_their_name(sqlite_engine):
    with writing(sqlite_engine) as session:
        lead = accounts.create_lead(session, "Zoë Straße", PASSCODE)

    assert signing_in.lead(sqlite_engine, " zoe\u0308 STRASSE ", PASSCODE).id == lead.id
    wrong = refused(sqlite_engine, signing_in.lead, "Zoë Straße", PASSCODE + "!")
    assert wrong == refused(sqlite_engine, signing_in.lead, "Nobody", PASSCODE) == signing_in.WRONG_PASSCODE


def test_two_leads_cannot_have_one_name(sqlite_engine):
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)

    assert "already" in refused(sqlite_engine, accounts.create_lead, "ADA", PASSCODE)


def test_a_reset_passcode_ends_every_login(sqlite_engine):
    with writing(sqlite_engine) as session:
        lead = accounts.create_lead(session, "Ada", PASSCODE)
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
        accounts.reset_passcode(session, "ada", "another passcode")

    with writing(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None
    assert signing_in.lead(sqlite_engine, "Ada", "another passcode")
    assert refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE)


def test_nobody_unknown_gets_a_new_passcode(sqlite_engine):
    assert "no lead called 'Eve'" in refused(sqlite_engine, accounts.reset_passcode, " Eve ", PASSCODE)


def test_a_changed_passcode_ends_every_login(sqlite_engine):
    with writing(sqlite_engine) as session:
        lead = accounts.create_lead(session, "Ada", PASSCODE)
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, lead))
        who = logins.who_is(session, secret)
    change = (sqlite_engine, signing_in.change_passcode, who)
    assert "not your passcode" in refused(*change, "another passcode", "a new passcode")
    assert "8 to 200" in refused(*change, PASSCODE, "short")
    assert signing_in.lead(sqlite_engine, "Ada", PASSCODE)

    assert refused(*change, PASSCODE, "a new passcode") == ""

    assert signing_in.lead(sqlite_engine, "Ada", "a new passcode")
    assert refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE)
    with writing(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None


# Guessing


def test_wrong_tries_slow_down_what_comes_next_and_never_lock(sqlite_engine, move_clock):
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
    for _ in range(passcodes.FREE_TRIES):
        assert refused(sqlite_engine, signing_in.lead, "Ada", "wrong wrong") == signing_in.WRONG_PASSCODE

    assert "Too many" in refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE)
    assert refused(sqlite_engine, signing_in.lead, "Bea", "wrong wrong") == signing_in.WRONG_PASSCODE
    move_clock(seconds=1)
    assert refused(sqlite_engine, signing_in.lead, "Ada", "wrong wrong") == signing_in.WRONG_PASSCODE
    move_clock(seconds=1)
    assert "Too many" in refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE)
    move_clock(seconds=passcodes.LONGEST_WAIT_SECONDS)
    assert refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE) == ""


def test_the_wait_doubles_up_to_half_a_minute():
    waits = [passcodes.wait_after(failures).total_seconds() for failures in range(14)]
    assert waits == [0] * 5 + [1, 2, 4, 8, 16] + [30] * 4


def test_a_right_passcode_forgets_the_failures_before_it(sqlite_engine):
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
    for passcode in ["wrong wrong"] * 4 + [PASSCODE] + ["wrong wrong"] * 4 + [PASSCODE]:
        refused(sqlite_engine, signing_in.lead, "Ada", passcode)

    assert refused(sqlite_engine, signing_in.lead, "Ada", PASSCODE) == ""


def test_unknown_accounts_are_slowed_down_like_existing_ones(sqlite_engine, study):
    for _ in range(passcodes.FREE_TRIES):
        refused(sqlite_engine, signing_in.lead, "Nobody", PASSCODE)
        refused(sqlite_engine, signing_in.returning, study, "Nobody", "0000-0000")

    assert "Too many" in refused(sqlite_engine, signing_in.lead, "Nobody", PASSCODE)
    assert "Too many" in refused(sqlite_engine, signing_in.returning, study, "Nobody", "0000-0000")


def test_no_secret_is_stored_as_it_is(sqlite_engine, study, tmp_path):
    with writing(sqlite_engine) as session:
        accounts.create_lead(session, "Ada", PASSCODE)
        person, code = joining.join_open_study(session, study, "Anna")
        ticket = logins.issue_sign_in_ticket(session, person)
        secrets = [PASSCODE, code, ticket, logins.use_ticket(session, ticket), personal_link(session, study, "Bea")]
    with sqlite_engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("triptych.db*"))

    assert b"Anna" in stored
    assert not [secret for secret in secrets if secret.encode() in stored]


# Tickets and logins


def test_a_ticket_works_once_and_for_thirty_seconds(sqlite_engine, study, move_clock):
    with writing(sqlite_engine) as session:
        person, _ = joining.join_open_study(session, study, "Anna")
        used, late = (logins.issue_sign_in_ticket(session, person) for _ in range(2))
        logins.use_ticket(session, used)

    assert refused(sqlite_engine, logins.use_ticket, used)
    move_clock(seconds=31)
    assert refused(sqlite_engine, logins.use_ticket, late)


def test_of_eight_racing_uses_of_one_ticket_one_wins(engine):
    with writing(engine) as session:
        ticket = logins.issue_sign_in_ticket(session, accounts.create_lead(session, "Ada", PASSCODE))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: refused(engine, logins.use_ticket, ticket), range(8)))

    assert answers.count("") == 1


def test_of_eight_people_racing_for_one_name_one_gets_it(engine, make_study):
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: refused(engine, joining.join_open_study, study, "Anna"), range(8)))

    assert answers.count("") == 1


def test_a_login_lasts_fourteen_days(sqlite_engine, study, move_clock):
    with writing(sqlite_engine) as session:
        person, _ = joining.join_open_study(session, study, "Anna")
        secret = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))

    move_clock(days=13, hours=23)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret).pseudonym == person.pseudonym
    move_clock(hours=2)
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None


def test_signing_out_ends_this_login_and_no_other(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, _ = joining.join_open_study(session, study, "Anna")
        first, second = (logins.use_ticket(session, logins.issue_sign_in_ticket(session, person)) for _ in range(2))
        logins.sign_out(session, present(logins.who_is(session, first)))

        assert logins.who_is(session, first) is None
        assert logins.who_is(session, second).person_id == person.id


def test_a_disabled_person_is_signed_out_and_stays_out(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, code = joining.join_open_study(session, study, "Anna")
        login, ticket = (logins.issue_sign_in_ticket(session, person) for _ in range(2))
        login = logins.use_ticket(session, login)
        person.disabled_at = clock.now()

    with reading(sqlite_engine) as session:
        assert logins.who_is(session, login) is None
    assert refused(sqlite_engine, logins.use_ticket, ticket)
    assert refused(sqlite_engine, signing_in.returning, study, "Anna", code) == signing_in.WRONG_CODE


@pytest.mark.parametrize("secret", ["", "x", "\udc80", "a" * 10_000, "' OR 1=1 --"])
def test_a_made_up_secret_is_not_signed_in(sqlite_engine, secret):
    with reading(sqlite_engine) as session:
        assert logins.who_is(session, secret) is None
    assert refused(sqlite_engine, logins.use_ticket, secret)
    assert refused(sqlite_engine, links.accept_invitation, secret)


# Open studies


def test_a_newcomer_becomes_an_annotator_under_a_pseudonym(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, code = joining.join_open_study(session, study, "Anna")
        who = signed_in(session, person)

        assert who.role == Role.annotator
        assert "Anna" not in who.pseudonym
        assert [joined.slug for joined in lifecycle.for_annotator(session, person.id)] == [study.slug]
    assert len(code) == 9


def test_a_taken_name_asks_for_its_code_or_another_name(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        joining.join_open_study(session, study, "Anna")

    with pytest.raises(Conflict, match="return code.*another name"), writing(sqlite_engine) as session:
        joining.join_open_study(session, study, " ANNA ")


def test_the_same_name_in_another_study_is_another_person(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, other = make_study(session, annotators=0)[0], make_study(session, annotators=0, title="Other")[0]
        first, code = joining.join_open_study(session, study, "Anna")
        second, _ = joining.join_open_study(session, other, "Anna")

    assert first.pseudonym != second.pseudonym
    assert refused(sqlite_engine, signing_in.returning, other, "Anna", code) == signing_in.WRONG_CODE


def test_name_and_return_code_bring_back_the_same_person(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, code = joining.join_open_study(session, study, "Anna")

    assert signing_in.returning(sqlite_engine, study, "anna", code.lower().replace("-", " ")).id == person.id
    assert refused(sqlite_engine, signing_in.returning, study, "Berta", code) == signing_in.WRONG_CODE


@given(st.lists(st.sampled_from(passcodes.ALPHABET), min_size=8, max_size=8), st.randoms())
def test_a_return_code_is_understood_however_it_is_typed(signs, random):
    code = "".join(signs[:4]) + "-" + "".join(signs[4:])
    misread = {"0": "0Oo", "1": "1IiLl"}
    typed = " ".join(random.choice(misread.get(sign, sign + sign.lower())) for sign in signs)

    assert passcodes.read_return_code(typed) == code


def test_an_annotators_code_or_link_never_opens_a_leads_account(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        lead = accounts.create_lead(session, "Ada", "ABCD-EFGH")
        joining.join(session, study, signed_in(session, lead))
        invited = links.accept_invitation(session, personal_link(session, study, "Ada"))

    assert invited.id != lead.id
    assert refused(sqlite_engine, signing_in.returning, study, "Ada", "ABCD-EFGH") == signing_in.WRONG_CODE


@pytest.mark.parametrize("name", ["", "   ", "\u200b", "x" * 81])
def test_an_unusable_name_is_refused(sqlite_engine, study, name):
    assert "1 to 80" in refused(sqlite_engine, joining.join_open_study, study, name)


@pytest.mark.parametrize("access", [Access.invited, Access.panel])
def test_a_study_that_is_not_open_cannot_be_joined(sqlite_engine, study, access):
    set_access(sqlite_engine, study, access)
    with writing(sqlite_engine) as session:
        who = signed_in(session, accounts.create_lead(session, "Ada", PASSCODE))

    assert "not open to everybody" in refused(sqlite_engine, joining.join_open_study, study, "Anna")
    assert "not open to everybody" in refused(sqlite_engine, joining.join, study, who)


def test_a_paused_study_admits_returning_people_only(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        _, code = joining.join_open_study(session, study, "Anna")
    with writing(sqlite_engine) as session:
        lifecycle.set_state(session, lifecycle.by_slug(session, study.slug), StudyState.paused, "L-1")
    with writing(sqlite_engine) as session:
        paused = lifecycle.by_slug(session, study.slug)
        assert [joined.slug for joined in joining.studies_to_return_to(session)] == [study.slug]
        with pytest.raises(StudyNotOpen):
            joining.join_open_study(session, paused, "Berta")
    assert signing_in.returning(sqlite_engine, paused, "Anna", code)


def test_a_closed_study_is_listed_last_for_returning_people(sqlite_engine, study, make_study):
    with writing(sqlite_engine) as session:
        newer, _, _ = make_study(session, title="A newer one")
        person, code = joining.join_open_study(session, newer, "Anna")
        make_study(session, title="Invited only", access=Access.invited)
        lifecycle.create_study(session, lifecycle.StudyPlan(title="A draft"), SMALL_RUBRIC, draft_items(1), "L-1")
        lifecycle.set_state(session, newer, StudyState.closed, "L-1")

        assert [joined.slug for joined in joining.studies_to_return_to(session)] == [study.slug, newer.slug]
    assert signing_in.returning(sqlite_engine, newer, "Anna", code).id == person.id


def test_joining_twice_is_one_membership(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        who = signed_in(session, accounts.create_lead(session, "Ada", PASSCODE))
        joining.join(session, study, who)
        joining.join(session, study, who)

        own = select(Membership).where(Membership.person_id == who.person_id, Membership.role == Role.annotator)
        assert len(session.scalars(own).all()) == 1


# Invitations


def test_a_personal_link_works_until_replaced_or_ninety_days_old(sqlite_engine, study, move_clock):
    with writing(sqlite_engine) as session:
        first = personal_link(session, study, "Anna")
        person = links.accept_invitation(session, first)
        assert links.accept_invitation(session, first).id == person.id
        second = personal_link(session, study, "anna")
        assert links.accept_invitation(session, second).id == person.id

    assert "not valid" in refused(sqlite_engine, links.accept_invitation, first)
    move_clock(days=90, seconds=1)
    assert "not valid" in refused(sqlite_engine, links.accept_invitation, second)


# Panels


def test_a_panel_id_is_another_person_in_each_study(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        (study, lead, _), (other, *_) = (make_study(session, annotators=0, title=title) for title in ("One", "Other"))
        session.execute(update(Membership).where(Membership.study_id == other.id).values(person_id=lead.person_id))
        study.access = other.access = Access.panel
        session.flush()
        first = panels.join_from_panel(session, study, "prolific", "5f1", "s1")

        assert panels.join_from_panel(session, study, "prolific", "5f1", "s2").id == first.id
        elsewhere = panels.join_from_panel(session, other, "prolific", "5f1", "s3")
        assert elsewhere.id != first.id
        assert panels.join_from_panel(session, other, "prolific", "5f1", "s3").id == elsewhere.id
        assert panels.join_from_panel(session, study, "prolific", "5f2", "s4").id != first.id
        assert panels.join_from_panel(session, study, "other", "5f1", "s5").id != first.id


def test_a_closed_study_admits_its_own_panel_members_only(sqlite_engine, study):
    set_access(sqlite_engine, study, Access.panel)
    with writing(sqlite_engine) as session:
        person = panels.join_from_panel(session, study, "prolific", "5f1", "")
        study.state = StudyState.closed

        assert panels.join_from_panel(session, study, "prolific", "5f1", "").id == person.id
        with pytest.raises(StudyNotOpen):
            panels.join_from_panel(session, study, "prolific", "5f2", "")


@pytest.mark.parametrize("external_id", ["", "x" * 201, "a\nb", "a\x00b"])
def test_an_unusable_panel_id_is_refused(sqlite_engine, study, external_id):
    set_access(sqlite_engine, study, Access.panel)

    assert "participant id" in refused(sqlite_engine, panels.join_from_panel, study, "prolific", external_id, "")


def test_a_study_without_a_panel_admits_nobody_from_one(sqlite_engine, study):
    assert refused(sqlite_engine, panels.join_from_panel, study, "prolific", "5f1", "") == "This study has no panel."


def test_a_disabled_panel_member_stays_out(sqlite_engine, study):
    set_access(sqlite_engine, study, Access.panel)
    with writing(sqlite_engine) as session:
        person = panels.join_from_panel(session, study, "prolific", "5f1", "")
        roster.disable(session, study, person.pseudonym, sure("L").who)

    assert "account is disabled" in refused(sqlite_engine, panels.join_from_panel, study, "prolific", "5f1", "")


def test_a_panel_address_uses_the_parameters_of_the_settings(sqlite_engine, study):
    set_access(sqlite_engine, study, Access.panel)
    with writing(sqlite_engine) as session:
        address = {"study": study.slug, "PROLIFIC_PID": "5f1"}
        assert panels.panel_study(session, address).id == study.id
        assert panels.panel_study(session, {"study": study.slug}) is None
        assert panels.panel_study(session, {"PROLIFIC_PID": "5f1"}) is None
        here = lifecycle.by_slug(session, study.slug)
        here.settings = {"panel": {"id_param": "workerId", "name": "mturk"}}
        session.flush()
        assert panels.panel_study(session, address) is None
        addressed = present(panels.panel_study(session, {"study": study.slug, "workerId": "W"}))
        assert settings_of(addressed).panel.name == "mturk"


# Tokens


@pytest.mark.parametrize(
    ("name", "life", "role", "sentence"),
    [
        ("  ", tokens.LIVES[0], Role.lead, "1 to 60 characters"),
        ("x" * 61, tokens.LIVES[0], Role.lead, "1 to 60 characters"),
        ("Script", timedelta(days=1000), Role.lead, "one of the offered periods"),
        ("Script", tokens.LIVES[0], Role.annotator, "Only leads"),
    ],
)
def test_an_unusable_token_is_not_created(sqlite_engine, name, life, role, sentence):
    who = Who(0, "X", role, None, 0)
    assert sentence in refused(sqlite_engine, tokens.make, who, name, life, {tokens.Scope.read})


def test_a_lead_has_few_tokens(sqlite_engine, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    with writing(sqlite_engine) as session:
        lead = signed_in(session, accounts.create_lead(session, "Ada", PASSCODE))
    made = [refused(sqlite_engine, tokens.make, lead, "Script", tokens.LIVES[0], {tokens.Scope.read}) for _ in "123"]
    assert made == ["", "", "You have 2 tokens. Revoke one that you no longer need."]


def test_a_login_row_knows_its_person(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        person, _ = joining.join_open_study(session, study, "Anna")
        who = signed_in(session, person)

        assert session.get(Login, who.login_id).person_id == who.person_id == person.id


def test_refusals_are_messages_for_people(sqlite_engine, study):
    with pytest.raises(NotAllowed):
        signing_in.lead(sqlite_engine, "Nobody", "x")


# Lists, links and accounts


def guests(engine, study, text: str) -> tuple[list[str], list[str]]:
    """(names, problems) of a list."""
    with writing(engine) as session:
        guests = invitations.read_list(session, study, text.encode())
    return [guest.name for guest in guests.guests], [str(problem) for problem in guests.problems]


def test_a_list_is_read_in_every_format_spreadsheets_save(sqlite_engine, study):
    for lines, names in {
        "Anna\nBen\n": ["Anna", "Ben"],
        "name\nAnna": ["Anna"],
        "E-Mail;Name\na@b.example;Anna": ["Anna"],
        '"Berg, Anna",a@b.example\n\n  \nBen,,lead': ["Berg, Anna", "Ben"],
        "\ufeffName\tRole\r\nÄnne\tAnnotator\r\n": ["Änne"],
    }.items():
        assert guests(sqlite_engine, study, lines) == (names, [])


def test_an_unknown_column_of_a_list_is_not_stored(sqlite_engine, study):
    names, (note,) = guests(sqlite_engine, study, "Name,Phone\nAnna,0171")
    assert (names, "The column 'phone' is ignored and not stored." in note) == (["Anna"], True)


def test_list_errors_are_reported_by_row(sqlite_engine, study):
    for lines, message in {
        "": "is empty",
        "name,email\n": "is empty",
        "Anna\nAnna": "Row 2, column 'name': 'Anna' is in row 1 already",
        "A,x@y.de\nB,X@y.de": "Row 2, column 'email': 'X@y.de' is in row 1 already",
        'name\n"Anna': "Row 2",
        "x" * 81: "1 to 80 characters",
        "name,role\nAnna,owner": "'owner' is not a role",
        "name,role,group\nAnna,lead,expert": "'expert' is not a group",
        "name,group\nAnna," + "x" * 61: "is not a group",
        "Anna,expert": "'expert' is no e-mail address",
        "Anna;?@[.>": "'?@[.>' is no e-mail address",
        "Anna;x=?utf-8?q?=0AX-Note=3A?=@lab.test": "is no e-mail address",
        ",,": "is empty",
        "name,email,group,role\n,,,annotator": "This line is empty",
        "crowd × 201": "at most 200",
        "Anna\n" * 201: "at most 200",
    }.items():
        assert message in "\n".join(guests(sqlite_engine, study, lines)[1])


def test_headings_are_no_person_of_a_long_list(sqlite_engine, study):
    """Scripts may send as many people, and their list gets headings."""
    names, problems = guests(sqlite_engine, study, "name\n" + "".join(f"Anna {n}\n" for n in range(200)))

    assert (len(names), problems) == (200, [])


@pytest.mark.parametrize("command", [invitations.remind, invitations.renew])
def test_few_people_get_links_at_once(sqlite_engine, study, command):
    """For a thousand, drafts were refused as busy for ten seconds."""
    with writing(sqlite_engine) as session, pytest.raises(NotAllowed, match="at most 200"):
        command(session, study, [f"A-{number}" for number in range(201)], "P-lead")


def test_a_typed_list_names_people_and_their_groups(sqlite_engine, study):
    typed = "Mika Sørli, mika@example.org, expert\nira@example.org, crowd\ncrowd × 2\nLin\n3 x 1\nRo,,lead"
    with writing(sqlite_engine) as session:
        guest_list = invitations.read_list(session, study, typed.encode())
        assert guest_list.problems == ()
        invited = invitations.invite_all(session, study, guest_list.guests, "L")
    assert [(guest.name, guest.email, guest.group, guest.role) for guest in invited] == [
        ("Mika Sørli", "mika@example.org", "expert", "annotator"),
        ("", "ira@example.org", "crowd", "annotator"),
        ("", None, "crowd", "annotator"),
        ("", None, "crowd", "annotator"),
        ("Lin", None, "", "annotator"),
        ("", None, "3", "annotator"),
        ("Ro", None, "", "lead"),
    ]
    with writing(sqlite_engine) as session:
        groups = settings_of(session.get_one(Study, study.id)).annotator_groups
        kinds = [event.kind for event in events.since(session, study.id, 0)]
        assert links.accept_invitation(session, invited[2].secret).pseudonym == invited[2].pseudonym
    assert groups == {guest.pseudonym: guest.group for guest in invited if guest.group}
    assert kinds.count(EventKind.annotators_grouped) == 1


def test_a_list_that_became_invalid_invites_no_one(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        guests = invitations.read_list(session, study, b"Anna\nBen\nCleo")
        personal_link(session, study, "ben")
    with pytest.raises(ImportRefused, match="Row 2: Already takes part"), writing(sqlite_engine) as session:
        invitations.invite_all(session, study, guests.guests, "L")
    with reading(sqlite_engine) as session:
        assert [member.name for member in roster.members_of(session, study) if member.role == Role.annotator] == ["ben"]


def test_two_simultaneous_invitations_make_one_person(engine, make_study):
    with writing(engine) as session:
        study = make_study(session, annotators=0)[0]

    def inviting(_):
        return refused(engine, invitations.invite_one, study, "Anna", "", Role.annotator, "L")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(inviting, range(4)))
    assert sorted(map(bool, answers)) == [False, True, True, True]


@pytest.fixture
def cleo(sqlite_engine, study) -> invitations.Invited:
    with writing(sqlite_engine) as session:
        return invitations.invite_one(session, study, "Cleo", "c@x.example", Role.annotator, "L")


def test_an_old_link_works_until_the_new_one_is_used(sqlite_engine, study, cleo):
    with writing(sqlite_engine) as session:
        (reminded,) = invitations.remind(session, study, [cleo.pseudonym], "L")
    assert (reminded.email, reminded.reminder) == ("c@x.example", True)
    for secret in (cleo.secret, reminded.secret, reminded.secret):
        assert not refused(sqlite_engine, links.accept_invitation, secret)
    assert "not valid" in refused(sqlite_engine, links.accept_invitation, cleo.secret)


def test_a_logged_reminder_holds_no_secret_and_no_address(sqlite_engine, study, cleo):
    with writing(sqlite_engine) as session:
        (reminded,) = invitations.remind(session, study, [cleo.pseudonym], "L")
    with reading(sqlite_engine) as session:
        last = events.since(session, study.id, 0)[-1]
        assert (last.kind, last.subject) == (EventKind.reminded, cleo.pseudonym)
        logged = "".join(repr(session.scalars(select(table)).all()) for table in (Event, EventDetail))
    assert reminded.secret not in logged
    assert "c@x.example" not in logged


def test_nobody_is_reminded_where_one_cannot_come_back(sqlite_engine, study, cleo):
    with writing(sqlite_engine) as session:
        other = invitations.invite_one(session, study, "Dan", "", Role.annotator, "L")
        session.get_one(Membership, _membership(session, study, other.pseudonym)).excluded_at = clock.now()
    names = [cleo.pseudonym, other.pseudonym]
    assert "excluded" in refused(sqlite_engine, invitations.remind, study, names, "L")
    with reading(sqlite_engine) as session:
        assert EventKind.reminded not in {event.kind for event in events.since(session, study.id, 0)}


def _membership(session, study, pseudonym: str) -> int:
    return roster.find(session, study, pseudonym)[0].id


def test_an_ended_link_lets_nobody_in(sqlite_engine, study, cleo):
    with writing(sqlite_engine) as session:
        invitations.remind(session, study, [cleo.pseudonym], "L")
        roster.end_link(session, study, cleo.pseudonym, "L")
    assert "not valid" in refused(sqlite_engine, links.accept_invitation, cleo.secret)
    with reading(sqlite_engine) as session:
        assert events.since(session, study.id, 0)[-1].kind == EventKind.link_ended
        assert next(m for m in roster.members_of(session, study) if m.name == "Cleo").link_until is None


def test_disabling_ends_logins_links_and_codes_at_once(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        person, code = joining.join_open_study(session, study, "Anna")
        login = logins.use_ticket(session, logins.issue_sign_in_ticket(session, person))
        link, ticket = links.issue_link(session, study, person.id), logins.issue_sign_in_ticket(session, person)
    with writing(sqlite_engine) as session:
        roster.disable(session, study, person.pseudonym, lead)
        assert logins.who_is(session, login) is None
    for command, *parts in (
        (logins.use_ticket, ticket),
        (links.accept_invitation, link),
        (signing_in.returning, study, "Anna", code),
        (roster.new_link, study, person.pseudonym, lead.pseudonym),
    ):
        assert refused(sqlite_engine, command, *parts)
    with writing(sqlite_engine) as session:
        roster.enable(session, study, person.pseudonym, lead)
    assert signing_in.returning(sqlite_engine, study, "Anna", code).id == person.id


def test_a_second_disabling_or_enabling_is_not_logged(sqlite_engine, make_study):
    with writing(sqlite_engine) as session:
        study, lead, (anna, _) = make_study(session)
        for change in (roster.disable, roster.disable, roster.enable, roster.enable):
            change(session, study, anna.pseudonym, lead)
        kinds = [event.kind for event in events.since(session, study.id, 0)]
    assert kinds[-2:] == [EventKind.account_disabled, EventKind.account_enabled]
    assert (kinds.count(EventKind.account_disabled), kinds.count(EventKind.account_enabled)) == (1, 1)


def test_a_lead_with_a_passcode_gets_no_link(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        rosa = accounts.create_lead(session, "Rosa", PASSCODE)
        roster.enrol_lead(session, study, rosa, "L")
    assert "Rosa already leads" in refused(sqlite_engine, roster.add_lead, study, "rosa", "L")
    assert "needs no link" in refused(sqlite_engine, roster.new_link, study, rosa.pseudonym, "L")


def test_the_name_of_an_invited_lead_is_taken(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        invitations.invite_one(session, study, "Dora", "", Role.lead, "L")
    assert "already" in refused(sqlite_engine, accounts.create_lead, "dora", PASSCODE)
    assert "Already" in refused(sqlite_engine, invitations.invite_one, study, "Dora", "", Role.lead, "L")


def test_an_invited_lead_can_be_removed_and_invited_again(sqlite_engine, study):
    with writing(sqlite_engine) as session:
        rosa = accounts.create_lead(session, "Rosa", PASSCODE)
        roster.enrol_lead(session, study, rosa, "L")
        dora = invitations.invite_one(session, study, "Dora", "d@x.example", Role.lead, "L")
    with writing(sqlite_engine) as session:
        roster.remove_lead(session, study, dora.pseudonym, sure("L"))
        again = invitations.invite_one(session, study, "Dora", "d@x.example", Role.lead, "L")
        roster.remove_lead(session, study, again.pseudonym, sure("L"))
        assert "Dora" not in session.scalars(select(Person.name)).all()
    assert signing_in.lead(sqlite_engine, "Rosa", PASSCODE).id == rosa.id


def test_an_invited_lead_can_be_added_by_name(sqlite_engine, study, make_study):
    with writing(sqlite_engine) as session:
        other = make_study(session, annotators=0)[0]
        dora = invitations.invite_one(session, study, "Dora", "", Role.lead, "L")
    assert "as soon as they have chosen a passcode" in refused(
        sqlite_engine, invitations.invite_one, other, "Dora", "", Role.lead, "L"
    )
    with writing(sqlite_engine) as session:
        links.accept_as_lead(session, dora.secret, PASSCODE)
    assert "by name instead" in refused(sqlite_engine, invitations.invite_one, other, "Dora", "", Role.lead, "L")
