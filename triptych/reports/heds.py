"""The datasheet of a study, HEDS 3.0: known answers are filled in, and the lead answers the rest once.

heds.json is the file that the official form uploads. Uploading clears the form first, so every control of it is in the
file, answered or not: a text box holds a string, every option a boolean under an id that ends in its number; controls
of the part about criteria hold one value per criterion, the others one under the empty name.
"""

from __future__ import annotations

from collections.abc import Iterator

from triptych.reports.documents import code_span
from triptych.reports.facts import Facts
from triptych.reports.methods_text import comparison_test, responses_shown
from triptych.reports.numbers import Book
from triptych.results.pay import rate_of
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.model import Criterion
from triptych.rubric.scales import Best, Choice, Likert, NumberScale, as_typed, shown
from triptych.stats.diagnostics import FlaggedRate
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined
from triptych.storage.models import JsonObject, Origin
from triptych.study.heds_answers import Answer, Sheet, in_words, stored
from triptych.study.heds_questions import ABOUT_CRITERIA, FORM, LANGUAGES, QUESTIONS, SECTIONS, SheetQuestion

AUTHORS = ("1.3.1.1", "1.3.2.1")
ELSEWHERE = ("3.1.2", "3.2.4", "3.3.2", "3.3.4.1", "3.3.4.2", "3.3.5")  # unknown for an import
ASKED_ELSEWHERE, HOW_PRESENTED = ("4.3.2", "4.3.7"), "4.3.5"  # its rubric may be made of the file's columns
UNKNOWN = "Unknown: the ratings were made elsewhere and imported."
LOOKED_AT = {
    "correlation": "agreement with the others",
    "severity": "severity",
    "drift": "drift",
    "all equal": "equal ratings",
}


def full_sheet(facts: Facts, analysis: StudyAnalysis, book: Book, seal: str) -> Sheet:
    """Known answers, overridden by the lead's. seal: names the snapshot."""
    sheet = dict(_of_study(facts, analysis, book, seal))
    for result in analysis.criteria:
        key = result.criterion.key
        sheet |= {(number, key): answer for number, answer in _of_criterion(result.criterion, book)}
        sheet |= {(number, key): _made_here(facts, sheet[number, key]) for number in ASKED_ELSEWHERE}
        if facts.elsewhere or facts.partly_elsewhere:
            sheet[HOW_PRESENTED, key] = Answer()
    return sheet | {place: answer for place, answer in stored(facts.settings.heds).items() if answer}


def authors(sheet: Sheet) -> list[str]:
    """Names of the people that the datasheet lists as contacts."""
    names = (sheet.get((number, ""), Answer()).text for number in AUTHORS)
    return list(dict.fromkeys(name for name in names if name))


def _of_study(facts: Facts, analysis: StudyAnalysis, book: Book, seal: str) -> Iterator[tuple[tuple[str, str], Answer]]:
    rubric = facts.rubric
    per_system = "; ".join(f"{name}: {count}" for name, count in facts.outputs.items())
    language = rubric.language.partition("-")[0] if facts.has_texts and not facts.elsewhere else ""
    also = "; also workbooks" if Origin.workbook in facts.counted_origins else ""
    place = list(LANGUAGES).index(language) + 2 if language in LANGUAGES else None
    answers = {
        "2.2": Answer((8,) if rubric.judged == "conversation" else ()),
        "2.4": Answer((place,) if place else ()),
        "2.5": Answer((place,) if place else ()),
        "3.1.1": Answer(text=f"{counted(analysis.n_items or facts.items, 'item')}. Outputs per system: {per_system}."),
        "3.1.2": Answer((6,), _selected(facts, analysis)),
        "3.2.1": Answer(text=f"{book['study', '', 'annotators'].printed} ({' and '.join(analysis.kinds)})."),
        "3.2.2.2": _paid(facts),
        "3.2.3": Answer(text=facts.settings.recruitment.how),
        "3.2.4": Answer(text=_training(facts)),
        "3.2.5": Answer(text=_eligible(facts)),
        "3.3.2": Answer(text=f"A web page (Triptych), one item at a time{also}."),
        "3.3.3.1": Answer(_quality(facts, book)),
        "3.3.3.2": Answer(text=_quality_words(facts, book)),
        "3.3.4.1": Answer(text=f"codebook.json of the report contains the full text of the form. {seal}"),
        "3.3.4.2": Answer(text=_shown(facts, analysis)),
        "3.3.5": Answer((5,), _no_limit(facts)),
    }
    if facts.settings.ethics.approval:
        answers["5.1"] = Answer(text=facts.settings.ethics.approval)
    answers |= {number: _made_here(facts, answers[number]) for number in ELSEWHERE}
    return (((number, ""), answer) for number, answer in answers.items() if answer)


