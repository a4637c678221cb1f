"""The lead's pages about studies, run as Streamlit runs them: the list, one study, a new one from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.present import present
from helpers.results_pages import words
from helpers.studies import SMALL_RUBRIC, draft_items
from helpers.study_pages import ROUTER, SECRET_TEXT, button, click_again_during, labels, rendered_markdown, stored
from sqlalchemy import func, select
from streamlit.testing.v1 import AppTest

from components.shell import state
from components.study.import_preview import WAYS
from triptych.people import places
from triptych.rubric.files import shipped_rubrics
from triptych.simulate import demo
from triptych.storage import database
from triptych.storage.models import Candidate, Item, Study, System
from triptych.study import checklist, duplicate, lifecycle
from triptych.study.settings import USUAL_CHECKS, settings_of
from triptych.study.system_names import mark_of
from triptych.web.session import web_engine

NASTY = Path(__file__).parents[1] / "nasty"
GOOD = (
    f"item_id,context,cand:alpha,cand:beta,notes\n007,Why?,{SECRET_TEXT},Never mind.,n\n8,How?,So.,Thus.,n\n".encode()
)
TWICE = b"item_id,context,cand:alpha,cand:beta\n7,Why?,Because.,Never mind.\n7,How?,So.,Thus.\n"


def count(table) -> int:
    with database.reading(web_engine()) as session:
        return session.execute(select(func.count()).select_from(table)).scalar_one()


# The list


@pytest.mark.long
def test_the_list_shows_progress_and_separates_the_demo(visit, lead, make_study):
    demo.load_demo(web_engine())
    with database.writing(web_engine()) as session:
        _, lead, _ = make_study(session, items=2, title=SECRET_TEXT)

    app = visit(lead, "studies.py")

    titles = [element.value for element in app.text]
    assert titles[0] == SECRET_TEXT
    *demos, removal = titles[1:]
    assert all(title.startswith("Demo: ") for title in demos)
    assert removal.startswith("This permanently deletes the demo studies")
    assert len(demos) == len(shipped_rubrics())
    assert "0 of 6 annotations · 2 annotators · main round" in words(app)
    assert "evil" not in rendered_markdown(app)


@pytest.mark.long
def test_a_confirmed_button_removes_the_demo_studies(visit, lead):
    demo.load_demo(web_engine())
    app = visit(lead, "studies.py")
    assert "Everything that was tried out" not in words(app)

    button(app, "Remove them").click().run()

    assert stored() == []
    assert [element.value for element in app.success] == [state.plain("The demo studies were removed.")]
    assert "Remove them" not in labels(app)
    assert demo.load_demo(web_engine()) == 0


def test_a_lead_sees_no_study_of_another_lead(visit, lead, make_study):
    with database.writing(web_engine()) as session:
        study, _, _ = make_study(session, title="Somebody else's")

    assert "Somebody else's" not in words(visit(lead, "studies.py"))
    for page in ("people.py", "design.py", "preview.py"):
        app = visit(lead, page, study=study.slug)
        assert "Somebody else's" not in words(app)
        assert len(app.error) + len(app.info) == 1


@pytest.mark.parametrize("page", ["studies.py", "people.py", "new_study.py", "design.py", "preview.py"])
def test_an_annotator_reaches_none_of_these_pages(monkeypatch, make_study, page):
    with database.writing(web_engine()) as session:
        _, _, annotators = make_study(session)
    monkeypatch.setattr(state, "current_person", lambda: annotators[0])

    app = AppTest.from_file(str(ROUTER.parent / "lead" / page), default_timeout=30).run()

    assert [element.value for element in app.error] == [
        state.plain("This page is for leads. Your own pages are in the bar above.")
    ]
    assert not app.button
    assert not app.text


# One study


@pytest.fixture
def own_study(make_study):
    def make(**plan):
        with database.writing(web_engine()) as session:
            return make_study(session, items=2, annotators=2, **plan)

    return make


def test_a_study_is_paused_reopened_and_closed_by_buttons(visit, own_study):
    study, lead, _ = own_study()
    app = visit(lead, "design.py", study=study.slug)
    for label, expected in (("Pause", "paused"), ("Reopen", "open"), ("Close the study", "closed"), ("Reopen", "open")):
        if expected == "closed":
            app.checkbox(key=f"certain-close-{study.slug}-sure").check()
        button(app, label).click().run()
        assert stored()[0].state == expected
        assert not app.error


def test_an_open_study_shows_its_address_or_panel_template(visit, own_study):
    study, lead, _ = own_study()
    assert visit(lead, "people.py", study=study.slug).code[0].value.endswith(f"/?study={study.slug}")

    study, lead, _ = own_study(access="panel", title="With a panel")
    template = visit(lead, "people.py", study=study.slug).code[0].value
    assert template.endswith(f"?study={study.slug}&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}")


@pytest.mark.parametrize("proof", ["secret", "signature"])
def test_the_address_of_a_panel_carries_its_proof(visit, own_study, proof):
    study, lead, _ = own_study(access="panel", title="With a panel")
    with database.writing(web_engine()) as session:
        here = session.get_one(Study, study.id)
        here.settings = {"panel": {"proof": proof}}
        sent = places.key_of(here) if proof == "secret" else "{{%signature%}}"
    template = visit(lead, "people.py", study=study.slug).code[0].value
    assert template.endswith(f"&SESSION_ID={{{{%SESSION_ID%}}}}&proof={sent}")


@pytest.mark.long
def test_a_study_is_duplicated_as_its_next_round(visit, own_study):
    study, lead, _ = own_study()
    app = visit(lead, "design.py", study=study.slug)
    assert "Delete the draft" not in labels(app)
    app.selectbox(key=f"copy-as-{study.slug}").set_value("pilot").run()
    button(app, "Make the draft").click().run()

    made = stored()[1]
    assert (made.series, made.round, made.state, made.item_count) == (study.series, "pilot", "draft", 0)
    assert app.selectbox(key=f"study-{made.slug}").value == made.slug
    button(app, "Delete the draft").click().run()
    assert [remaining.slug for remaining in stored()] == [study.slug]
    assert [element.value for element in app.success] == [state.plain("The draft was deleted.")]


def test_a_box_with_a_choice_of_nothing_is_never_empty(visit, own_study):
    """From the second run on, Streamlit drew a cross in it that empties it."""
    study, lead, _ = own_study()
    box = visit(lead, "design.py", study=study.slug).run().selectbox(key=f"copy-as-{study.slug}")

    assert box.proto.HasField("default")


def test_a_second_click_makes_no_other_copy(visit, own_study, monkeypatch):
    study, lead, _ = own_study()
    app = visit(lead, "design.py", study=study.slug)
    click_again_during(monkeypatch, duplicate, "duplicate")
    button(app, "Make the draft").click().run()

    assert len(stored()) == 2
    assert "The draft was created." in [element.value.replace("\\", "") for element in app.success]


def test_the_title_of_a_copy_is_proposed_for_each_study(visit, own_study):
    alpha, lead, _ = own_study(title="Alpha")
    with database.writing(web_engine()) as session:
        plan = lifecycle.StudyPlan(title="Beta", seed="fixed")
        beta = lifecycle.create_study(session, plan, SMALL_RUBRIC, draft_items(1), lead.pseudonym, lead.person_id)
    app = visit(lead, "design.py", study=alpha.slug)
    app.query_params["study"] = beta.slug
    app.run()

    assert next(field for field in app.text_input if field.label == "The copy's title").value == "Beta (copy)"


# A new study


def upload(app: AppTest, name: str, data: bytes) -> AppTest:
    app.file_uploader(key="item_file").upload(name, data)
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def with_rubric(visit, lead):
    """The page after an upload of SMALL_RUBRIC, or of another text."""

    def uploaded(yaml: str = SMALL_RUBRIC):
        app = visit(lead, "new_study.py")
        app.selectbox(key="rubric").set_value("A rubric file of my own (YAML)").run()
        app.file_uploader(key="rubric_file").upload("own.yaml", yaml.encode()).run()
        assert not app.exception
        return app

    return uploaded


def test_a_file_is_previewed_then_becomes_a_study(with_rubric):
    app = upload(with_rubric(), "items.csv", GOOD)

    app.session_state["first"] = WAYS[1]
    app.run()
    text = words(app)
    assert "wide CSV: 2 items, 2 candidates each, 2 systems" in text
    assert SECRET_TEXT in [element.value for element in app.text]
    assert "evil" not in rendered_markdown(app)
    assert "1 of 5 columns will be ignored" in text
    assert "shows the system of each response. If you are going to rate in this study yourself" in text
    assert stored() == []

    app.text_input(key="title").set_value("Real items")
    app.number_input(key="raters").set_value(2)
    app.selectbox(key="access").set_value("invited")
    app.selectbox(key="round").set_value("pilot")
    button(app, "Create the study").click().run()

    study = stored()[0]
    assert (study.title, study.state, study.access, study.round) == ("Real items", "draft", "invited", "pilot")
    assert (study.raters_per_item, study.item_count, count(Candidate), count(System)) == (2, 2, 4, 2)
    settings = settings_of(study)
    assert (settings.checks, settings.mark_unit) == (USUAL_CHECKS, "words")
    assert [element.value for element in app.title] == ["Setup"]
    assert "Launch …" in labels(app)


def test_ids_of_items_are_no_markdown(with_rubric):
    """They name the buttons of the preview, and Markdown there asked for an image elsewhere."""
    app = upload(with_rubric(), "items.csv", GOOD.replace(b"\n007,", b"\n![d](http://evil.example/d.png),"))
    (choice,) = (group for group in app.button_group if group.label == "Item")

    assert choice.options[0].startswith("\\!\\[d\\]\\(")


def test_the_first_items_are_drawn_without_system_names(with_rubric):
    app = upload(with_rubric(), "items.csv", GOOD)
    (drawn,) = (element.proto.json for element in app.get("bidi_component") if "preview-0" in element.proto.json)

    assert "wide CSV" in words(app)
    assert "alpha" not in drawn and "beta" not in drawn


def test_a_system_name_ticked_as_common_word_is_kept(with_rubric):
    data = b"item_id,context,cand:plumbum,cand:beta\n1,Why?,Plumbum is heavy stuff.,It is light and soft.\n"
    app = upload(with_rubric(), "items.csv", data)
    app.checkbox(key=f"common-{mark_of('plumbum')}").check().run()
    assert not [warning for warning in app.warning if "plumbum" in warning.value]
    app.text_input(key="title").set_value("Lead")
    button(app, "Create the study").click().run()

    study = stored()[0]
    assert settings_of(study).common_names == (mark_of("plumbum"),)
    assert "plumbum" not in str(study.settings)
    with database.reading(web_engine()) as session:
        assert not [point for point in checklist.points(session, study) if "name of" in point.text]


def test_columns_of_outputs_have_roles_that_can_change(with_rubric):
    data = b"id,prompt,gpt-4o,llama-3,mistral\n0,Tides?,tides is,In short,tides!\n1,Rust?,rust is,Rust it is,rust!\n"
    app = upload(with_rubric(), "wide.csv", data)
    assert "2 items, 3 candidates each, 3 systems" in words(app)
    assert app.selectbox(key="item-role-mistral").value == "response"
    app.selectbox(key="item-role-mistral").set_value("ignore").run()
    assert not app.exception
    assert "2 items, 2 candidates each, 2 systems" in words(app)


def test_a_mapping_of_columns_is_saved_and_loaded(with_rubric):
    data = b"id,prompt,gpt-4o,llama-3,mistral\n0,Tides?,tides is,In short,tides!\n1,Rust?,rust is,Rust it is,rust!\n"
    app = upload(with_rubric(), "wide.csv", data)
    app.session_state["mapping"] = True  # opened
    app.selectbox(key="item-role-mistral").set_value("ignore").run()
    (saved,) = (code.value for code in app.code if '"roles"' in code.value)

    app = upload(with_rubric(), "wide.csv", data)
    assert "3 systems" in words(app)
    app.file_uploader(key="item-role-mapping").upload("mapping.json", saved.encode()).run()
    assert not app.exception
    assert "2 items, 2 candidates each, 2 systems" in words(app)


def test_errors_are_named_by_row_and_block_creation(with_rubric):
    app = upload(with_rubric(), "items.csv", TWICE)

    assert "Row 3" in words(app)
    assert "Create the study" not in labels(app)
    assert count(Item) == 0


def test_an_item_of_too_many_candidates_is_named(with_rubric):
    """Its preview ended in an unexpected error: there is no letter for the seventh."""
    columns = ",".join(f"cand:s{number}" for number in range(7))
    app = upload(with_rubric(), "items.csv", f"item_id,context,{columns}\n1,c{7 * ',x'}\n".encode())
    assert not app.exception
    assert "Row 2: has 7 candidates; an item has at most 6." in words(app)


def test_a_missing_title_is_refused_and_the_file_stays(with_rubric):
    app = upload(with_rubric(), "items.csv", GOOD)
    button(app, "Create the study").click().run()

    assert "title" in app.error[0].value
    assert stored() == []
    app.text_input(key="title").set_value("Now")
    button(app, "Create the study").click().run()
    assert [study.title for study in stored()] == ["Now"]


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(NASTY.iterdir()), ids=lambda path: path.name)
def test_no_hostile_file_causes_a_traceback_or_partial_study(with_rubric, path):
    app = upload(with_rubric(), path.name, path.read_bytes())

    assert stored() == []
    accepted, refused = len(app.success) == 1, len(app.error) == 1
    asked = any(label.startswith("Read it as") for label in labels(app))
    assert accepted + refused + asked == 1
    assert ("Create the study" in labels(app)) == accepted


def test_an_unreadable_file_is_refused_on_the_page(with_rubric):
    app = upload(with_rubric(), "book.xlsx", b"PK\x03\x04" + bytes(2**20))

    assert len(app.error) == 1


def test_a_rubric_with_a_mistake_says_where_it_is(with_rubric):
    app = with_rubric(SMALL_RUBRIC.replace("kind: likert", "kind: stars"))

    assert "`kind` must be one of likert, choice, number, best" in words(app)
    assert not [element for element in app.file_uploader if element.key == "item_file"]


def test_a_file_with_foreign_columns_is_mapped_linted_and_compared(with_rubric):
    rows = ["q1,Where is it?,It is over there.,Over there.", "q2,When is it open?,At <br> ten.,From ten on."]
    app = upload(
        with_rubric(), "desk.csv", "\n".join(["qid,frage,antwort,zweite", *rows, "q3,How much?,Two euros.,"]).encode()
    )

    assert app.selectbox(key="item-role-antwort").value == "response"
    assert "q1 · q2 · q3" in words(app)
    assert "row 3, q2: At <br> ten." in words(app)
    assert "Compared with the previous file" not in words(app)

    app.file_uploader(key="item_file").set_value(
        ("desk.csv", "\n".join(["qid,frage,antwort,zweite", *rows]).encode(), "text/csv")
    ).run()
    assert "q3: no longer in it." in words(app)


def test_an_unknown_speaker_is_reported(visit, lead):
    turns = '[{"speaker": "usr", "text": "Hello"}, {"speaker": "bot_9", "text": "Hi"}]'
    lines = f'{{"item_id": "1", "context": {turns}, "closing": "The last word"}}\n'
    app = visit(lead, "new_study.py")
    app.selectbox(key="rubric").set_value("esc_dialogue").run()
    upload(app, "talks.jsonl", lines.encode())
    assert any("bot" in element.value for element in app.warning)

    app.selectbox(key="append_field").set_value("closing").run()
    assert "Create the study" not in labels(app)
    app.selectbox(key="append_speaker").set_value("sys").run()

    app.text_input(key="title").set_value("Talks")
    button(app, "Create the study").click().run()
    with database.reading(web_engine()) as session:
        candidate = session.scalars(select(Candidate).join(Item).where(Item.purpose == "main")).one()
    assert present(candidate.turns)[-1] == ["sys", "The last word"]


def test_a_workbook_with_several_sheets_offers_them(with_rubric):
    app = upload(with_rubric(), "book.xlsx", (NASTY / "many_sheets_hidden.xlsx").read_bytes())

    sheets = app.selectbox(key="sheet").options
    assert len(sheets) > 1
    app.selectbox(key="sheet").set_value(sheets[-1]).run()
    assert not app.exception


def test_files_per_system_are_joined(with_rubric):
    app = with_rubric()
    app.segmented_control(key="item_file-way").set_value("One file per system").run()
    first, other = b"item_id,context,text\n1,Why?,Because of it.\n", b"item_id,text\n1,Never you mind.\n"
    app.file_uploader(key="item_file-several").set_value(
        [("a.csv", first, "text/csv"), ("b_*2*.csv", other, "text/csv")]
    )
    app.run()
    assert "System of b_*2*.csv" in words(app)
    # what a screen reader reads out is the label's source
    assert app.text_input(key="item_file-system-1").label == "System of b 2 .csv"
    app.text_input(key="item_file-system-1").set_value("beta").run()
    app.text_input(key="title").set_value("Joined")
    button(app, "Create the study").click().run()

    with database.reading(web_engine()) as session:
        assert sorted(session.scalars(select(System.name))) == ["a", "beta"]
