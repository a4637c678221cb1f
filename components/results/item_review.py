"""Reading one item with all its annotations, and choosing its final values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from components.results.marked import marked_item
from components.shell.choices import choose, choose_for_act
from components.shell.state import form_button, key_of, numbered, plain, recall, say, unread_clicks
from components.shell.words import NONE, moment, percent, read_aloud
from triptych.annotate.comments import LONGEST_COMMENT, Thread
from triptych.results.adjudication import FinalAgreement, FinalValue, Values
from triptych.results.item_review import UNSCORED, ExplainedRating, FinalQuestion, GivenValue, Look, ReviewLine
from triptych.rubric.scales import Best, Choice, Likert, NumberScale, Scale, as_typed
from triptych.stats.numbers import counted

MAX_LINES = 2000
KINDS = {
    "with a note": lambda line: line.notes,
    "skipped or ignored": lambda line: line.skipped or line.ignored,
    "with an answered comment": lambda line: line.comments == "answered",
    "with a final value": lambda line: line.final,
    "without a final value": lambda line: not line.final,
    "taken out": lambda line: line.retired,
}
OPEN, DECIDED, EVERY = "open", "decided", "all"
ORDERS = {
    "Most disagreement": lambda line: UNSCORED if line.score is None else line.score,
    "Most notes and refusals": lambda line: line.notes + line.skipped + line.ignored,
}
MAX_LISTED_STEPS = 21
NOTHING_LEFT = "Nothing is left to decide. *All* lists every item."
QUEUE_HEIGHT = 420  # pixels
MAX_FITTED_LINES = 10  # up to which Streamlit fits the height of a table to its lines
# a number at the right edge of a column would be hidden, since the list is narrower than its columns
QUEUE_COLUMNS = {"Annotations": st.column_config.NumberColumn(alignment="left")}
LONGEST_CODE = 10  # digits; Python refuses to convert thousands of them
MARK = ("by", "of", "about")  # query parameters of the rating to point out: annotator, blind code, criterion
COMMENT_HINT = (
    "Only they can read it, under *My work* and at the item. There the item has another number and the responses "
    "another order, so quote the text you mean. Do not write what others answered. Comments are in the log and in no "
    "result; if ratings change after one, the results say so."
)
WHY_HELP = "If you leave this empty, the reason in grey is stored."
NOBODY_CHOSEN = "Choose an annotator first. Someone who can no longer be asked is not in the list."


class PointedRating(NamedTuple):
    """The rating that was clicked in the list of ratings."""

    annotator: str
    code: int
    criterion: str


def mark_in_address() -> PointedRating | None:
    """The rating named by the address."""
    annotator, code, criterion = (st.query_params.get(name, "") for name in MARK)
    return PointedRating(annotator, int(code), criterion) if code.isdecimal() and len(code) <= LONGEST_CODE else None


def _is_decided(line: ReviewLine) -> bool:
    return line.final == "recorded"


VIEWS = {OPEN: lambda line: line.is_open, DECIDED: _is_decided, EVERY: lambda line: True}


def choose_item(lines: Sequence[ReviewLine], asked: str, slug: str) -> tuple[str, list[str]] | None:
    """The item to read (the one in the address, or the first) and the ids of the queue; None without any item."""
    count = sum(line.is_open for line in lines)
    views = {OPEN: f"To decide {count}", DECIDED: f"Decided {sum(map(_is_decided, lines))}", EVERY: f"All {len(lines)}"}
    part = st.segmented_control(
        "Which items",
        list(views),
        default=OPEN if count else EVERY,
        format_func=views.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=f"view-{slug}",
    )
    with st.popover("Search and order", width="stretch"):
        text = st.text_input("Item id contains", key=f"find-{slug}")
        kinds = st.multiselect("Only items", list(KINDS), placeholder="All", key=f"only-{slug}")
        first = st.radio("First", list(ORDERS), key=f"order-{slug}")
    queue = [
        line
        for line in lines
        if VIEWS[part](line) and text.lower() in line.item.lower() and all(KINDS[kind](line) for kind in kinds)
    ]
    queue.sort(key=ORDERS[first], reverse=True)
    items = [line.item for line in queue]
    at_hand = asked if asked in {line.item for line in lines} else next(iter(items), None)
    if at_hand is None:
        st.info(NOTHING_LEFT if part == OPEN else "No item passes these filters. Clear one of them to see more.")
        return None
    _draw_queue(queue[:MAX_LINES], at_hand, slug)
    cut = f" The first {MAX_LINES:,} are listed." if len(queue) > MAX_LINES else ""
    st.caption(
        f"{len(queue)} of {counted(len(lines), 'item')}. Distance: of two annotators on average, as a share of the "
        f"scale.{cut} Final values are stored next to the ratings; results and reports show both."
    )
    return at_hand, items


def _draw_queue(queue: Sequence[ReviewLine], at_hand: str, slug: str) -> None:
    items = [line.item for line in queue]
    chosen = [items.index(at_hand)] if at_hand in items else []
    key = f"queue-{slug}-{at_hand}"  # with the item, so that its row is selected
    st.dataframe(
        _lines(queue),
        hide_index=True,
        height="auto" if len(queue) <= MAX_FITTED_LINES else QUEUE_HEIGHT,
        key=key,
        column_config=QUEUE_COLUMNS,
        on_select=lambda: _open_line(items, key, at_hand),
        selection_mode="single-row",
        selection_default={"selection": {"rows": chosen}},
    )


def _open_line(items: Sequence[str], key: str, at_hand: str) -> None:
    """Open the selected row. The browser also reports the row that was selected from the start."""
    rows = recall(key).selection.rows
    if rows and rows[0] < len(items) and items[rows[0]] != at_hand:
        turn_to_item(items[rows[0]])


def turn_to_item(item: str) -> None:
    """Set the item in the page's address, and remove the rating."""
    st.query_params["look"] = item
    for name in MARK:
        st.query_params.pop(name, None)