def _made_here(facts: Facts, answer: Answer) -> Answer:
    """An answer that is known for annotations made here only."""
    if facts.elsewhere:
        return Answer(text=UNKNOWN)
    if facts.partly_elsewhere:
        others = "which were made elsewhere and imported. For the others"
        return Answer(text=f"Unknown for {facts.partly_elsewhere}, {others}: {answer.text}")
    return answer


def _selected(facts: Facts, analysis: StudyAnalysis) -> str:
    """How the items were selected; ratings of items retired later still count."""
    taken_out = len(analysis.frame.meta) - facts.items
    used = f"{counted(taken_out, 'item')} taken out later" if taken_out else "all that were uploaded are used"
    return f"The items were selected before they were uploaded; {used}."


def _no_limit(facts: Facts) -> str:
    minutes = counted(facts.settings.reservation_minutes, "minute")
    return f"No time limit; an item that is left for {minutes} may go to another evaluator."


def _paid(facts: Facts) -> Answer:
    """Whether evaluators are paid, if the study has that information."""
    if isinstance(facts.pay, Undefined):
        return Answer()
    return Answer((1,) if facts.pay.pay.per_item else (3,), f"{rate_of(facts.pay.pay)}{facts.paid_before}.")


def _eligible(facts: Facts) -> str:
    """The eligibility rules for evaluators."""
    rules = facts.settings.recruitment.eligibility
    return f"Eligibility, as the panel enforced it: {'; '.join(rules)}." if rules else ""


def _training(facts: Facts) -> str:
    rubric, before, parts = facts.rubric, facts.before_work, []
    if rubric.guidelines:
        parts.append(f"Guidelines in {counted(len(rubric.guidelines), 'section')}.")
    if rubric.training:
        items = counted(len(rubric.training), "training item")
        parts.append(f"{items}, answered with feedback by {before.who(before.trained)}.")
    if before.tested:
        parts.append(before.tested)
    return " ".join(parts) or "The instructions above the items; no training."


def _quality(facts: Facts, book: Book) -> tuple[int, ...]:
    """Options of question 3.3.3.1. Exclusions are *Other*: a lead decides them, no check."""
    automatic_checks, other = 2, 6
    options = []
    if any(book.defined("annotators", name) for name in LOOKED_AT):
        options.append(automatic_checks)
    if any(exclusion.what == "annotator" for exclusion in facts.exclusions):
        options.append(other)
    return tuple(options)


def _quality_words(facts: Facts, book: Book) -> str:
    """Quality control of evaluators: diagnostics, results of checks, exclusions, and findings for readers."""
    computed = [words for name, words in LOOKED_AT.items() if book.defined("annotators", name)]
    looked_at = [f"Computed for evaluators: {', '.join(computed)}"] if computed else []
    known = [finding.sentence.rstrip(".") for finding in facts.caveats]
    out = [f"{exclusion.what} {exclusion.which}: {exclusion.reason}" for exclusion in facts.exclusions]
    words = "; ".join([*looked_at, *_checks(facts, book), *out, *known])
    return f"{words.removesuffix('.')}." if words else ""


