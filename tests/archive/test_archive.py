"""A study's archive: what consent covers and nothing else, under no pseudonym, with no script and no address."""

from __future__ import annotations

import csv
import hashlib
import io
import random
import re
from contextlib import nullcontext
from dataclasses import replace
from html.parser import HTMLParser
from unittest.mock import patch

import pytest
from helpers.ratings import submit
from helpers.reports import SECRET_WORDS, new_study, opened, some_answers
from helpers.studies import SMALL_RUBRIC, SYSTEMS, add_person, draft_items, full_answers, join, sure
from sqlalchemy import select, update

from triptych.annotate import exclusions, onboarding
from triptych.archive import make
from triptych.archive.make import ArchiveChoice, archive_study, texts_to_read
from triptych.errors import Conflict, ImportRefused, NotAllowed
from triptych.exchange import import_ratings
from triptych.formats.ratings import read_ratings
from triptych.formats.ratings.assemble import assemble
from triptych.operations.verify import verify
from triptych.people import joining
from triptych.privacy import erasure, withdrawal
from triptych.results.looking import log_look
from triptych.storage import database, events
from triptych.storage.models import (
    Assignment,
    Candidate,
    Explanation,
    Highlight,
    Item,
    Person,
    Rating,
    Role,
    StoredCriterion,
    StudyState,
)
from triptych.study import annotator_groups, design, lifecycle
from triptych.study.persons import Who
from triptych.study.settings import changed, settings_of, stored

HOSTILE = "<script src=https://evil.example/x.js></script><img src=//evil.example onerror=alert(1)>"
PLAIN = ArchiveChoice("CC-BY-4.0")
# annotator → what they agreed to; the first version of the text says nothing of it
AGREED = {"silent": "not_asked", "results": "nothing", "rater": "ratings", "writer": "texts", "gone": "texts"}


class Tags(HTMLParser):
    """Tags of a page, and every address in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses |= {value for name, value in attrs if name in ("href", "src", "action", "data", "xlink:href")}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A closed, unblinded study; each of its annotators agreed to another text, and one withdrew afterwards."""
    engine = opened(tmp_path_factory.mktemp("archive"))
    rng = random.Random(3)
    with database.writing(engine) as session:
        lead = add_person(session, "lead", Role.lead)
        plan = lifecycle.StudyPlan(title=f"Study {HOSTILE}", seed="fixed", raters_per_item=6)
        study = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(3), lead.pseudonym, lead.person_id)
        lifecycle.set_state(session, study, StudyState.open, lead.pseudonym)
        people = {name: join(session, study, add_person(session, name)) for name in (*AGREED, "unasked")}
        for name, sharing in AGREED.items():
            study.settings = stored(changed(study, consent={"text": "Agree?", "sharing": sharing}))
            session.flush()
            joining.consent(session, study, people[name], settings_of(study).consent.version)
        study.settings = stored(changed(study, consent={"not_needed": "tried"}))
        session.flush()
        for who in people.values():
            for _ in range(3):
                answers = some_answers(rng)
                answers["ratings"]["A"]["verdict"] = "reject"
                answers["explanations"]["A"] = {"verdict": {"reject": {"reasons": ["rude"], "text": SECRET_WORDS}}}
                if who is people["writer"]:
                    answers["highlights"][0]["comment"] = HOSTILE
                submit(session, study, who, answers)
        session.execute(update(Candidate).where(Candidate.id == 1).values(text=HOSTILE))
        texts = {"context": HOSTILE, "extra_texts": {"Source": "The source text"}}
        session.execute(update(Item).where(Item.external_id == "item-1").values(texts))
        withdrawal.withdraw(session, study, "P-gone", lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        lifecycle.unblind(session, study, sure(lead))
    return engine, study


def made(world, choice=PLAIN, figures=False):
    """An archive; without its figures, which take most of its time, unless they are asked for."""
    engine, study = world
    undrawn = patch.object(make, "figures_by_criterion", return_value={})
    with nullcontext() if figures else undrawn, database.writing(engine) as session:
        return archive_study(session, lifecycle.by_slug(session, study.slug), choice, "given", "command line")


def rows(archive, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.files[name].decode("utf-8-sig"), newline="")))


def listed(world, blind=False) -> bytes:
    with database.reading(world[0]) as session:
        return texts_to_read(session, lifecycle.by_slug(session, world[1].slug), blind)[0]