def neighbours(items: Sequence[str], item: str) -> tuple[str | None, str | None]:
    """The previous and next item of the queue; for an item outside the queue, None and the first one."""
    if item not in items:
        return None, next(iter(items), None)
    at = items.index(item)
    return items[at - 1] if at else None, items[at + 1] if at + 1 < len(items) else None


def walk(item: str, items: Sequence[str]) -> None:
    """Buttons and keys for the previous and the next item, and the position in the queue."""
    before, after = neighbours(items, item)
    place = f"{items.index(item) + 1} of {len(items)}" if item in items else "not in this list"
    with st.container(horizontal=True, vertical_alignment="center", key="walk"):
        st.header(plain(item), anchor=False, width="content")
        st.text(place, width="content")
        for label, key, goal in (("Previous", "K", before), ("Next", "J", after)):
            st.button(label, shortcut=key, disabled=goal is None, on_click=turn_to_item, args=(goal or item,))


def _lines(lines: Sequence[ReviewLine]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "Item": line.item,
                "Distance": NONE if line.score is None else percent(line.score),
                "Annotations": line.rated,
                "Notes": line.notes,
                "Skipped": line.skipped,
                "Ignored": line.ignored,
                "Final value": line.final,
                "Comments": line.comments,
                "Taken out": line.retired or "",
            }
            for line in lines
        ]
    )


def draw_look(look: Look, slug: str) -> None:
    """The item's texts, with highlights."""
    if look.retired:
        st.warning(plain(f"This item was taken out of the study: {look.retired}."))
    marked_item(look.texts, key=f"look-{slug}-{look.texts.external_id}")
    if look.texts.unaligned:
        st.caption(f"{look.texts.unaligned} imported quotes are not in the text and are not shown.")


def draw_answers(look: Look, slug: str) -> None:
    """Everyone's answers and explanations, next to the final values."""
    st.markdown("**Ratings**")
    if look.ratings.empty:
        st.text("Nobody has rated this item yet.")
    else:
        st.dataframe(look.ratings, hide_index=True, key=f"ratings-{slug}")
    _table(
        "What they say",
        "Nobody explained a rating of this item.",
        [explained_row(explanation) for explanation in look.explained],
    )
    remarks = [{"Annotator": remark.annotator, "About": remark.what, "Text": remark.text} for remark in look.remarks]
    _table("Notes and reasons", "Nobody skipped or ignored this item, or left a note.", remarks)


def explained_row(explanation: ExplainedRating) -> dict[str, str]:
    """An annotator's explanation of a rating as a row of a table."""
    return {
        "Annotator": explanation.annotator,
        "Response": explanation.system,
        "Criterion": explanation.criterion,
        "Value": explanation.value,
        "Reasons": " · ".join(explanation.reasons),
        "Explanation": explanation.text,
    }


def _table(title: str, nothing: str, rows: list[dict[str, str]]) -> None:
    st.markdown(f"**{title}**")
    if rows:
        wide = {name: st.column_config.TextColumn(width="large") for name in ("Explanation", "Text", "Reasons")}
        st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=wide)
    else:
        st.text(nothing)