def _checks(facts: Facts, book: Book) -> Iterator[str]:
    """Attention, gold and repeated items, if evaluators had any."""
    attention, failed = (
        sum(getattr(standing, of) for standing in facts.standings) for of in ("attention", "attention_failed")
    )
    if attention:
        yield f"attention items hidden among the others: {attention} given, {failed} of them not answered as instructed"
    gold = [standing.gold.rate for standing in facts.standings if isinstance(standing.gold, FlaggedRate)]
    if gold:
        hits, shown_count = sum(rate.hits for rate in gold), sum(rate.n for rate in gold)
        yield f"gold items hidden among the others: {shown_count} given, {hits} of them answered as agreed beforehand"
    if any(number.part == "repeats" for number in book.numbers):
        yield "items given a second time among the others: see 4.3.12"


def _shown(facts: Facts, analysis: StudyAnalysis) -> str:
    rubric = facts.rubric
    parts = [rubric.context.title, *rubric.context.extra_texts, *rubric.context.show]
    shown = f"Instructions and guidelines; per item {', '.join(parts)} and responses."
    return " ".join([shown, *responses_shown(facts, analysis)])


def _of_criterion(criterion: Criterion, book: Book) -> Iterator[tuple[str, Answer]]:
    scale, key = criterion.scale, criterion.key
    alpha, percent = (book["agreement", key, name] for name in ("alpha", "percent"))
    yield "4.2.2", Answer((2,) if isinstance(scale, Best) else (1,))
    yield "4.3.1.1", Answer(text=criterion.title)
    yield "4.3.2", Answer(text=criterion.definition)
    size, values = _scale(criterion)
    yield "4.3.3", Answer(text=size)
    yield "4.3.4", Answer(text=values)
    yield "4.3.5", Answer((_presented(criterion),))
    yield "4.3.6", Answer(text="N/A")
    yield "4.3.7", Answer(text=criterion.question or criterion.title)
    yield "4.3.8", Answer((_form(criterion),))
    yield "4.3.9", Answer(text=_aggregation(criterion))
    yield "4.3.10", Answer(text=_effect(book, key))
    measured = alpha.value is not None
    how = f"Krippendorff's alpha ({scale.level}) and percent agreement, over all evaluators."
    score = f"alpha: {alpha.printed}; percent agreement: {percent.printed}"
    yield "4.3.11.1", Answer(text=how if measured else f"None. {alpha.printed}")
    yield "4.3.11.2", Answer(text=score if measured else "N/A")
    yield from _with_self(criterion, book)


def _with_self(criterion: Criterion, book: Book) -> Iterator[tuple[str, Answer]]:
    """Agreement of evaluators with themselves on items that they unknowingly rated twice."""
    units = book.get("repeats", criterion.key, "units")
    if units is None or not units.value:
        yield "4.3.12.1", Answer(text="Not measured.")
        yield "4.3.12.2", Answer(text="N/A")
        return
    how = (
        f"Krippendorff's alpha ({criterion.scale.level}) and percent agreement of the two ratings that one evaluator "
        "gave, over items given a second time among the others."
    )
    alpha, percent = (book["repeats", criterion.key, name].printed for name in ("alpha", "percent"))
    yield "4.3.12.1", Answer(text=how)
    yield "4.3.12.2", Answer(text=f"alpha: {alpha}; percent agreement: {percent}; rated twice: {units.printed}")


def _effect(book: Book, criterion: str) -> str:
    """How systems were compared on this criterion."""
    if not book.defined("contrasts", "difference", criterion):
        reasons = " ".join(book.reasons("contrasts", "difference", criterion))
        return f"None. {reasons or 'Systems are not compared.'}"
    how = "Difference of systems by least squares with effects of items, evaluators and systems"
    return how + comparison_test(book, criterion)