@pytest.mark.long
def test_only_who_agreed_is_there_one_by_one(world):
    archive = made(world)
    everything = b"\n".join(archive.files.values()).decode()
    names = {row["annotator"] for row in rows(archive, "ratings.csv")}
    assert len(names) == 2
    assert {row["annotator"] for row in rows(archive, "highlights.csv")} == names
    assert SECRET_WORDS not in everything
    assert not re.search(r"\bP-\w+", everything)
    assert "texts.csv" not in archive.files
    about = archive.files["index.html"].decode()
    assert "2 annotators were not asked what may be published" in about
    assert "1 annotator agreed to the publication of results over all annotators only" in about
    results = rows(archive, "results.csv")
    assert [r["value"] for r in results if (r["part"], r["statistic"]) == ("study", "annotators")] == ["5"]  # one left
    assert not [r for r in results if "Annotator" in r["system"] + r["baseline"]]


@pytest.mark.long
@pytest.mark.parametrize("asked_again", [False, True])
@pytest.mark.parametrize("sharing", ["not_asked", "texts"])
def test_who_declined_a_later_text_is_not_published_individually(sqlite_engine, sharing, asked_again):
    """A lead who let them in again, with a click, published their texts by what they had agreed to before."""
    with database.writing(sqlite_engine) as session:
        study, lead, (who,) = new_study(session, items=1, annotators=1)
        study.settings = stored(changed(study, consent={"text": "Agree?", "sharing": sharing}))
        session.flush()
        joining.consent(session, study, who, settings_of(study).consent.version)
        submit(session, study, who, some_answers(random.Random(3)))
        later = {"consent": {"text": "A company gets the data.", "sharing": "texts"}}
        design.amend(session, study, design.Parts(settings=later), "Funding.", lead.pseudonym)
        onboarding.refuse(session, study, who)
        if asked_again:
            exclusions.let_in(session, study, who.pseudonym, "Ask again.", lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        events.write_pending(session)
        listing, number = texts_to_read(session, study, False)
        archive = archive_study(session, study, PLAIN, "given", "command line")

    assert number == 0 and SECRET_WORDS not in listing.decode()
    assert not rows(archive, "ratings.csv")
    assert "or declined a later consent text" in archive.files["index.html"].decode()


@pytest.mark.parametrize("small", [("results",), ("silent", "unasked"), ("results", "rater")])
def test_a_small_group_hides_the_results_of_all_groups(world, small):
    engine, study = world
    with patch.object(make, "figures_by_criterion", return_value={}), database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        for name in ("silent", "results", "rater", "writer", "unasked"):
            annotator_groups.set_group(session, here, [f"P-{name}"], "expert" if name in small else "crowd", "P-lead")
        archive = archive_study(session, here, PLAIN, "given", "command line")
        session.rollback()

    assert not [row for row in rows(archive, "results.csv") if row["part"] in ("groups", "group differences")]
    assert not re.search(r"\b(expert|crowd)\b", archive.files["results.html"].decode())
    assert "Results by group of annotators are left out" in archive.files["index.html"].decode()


def test_groups_that_hide_everybody_in_them_are_compared(world):
    engine, study = world
    with patch.object(make, "figures_by_criterion", return_value={}), database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        annotator_groups.set_group(session, here, ["P-silent", "P-results", "P-unasked"], "crowd", "P-lead")
        annotator_groups.set_group(session, here, ["P-rater", "P-writer"], "expert", "P-lead")
        archive = archive_study(session, here, PLAIN, "given", "command line")
        session.rollback()

    assert [row for row in rows(archive, "results.csv") if row["baseline"] == "crowd against expert"]
    assert "Results by group" not in archive.files["index.html"].decode()


def excluded(session, study, pseudonym):
    exclusions.exclude(session, study, pseudonym, "too fast", "P-lead")


def says_no_verdict(session, study, pseudonym):
    own = select(Assignment.id).join(Person).where(Assignment.study_id == study.id, Person.pseudonym == pseudonym)
    verdict = select(StoredCriterion.id).where(StoredCriterion.key == "verdict")
    of_verdict = Rating.assignment_id.in_(own) & Rating.criterion_id.in_(verdict)
    session.execute(update(Rating).where(of_verdict).values(missing=True))


@pytest.mark.parametrize("goes", [excluded, says_no_verdict])
def test_nobody_is_hidden_by_people_whose_ratings_do_not_count(world, goes):
    engine, study = world
    with patch.object(make, "figures_by_criterion", return_value={}), database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        annotator_groups.set_group(session, here, ["P-silent", "P-results", "P-unasked"], "crowd", "P-lead")
        annotator_groups.set_group(session, here, ["P-rater", "P-writer"], "expert", "P-lead")
        goes(session, here, "P-unasked")
        archive = archive_study(session, here, PLAIN, "given", "command line")
        session.rollback()

    assert not [row for row in rows(archive, "results.csv") if row["part"] in ("groups", "group differences")]
    assert "Results by group of annotators are left out" in archive.files["index.html"].decode()
    assert "ratings of only 2 annotators may not be published individually" in archive.caution


@pytest.mark.long
def test_hostile_words_stay_text_and_nothing_leads_outside(world):
    archive = made(world, ArchiveChoice("CC-BY-4.0", release=listed(world)), figures=True)
    pages = {name: content.decode() for name, content in archive.files.items() if name.endswith(".html")}
    assert set(pages) == {"index.html", "results.html", "items-1.html"}
    for page in pages.values():
        found = Tags(page)
        assert not found.tags & {"script", "img", "iframe", "link", "object", "form", "base"}
        assert {address for address in found.addresses if not address.startswith("#")} <= set(pages)
        assert "default-src 'none'" in page
    assert "&lt;script src=https://evil.example" in pages["items-1.html"]
    assert "The source text" in pages["items-1.html"]
    assert "svg" in Tags(pages["results.html"]).tags
    sums = dict(line.split("  ")[::-1] for line in archive.files["SHA256SUMS"].decode().splitlines())
    assert sums == {
        name: hashlib.sha256(content).hexdigest() for name, content in archive.files.items() if name != "SHA256SUMS"
    }


def test_a_blind_archive_names_no_system(world):
    named = b"".join(made(world).files.values()).decode()
    assert all(name in named for name in SYSTEMS)
    archive = made(world, ArchiveChoice("CC-BY-4.0", blind=True, release=listed(world, blind=True)))
    assert not [name for name in SYSTEMS if name in b"".join(archive.files.values()).decode()]
    assert {row["system"] for row in rows(archive, "items.csv")} == {"System 1", "System 2", "System 3"}


def test_without_a_licence_no_item_text_is_there(world):
    archive = made(world, ArchiveChoice())
    everything = b"".join(archive.files.values()).decode()
    assert not [text for text in ("Answer 2 in words", "The source text") if text in everything]
    assert set(rows(archive, "items.csv")[0]) == {"item_id", "system"}
    assert not any(row["quote"] for row in rows(archive, "highlights.csv"))
    assert "The licence of the item texts was not stated" in archive.files["index.html"].decode()


def test_texts_are_released_as_they_were_read(world):
    whole = listed(world)
    lines = whole.decode("utf-8-sig").splitlines(keepends=True)
    explained = [line for line in lines[1:] if ",explanation," in line]
    assert len({row["annotator"] for row in csv.DictReader(io.StringIO("".join(lines)))}) == 1
    archive = made(world, ArchiveChoice("CC0", release="".join([lines[0], *explained]).encode()))
    assert {row["what"] for row in rows(archive, "texts.csv")} == {"explanation"}
    assert len(rows(archive, "texts.csv")) == len(explained)
    for file, refusal in (
        (whole.replace(b"Zinnober", b"Zinn"), Conflict),
        (listed(world, blind=True), Conflict),  # another list: systems have other names in it
        (b"something else", ImportRefused),
        (b"\xff\xfe", ImportRefused),
    ):
        with pytest.raises(refusal, match="list of texts"):
            made(world, ArchiveChoice("CC0", release=file))


def test_own_reasons_and_quotes_of_imports_are_texts_to_review(world):
    """They were published unread, also of people who agreed to the publication of their ratings only."""
    engine, study = world
    with patch.object(make, "figures_by_criterion", return_value={}), database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        # as an import stores what the rubric and the text do not have
        session.execute(update(Explanation).values(reasons=["rude", f"because {SECRET_WORDS}"]))
        session.execute(update(Highlight).values(start=None, end=None, quote=f"rather {SECRET_WORDS}"))
        listing, _ = texts_to_read(session, here, False)
        unread = archive_study(session, here, PLAIN, "given", "command line")
        review = ArchiveChoice("CC0", release=listing)
        reviewed = archive_study(session, here, review, "given too", "command line")
        session.rollback()

    assert SECRET_WORDS not in b"".join(unread.files.values()).decode()
    assert {row["reasons"] for row in rows(unread, "ratings.csv")} == {"", "rude"}
    texts = {(row["annotator"], row["what"], row["text"]) for row in rows(reviewed, "texts.csv")}
    assert len({annotator for annotator, *_ in texts}) == 1
    own = {("reason", f"because {SECRET_WORDS}"), ("quote", f"rather {SECRET_WORDS}")}
    assert own < {(what, text) for _, what, text in texts}


def test_an_archive_is_logged_and_named_when_somebody_leaves(world):
    engine, study = world
    archive = made(world)
    with database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        person = session.scalars(select(Person).where(Person.pseudonym == "P-lead")).one()
        lead = Who(person.id, person.pseudonym, person.role, person.name, 0)
        assert not [copy for copy in erasure.copies(session, here, lead) if "archive" in copy.name]
        erasure.erase(session, here, "P-rater", sure(lead))
    with database.writing(engine) as session:
        here = lifecycle.by_slug(session, study.slug)
        name = f"archive given {archive.sha256[:12]}"
        copy = next(copy for copy in erasure.copies(session, here, lead) if copy.name == name)
        assert copy.holds == ("P-rater",)
        erasure.delete_copies(session, here, sure(lead), [copy], with_reports=True)
        assert copy in erasure.copies(session, here, lead)  # it is elsewhere


def test_an_open_study_has_no_archive(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, *_ = make_study(session)
        with pytest.raises(NotAllowed, match="close it first"):
            archive_study(session, study, PLAIN, "given", "command line")
        with pytest.raises(NotAllowed, match="close it first"):
            texts_to_read(session, study, blind=True)


@pytest.mark.long
def test_an_archive_tells_that_one_annotator_decides(sqlite_engine):
    """The finding names that annotator, so it was left out without a word."""
    rows = ["item_id,system,annotator,criterion,value"]
    for n in range(30):
        for person, gain in (("e1", -(n % 2)), ("e2", -(n % 3 == 0)), ("e3", 2 + n % 2)):
            rows += [f"q{n},{name},{person},fluency,{3 + more}" for name, more in (("alpha", 0), ("beta", gain))]
    with database.writing(sqlite_engine) as session:
        lead = add_person(session, "lead", Role.lead)
        files = [read_ratings("\n".join(rows).encode(), "ratings.csv")]
        asked = import_ratings.asked_as_proposed("Imported", files, import_ratings.proposed(files))
        plan = lifecycle.StudyPlan(title="Elsewhere", raters_per_item=1)
        study = import_ratings.import_ratings(session, plan, assemble(files, asked), lead)
        page = archive_study(session, study, PLAIN, "given", "command line").files["results.html"].decode()
    assert "without one annotator the difference of System 2 and System 1 turns around" in page
    assert "3 findings about single annotators are left out." in page


@pytest.mark.long
def test_results_of_a_system_called_like_an_annotator_stay(sqlite_engine):
    called = {SYSTEMS[0]: "Annotator 1", SYSTEMS[1]: "Annotator 2"}
    drafts = [
        replace(
            item,
            candidates=tuple(replace(text, system=called.get(text.system, text.system)) for text in item.candidates),
        )
        for item in draft_items(2)
    ]
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=2, drafts=drafts)
        for who in people * 2:
            submit(session, study, who, full_answers())
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        lifecycle.unblind(session, study, sure(lead))
        results = rows(archive_study(session, study, PLAIN, "given", "command line"), "results.csv")

    parts = {(row["part"], row["system"], row["baseline"]) for row in results if "Annotator" in row["system"]}
    assert {("systems", name, "") for name in called.values()} <= parts
    assert ("contrasts", "Annotator 1", "Annotator 2") in parts or ("contrasts", "Annotator 2", "Annotator 1") in parts
    assert not {"annotators", "annotator pairs", "without annotator"} & {part for part, *_ in parts}


@pytest.mark.long
def test_an_archive_of_a_complete_study_stays_complete_without_leavers(sqlite_engine):
    """Their work was left out, but not their places: a look made it a study closed early, with a stricter bound."""
    with database.writing(sqlite_engine) as session:
        study, lead, people = new_study(session, items=2, annotators=3)
        for who in people * 2:
            submit(session, study, who, full_answers())
        log_look(session, study, 2, 2, lead.pseudonym)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        assert withdrawal.withdraw(session, study, people[0].pseudonym, people[0].pseudonym) == "keep"
        archive = archive_study(session, study, PLAIN, "given", "command line")

    page = archive.files["results.html"].decode()
    assert "1 person opened results in the app on 1 day before collection ended." in page
    assert not re.search(r"closed early|ended early|[Ii]nterim", page)


def test_a_study_with_an_archive_is_still_proved(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, lead, _ = make_study(session)
        lifecycle.set_state(session, study, StudyState.closed, lead.pseudonym)
        archive_study(session, study, PLAIN, "given", "command line")
        assert verify(session, study).holds


def test_consent_of_an_earlier_version_keeps_its_hash(sqlite_engine, make_study):
    with database.writing(sqlite_engine) as session:
        study, *_ = make_study(session)
        consent = settings_of(study).consent.model_copy(update={"text": "Agree?"})
        before = hashlib.sha256(b"keep\nAgree?").hexdigest()[:12]
        assert consent.version == before
        for sharing in ("nothing", "ratings", "texts"):  # a text that ends in the same word asks something else
            asked = consent.model_copy(update={"sharing": sharing})
            assert asked.version == hashlib.sha256(f"keep\nAgree?\n{sharing}".encode()).hexdigest()[:12]
            assert asked.version != consent.model_copy(update={"text": f"Agree?\n{sharing}"}).version