def final_state(final: FinalValue) -> None:
    """Who decided, when and why; or who was asked to."""
    if final.waiting:
        st.text(
            f"{final.by} was asked and has not answered yet. They get it after their current item, and their "
            "answers become the final values."
        )
    else:
        st.text(f"Decided by {final.by}, {moment(final.at)}. {final.reason}")


def ask_somebody(people: Sequence[str], flagged: Sequence[str], name: str) -> str | None:
    """Choose an annotator to ask; None until then. `flagged` lists people who are not offered, and is shown."""
    if not people:
        st.caption("Everyone who could be asked has seen this item or is flagged.")
        return None
    with st.form(f"ask-{name}", border=False, width=420):
        names = {each: each for each in people}
        chosen = choose_for_act("Let another annotator decide", names, f"asked-{name}")
        asked = form_button("Assign as their next item", f"ask-{name}")
    left_out = f" Not listed because they are flagged: {', '.join(flagged)}." if flagged else ""
    st.caption(
        f"They have not seen this item and see no other values; their answers become the final values.{left_out}"
    )
    if asked and chosen is None:
        say(NOBODY_CHOSEN)
    return chosen if asked else None


def take_back(look: Look, slug: str) -> str | None:
    """The reason for revoking the final values; None until the lead sends it. Its key is as in `final_form`."""
    place = f"back-{slug}-{look.texts.external_id}"
    with st.popover("Take it back"), st.form(place, border=False):
        why = st.text_input("Why", key=f"{place}-why")
        return why if form_button("Take it back", key_of(place, _basis(look))) else None


def final_form(look: Look, mark: PointedRating | None, slug: str) -> tuple[Values, str] | None:
    """The lead's values and reason; None until they submit. Annotations are not changed.

    The majority's values are filled in; without a majority the lead must choose. `mark`: a rating to point out.

    The keys of its button and values name what it was drawn from, so that no click on an older form accepts what is
    shown now. The lead's own reason stays.
    """
    place = f"final-{slug}-{look.texts.external_id}"
    name = key_of(place, _basis(look))
    disputed = sum(question.is_disputed for question in look.questions)
    chosen: dict[tuple[int, str], float | str | None] = {}
    with st.form(place, border=True):
        for criterion, asked in groupby(look.questions, lambda question: question.criterion):
            st.markdown(f"**{plain(criterion.title)}**")
            places = list(asked)
            for column, question in zip(st.columns(max(len(places), 3)), places, strict=False):
                with column:
                    chosen[question.code, criterion.key] = _decide(question, look.final, mark, name)
        st.caption(_hint(look.questions))
        usual = look.final.reason if look.final else _why(disputed)
        reason = st.text_input("Why", key=f"{place}-why", placeholder=usual, help=WHY_HELP) or usual
        is_partial = bool(disputed) and st.checkbox("Leave the empty ones without a final value", key=f"{name}-part")
        count = len(look.questions)
        label = f"Accept all {count}" if count > 1 else "Accept"
        sent = form_button(label, name, queue=f"final-{slug}", type="primary", shortcut="Ctrl+Enter")
    if not sent:
        return None
    values: Values = {place: value for place, value in chosen.items() if value is not None}
    left = [q for q in look.questions if q.is_disputed and (q.code, q.criterion.key) not in values]
    if left and not is_partial:
        names = ", ".join(f"{question.criterion.title} of {question.about}" for question in left)
        say(f"Annotators disagree here, so choose a value first: {names}.")
        return None
    return values, reason


def _basis(look: Look) -> list[str]:
    """The answers and the final values, as text; without system codes, which a reader of their hash could try out."""
    final = look.final
    answers = [
        (question.about, question.criterion.key, question.values, final and final.values.get(place))
        for question in look.questions
        for place in [(question.code, question.criterion.key)]
    ]
    return [repr(answers), repr(final and (final.by, final.at, final.reason, final.waiting))]


def unsent_form(slug: str, finals: Mapping[str, FinalValue]) -> None:
    """After the page was drawn: say that a form was not stored, because what it was drawn from has changed."""
    for begins, done in ((f"final-{slug}-", "stored"), (f"back-{slug}-", "taken back")):
        for name in unread_clicks(begins):
            place = name.rpartition("-")[0]
            item, reason = place.removeprefix(begins), recall(f"{place}-why")
            final = finals.get(item)
            now = f" They are {final.by}'s now." if final and not final.waiting else ""
            why = f" Your reason was: {reason}" if reason else ""
            say(
                f"The final values of {item} were not {done}: someone changed an answer or a final value after your "
                f"page showed them.{now} Look at the item again.{why}"
            )