def _scale(criterion: Criterion) -> tuple[str, str]:
    """Size, and values with their names."""
    match criterion.scale:
        case Likert(points=points):
            named = (as_typed(point.value) + (f": {point.title}" if point.title else "") for point in points)
            return str(len(points)), "; ".join(named)
        case Choice(options=options):
            return str(len(options)), "; ".join(option.title for option in options)
        case NumberScale(low=low, high=high, step=step, steps=steps):
            return str(steps + 1), f"{shown([low])} to {shown([high])} in steps of {shown([step])}"
    return "N/A", "the responses of the item; ties allowed"


def _presented(criterion: Criterion) -> int:
    scale = criterion.scale
    if isinstance(scale, NumberScale):
        return 3 if scale.is_slider else 1
    return 2 if isinstance(scale, Best) else 1


def _form(criterion: Criterion) -> int:
    """Option of question 4.3.8: agreement with a statement, direct or relative estimation, classification."""
    match criterion.scale:
        case Choice():
            return 7
        case Best():
            return 3
        case Likert(points=points) if any("agree" in point.title.lower() for point in points):
            return 1
    return 2


def _aggregation(criterion: Criterion) -> str:
    if criterion.scale.kind in ("choice", "best"):
        return "Shares of the answers per system; answers marked missing are left out and counted apart."
    return "Arithmetic mean of the ratings per system."


def heds_json(sheet: Sheet, criteria: list[Criterion]) -> JsonObject:
    """The whole file, as the form accepts it."""
    names = criterion_names(criteria)
    tabs = {name: place == 0 for place, name in enumerate(names.values())}
    fields: dict[str, object] = {"heds-criteria-criterion": {"data": {}, "control": tabs, "text": {}}}
    for question in QUESTIONS:
        places = names if question.per_criterion else {"": ""}
        answers = {name: sheet.get((question.number, key), Answer()) for key, name in places.items()}
        texts = {name: answer.text for name, answer in answers.items()}
        if question.kind == "text":
            fields[f"heds-{question.id}"] = _box(texts, question.number)
            continue
        for number, words in enumerate(question.options, 1):
            is_chosen = {name: number in answer.chosen for name, answer in answers.items()}
            fields[f"heds-{question.id}-{number}"] = {
                "data": is_chosen,
                "control": {},
                "text": {name: f"{number}. {words}" if chosen else "" for name, chosen in is_chosen.items()},
                "number": question.number,
            }
        fields[f"heds-{question.id}-other_text"] = _box(texts)
    return fields


def _box(texts: dict[str, str], number: str = "") -> dict[str, object]:
    return {"data": texts, "control": {}, **({"number": number} if number else {})}


def criterion_names(criteria: list[Criterion]) -> dict[str, str]:
    """Key → name of the criterion's tab: its title, with the key where two have the same."""
    titles = [criterion.title for criterion in criteria]
    return {c.key: c.title if titles.count(c.title) == 1 else f"{c.title} ({c.key})" for c in criteria}


def heds_markdown(sheet: Sheet, criteria: list[Criterion], head: str) -> str:
    """The datasheet as Markdown. Answers are in code spans, so that no text is markup."""
    lines = [f"# Human evaluation datasheet (HEDS 3.0)\n\n{head}\n\nThe form with its explanations: {FORM}"]
    for section, title in SECTIONS.items():
        questions = [q for q in QUESTIONS if q.number.startswith(f"{section}.")]
        lines.append(f"## {section} {title}")
        for name, key in _parts(section, criteria):
            lines += [f"### {code_span(name)}"] if name else []
            lines.append("\n".join(_line(sheet, question, key) for question in questions))

    return "\n\n".join(lines) + "\n"


def _parts(section: str, criteria: list[Criterion]) -> list[tuple[str, str]]:
    """(heading, key) of the parts of a section."""
    return [(name, key) for key, name in criterion_names(criteria).items()] if section == ABOUT_CRITERIA else [("", "")]


def _line(sheet: Sheet, question: SheetQuestion, key: str) -> str:
    answer = sheet.get((question.number, key), Answer())
    return f"- {question.number} {question.words}: {in_words(question, answer, code_span)}"