def _hint(questions: Sequence[FinalQuestion]) -> str:
    disputed = sum(question.is_disputed for question in questions)
    filled = sum(question.majority is not None for question in questions)
    missing = f" To choose: {disputed}." if disputed else ""
    return (
        f"Filled in: {counted(filled, 'value')} with a majority.{missing} In bold: far from the median or the "
        "majority. Ratings stay as they are; results show both."
    )


def _why(disputed: int) -> str:
    return "As most annotators; where none, chosen by reading" if disputed else "As most annotators"


def _decide(
    question: FinalQuestion, final: FinalValue | None, mark: PointedRating | None, name: str
) -> float | str | None:
    """The annotators' answers to one question, and its final value; None while it is empty."""
    given = " · ".join(_given_value(question, value, mark) for value in question.values) or "no rating"
    st.markdown(f"{plain(question.about)}: {given}")
    place = question.code, question.criterion.key
    before = final.values.get(place) if final and not final.waiting else question.majority
    # the browser receives the key, in which a system code would reveal the systems of all items
    return _ask(question, before, f"{name}-{question.about}-{question.criterion.key}")


def _given_value(question: FinalQuestion, value: GivenValue, mark: PointedRating | None) -> str:
    text = f"**{plain(value.text)}**" if value.is_far else plain(value.text)
    is_marked = mark == PointedRating(value.annotator, question.code, question.criterion.key)
    return f"{'▶ ' if is_marked else ''}{text} ({plain(value.annotator)})"


def _ask(question: FinalQuestion, before: Any, key: str) -> float | str | None:
    """A control for one value of the criterion's scale; None while it is empty."""
    label = f"{question.criterion.title}: {question.about}"
    named: Any = {"label": read_aloud(label), "label_visibility": "collapsed", "key": key}
    nothing = NONE
    if question.is_disputed:
        nothing = "choose" if question.median is None else f"choose, median {as_typed(question.median)}"
    scale = question.criterion.scale
    if isinstance(scale, NumberScale) and scale.steps > MAX_LISTED_STEPS:
        step = float(scale.step)  # a rubric that states none has the whole number 1, which the box refuses
        more: Any = {"min_value": scale.low, "max_value": scale.high, "step": step, "placeholder": nothing}
        return st.number_input(value=before, **more, **named)
    return choose(names={None: nothing} | _options(scale), current=before, **named)


def _options(scale: Scale) -> dict[float | str | None, str]:
    """Value → name, for each value of the scale."""
    if isinstance(scale, Choice):
        return {option.key: option.title for option in scale.options}
    if isinstance(scale, Likert):
        return {point.value: f"{as_typed(point.value)} {point.title or ''}".strip() for point in scale.points}
    if isinstance(scale, Best):
        return {1.0: "best, or one of the best", 0.0: "not best"}
    return {value: as_typed(value) for value in scale.values}


def agreement_with_final(shares: Sequence[FinalAgreement]) -> None:
    """How often each annotator's ratings equal the final values; not a judgement of anyone on its own."""
    if not shares:
        return
    with st.expander("Ratings that equal the final value", key="equal-final"):
        rows = [
            {
                "Annotator": agreement.annotator,
                "Equal": agreement.same,
                "Of": agreement.of,
                "Share": percent(agreement.same / agreement.of),
            }
            for agreement in shares
        ]
        st.dataframe(pd.DataFrame(rows, columns=["Annotator", "Equal", "Of", "Share"]), hide_index=True)
        st.caption("A low share is a reason to read, not to exclude: items get final values where opinions differ.")


def comments(threads: Sequence[Thread], askable: Sequence[str], form: str) -> tuple[str, str] | None:
    """Draw the threads and a form; returns annotator and text once the lead sends a question. `form`: its name."""
    st.markdown("**Comments**")
    for thread in threads:
        with st.container(border=True):
            state = "waits for an answer" if thread.is_waiting else "answered"
            st.caption(f"With {thread.annotator} · {state}")
            for comment in thread.comments:
                st.caption(plain(f"{comment.author} · {moment(comment.at)}"))
                st.text(comment.text)  # apart, so that no line of it looks like another comment
    if not askable:
        st.text("There is nobody who rated this item and can be asked about it.")
        return None
    key = numbered(form)
    with st.popover("Ask an annotator about this item"):
        with st.form(key, border=False):
            annotator = choose_for_act("Annotator", {each: each for each in askable}, f"{key}-who")
            text = st.text_area("Comment", max_chars=LONGEST_COMMENT, key=f"{key}-text")
            st.caption(COMMENT_HINT)
            sent = form_button("Send", key)
        if sent and annotator is None:
            say(NOBODY_CHOSEN)
    return (annotator, text) if sent and annotator else None
