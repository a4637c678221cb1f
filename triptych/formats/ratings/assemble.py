"""Combines files of ratings, a rubric and optionally items into the annotations to import, and collects all problems.

Pure: no database, no screen. If any problem is an error, nothing is imported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn, TypeVar

from triptych.errors import InvalidAnnotation
from triptych.formats.layout import ITEM_GROUP
from triptych.formats.model import (
    MAX_CANDIDATES,
    MAX_GROUPS,
    MAX_REASONS,
    MAX_SYSTEMS,
    CandidateDraft,
    Findings,
    ItemDraft,
    ItemFile,
    Problem,
)
from triptych.formats.names import Lookalikes, fault_of
from triptych.formats.ratings.controls import EXPLAINING, REASONS
from triptych.formats.ratings.model import (
    UNKNOWN_SYSTEM,
    Content,
    FinishedRatings,
    ImportedHighlight,
    ImportedNote,
    ImportedRating,
    RaterKind,
)
from triptych.formats.ratings.proposal import DECIMALS, REASONED_MISSING, judge_of, means_missing, number_in
from triptych.formats.ratings.roles import Duplicates
from triptych.formats.ratings.spans import Placing
from triptych.formats.writers.model import FinishedHighlight, FinishedRating
from triptych.rubric.model import Criterion, HighlightLabel, Rubric
from triptych.rubric.scales import KEY, Choice, NumberScale

Row = TypeVar("Row", ImportedRating, ImportedHighlight, ImportedNote)
About = tuple[str, str | None]  # item, system (None: the context)
Place = tuple[str, str, str, str, str | None, str]  # kind, annotator, item, repeat, system, criterion
StoredValue = tuple[float | None, str | None, bool]  # number, option, missing
POSITION = re.compile(r"#(\d{1,3})")  # a system identified by its place among an item's candidates
PLURAL = re.compile(r"s\b")
REPEATED = "{n} rating(s) repeat an earlier one by the same annotator; they count as repeats."
LEFT_OUT = {
    "first": "{n} rating(s) are left out: an earlier one by the same annotator counts.",
    "last": "{n} rating(s) are left out: a later one by the same annotator counts.",
}
UNRATED = "{n} item(s) of the file have no rating."
NO_TIME = "{n} annotation(s) have no time; they get the time of the import."
SAME_ID = "Give different items different ids; for the same item, leave this column out of one of the files."
MISSING_TEXTS = "No texts were given for {n} candidate(s): pages that show texts stay empty for them."


@dataclass(frozen=True)
class Asked:
    """How the ratings are read.

    names: criterion in the files → key in the rubric (None: left out). missing: criterion in the files → values that
    mean missing. apart: (judge, criterion in the files) → the separate name in `names` for this judge's scores. scores:
    keys of criteria that only judges answered.
    """

    rubric: Rubric
    yaml: str
    names: Mapping[str, str | None]
    missing: Mapping[str, frozenset[str]]
    apart: Mapping[tuple[str, str], str] = field(default_factory=dict)
    scores: frozenset[str] = frozenset()

    def key_of(self, rating: ImportedRating) -> str | None:
        """The key of a rating's criterion; None if it is left out, "" if the rubric has no such criterion."""
        return self.names.get(self.apart.get((judge_of(rating), rating.criterion), rating.criterion), "")


@dataclass(frozen=True)
class ReadRating(FinishedRating):
    """One value as it will be stored; system: None for a rating about the item."""

    system: str | None


@dataclass(frozen=True)
class ReadHighlight(FinishedHighlight):
    """One highlight as it will be stored; system: None for a highlight in the context."""

    system: str | None


@dataclass
class ItemWork:
    """All ratings, highlights and notes of one annotator for one item. of: name of the repeat, "" for the first time.

    systems: system → position, if known. spent: piece of work → its seconds, from the rows of the file.
    """

    item: str
    annotator: str
    kind: RaterKind
    of: str
    row: int
    systems: dict[str, int | None] = field(default_factory=dict)
    ratings: list[ReadRating] = field(default_factory=list)
    highlights: list[ReadHighlight] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    at: datetime | None = None
    spent: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.spent.values())


@dataclass(frozen=True)
class Assembled:
    """Everything that will be imported, and all problems. files: their number; annotator_groups: name → group.

    left_out: how many of the ratings that an annotator gave twice are not imported, by which of the two counts.
    """

    asked: Asked
    items: tuple[ItemDraft, ...]
    works: tuple[ItemWork, ...]
    excluded: dict[str, str]
    problems: tuple[Problem, ...]
    files: int
    annotator_groups: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return bool(self.works) and not any(problem.severity == "error" for problem in self.problems)

    @property
    def has_texts(self) -> bool:
        """Whether every candidate has a text, so that the study could be continued."""
        return all(c.text is not None or c.turns for item in self.items for c in item.candidates)

    @property
    def annotators(self) -> dict[tuple[str, str], int]:
        """(kind, name) → number of annotations, in the order of the files."""
        return dict(Counter((work.kind, work.annotator) for work in self.works))

    def counts(self) -> dict[str, int]:
        """How many of each thing will be created: name for the lead → number."""
        systems = {candidate.system for item in self.items for candidate in item.candidates}
        kinds = Counter(kind for kind, _ in self.annotators)
        marks = [mark for work in self.works for mark in work.highlights]
        counts = {
            "items": len(self.items),
            "systems": len(systems),
            "annotators": kinds["human"],
            "judges": kinds["judge"],
            "simulated annotators": kinds["simulated"],
            "annotations": len(self.works),
            "ratings": sum(len(work.ratings) for work in self.works),
            "missing": sum(rating.missing for work in self.works for rating in work.ratings),
            "highlights": len(marks),
            "highlights not found in a text": sum(mark.start is None for mark in marks),
        }
        return {name: number for name, number in counts.items() if number}

    def summary(self) -> list[str]:
        """Sentences about how the files' criteria are read, and what will be created."""
        criteria = {criterion.key: criterion for criterion in self.asked.rubric.criteria}
        lines = []
        for name, key in self.asked.names.items():
            scale = criteria[key].scale if key in criteria else None
            lines.append(f"{name}: {f'{scale.kind}, {scale.level} level' if scale else 'left out'}")
        counts = self.counts().items()
        made = ", ".join(f"{number:,} {PLURAL.sub('', noun, 1) if number == 1 else noun}" for noun, number in counts)
        return [*lines, f"Will be made: {made or 'nothing'}"]


def own_rubric(rubric: Rubric, yaml: str, names: Sequence[str]) -> Asked:
    """How to read the files with an existing rubric: criteria are matched by key or title."""
    keys = {
        spelled: criterion.key
        for criterion in rubric.criteria
        for spelled in (criterion.title.casefold(), criterion.key)
    }
    names_to_keys = {name: keys.get(name.casefold(), keys.get(name.casefold().replace(" ", "_"), "")) for name in names}
    return Asked(rubric, yaml, names_to_keys, {})


def assemble(
    files: Sequence[FinishedRatings], asked: Asked, items: ItemFile | None = None, duplicates: Duplicates = "error"
) -> Assembled:
    """Puts the files together. Every problem names its row; nothing is averaged.

    duplicates: how a second rating of the same unit by the same annotator is treated: as an error, left out ("first"),
    replacing the first ("last"), or as a repeat.
    Without `items`, items from the files are used, if there are any.
    """
    items = items or next((file.items for file in files if file.items is not None), None)
    builder = _Builder(files, asked, items, duplicates)
    if not _check_names(files, items, builder.findings):
        return Assembled(asked, (), (), {}, builder.findings.finish(), len(files))
    for file in files:
        builder.add(file, file.ratings, builder.add_rating)
    for file in files:
        builder.add(file, file.highlights, builder.add_highlight)
        builder.add(file, file.notes, builder.add_note)
    return builder.assembled()


def _check_names(files: Sequence[FinishedRatings], items: ItemFile | None, findings: Findings) -> bool:
    """Report ids and systems, over all files, that are invalid, or look the same but are written differently.

    Returns False if there are too many systems to read the ratings at all.
    """
    places: dict[tuple[str, str], tuple[str, int]] = {}
    for item in items.items if items else ():
        places.setdefault(("id", item.external_id), ("the items", item.row))
        for candidate in item.candidates:
            places.setdefault(("system", candidate.system), ("the items", item.row))
    for file in files:
        for unit in (*file.ratings, *file.highlights, *file.notes):
            places.setdefault(("id", unit.item), (file.name, unit.row))
            places.setdefault(("system", unit.system or UNKNOWN_SYSTEM), (file.name, unit.row))
    systems = sum(kind == "system" for kind, _ in places)
    if systems > MAX_SYSTEMS:
        findings.error(f"The files name {systems:,} systems; at most {MAX_SYSTEMS} can be compared.")
    lookalikes = {"id": Lookalikes(), "system": Lookalikes()}
    for (kind, name), (where, row) in places.items():
        problem = fault_of(name) or lookalikes[kind].clash(name, f"row {row} of {where}")
        if problem:
            findings.error(f"the {kind} {problem.rstrip('.')}.", row)
    return systems <= MAX_SYSTEMS


class _LeftOutError(Exception):
    """A row that cannot be read; why was reported."""


class _Builder:
    """Collects the annotations while the files are read, row by row."""

    def __init__(
        self, files: Sequence[FinishedRatings], asked: Asked, items: ItemFile | None, duplicates: Duplicates
    ) -> None:
        self.files, self.asked, self.duplicates = files, asked, duplicates
        self.file, self.twice = "", 0
        self.findings = Findings()
        self.placing = Placing(self.findings)
        self.works: dict[tuple[str, str, str, str], ItemWork] = {}
        self.seen: dict[Place, tuple[str, int, int]] = {}  # file, row, index among the ratings of the work
        self.repeats: Counter[tuple[str | None, ...]] = Counter()
        self.rated: dict[tuple[str, ...], dict[str | None, list[int]]] = {}
        self.values: dict[tuple[str, str, bool], StoredValue | None] = {}
        self.reported: set[tuple[str, ...]] = set()
        self.criteria = {criterion.key: criterion for criterion in asked.rubric.criteria}
        self.labels = {spelled: label for label in asked.rubric.highlights for spelled in (label.title, label.key)}
        self.items_by_id = None if items is None else {item.external_id: item for item in items.items}
        self.systems: dict[str, dict[str, None]] = {}
        texts: dict[About, Content] = {}
        for item in (self.items_by_id or {}).values():
            self.systems[item.external_id] = dict.fromkeys(candidate.system for candidate in item.candidates)
            texts[item.external_id, None] = item.context_turns or item.context_text or ""
            texts |= {(item.external_id, c.system): c.turns or c.text or "" for c in item.candidates}
        self.texts = self._joined([*((file.name, file.texts) for file in files), ("the items", texts)])
        groups: list[tuple[str, Mapping[About, Content]]] = [
            (file.name, {(item, None): group for item, group in file.item_groups.items()}) for file in files
        ]
        self.groups = self._joined(groups, "group")

    def _joined(
        self, of_files: Sequence[tuple[str, Mapping[About, Content]]], noun: str = "text"
    ) -> dict[About, Content]:
        """Item and system → its text; texts that differ between files are an error."""
        joined: dict[About, Content] = {}
        places: dict[About, str] = {}
        for name, texts in of_files:
            for key, text in texts.items():
                if key in joined and _differ(joined[key], text):
                    item, system = key
                    about = f"item '{item}'" if system is None else f"item '{item}', system '{system}',"
                    self.findings.error(f"{about} has another {noun} in {name} than in {places[key]}. {SAME_ID}")
                joined[key], places[key] = text, name
        return joined

    def error(self, message: str, row: int, column: str | None = None) -> None:
        self.findings.error(f"{self.file}{message}", row, column)

    def refuse(self, message: str, row: int) -> NoReturn:
        """Leave out a row for an error that many rows share, which is reported at the first of them."""
        if (self.file, message) not in self.reported:
            self.reported.add((self.file, message))
            self.error(message, row)
        raise _LeftOutError

    def add(self, file: FinishedRatings, rows: Sequence[Row], add_row: Callable[[Row], None]) -> None:
        self.file = f"{file.name}: " if len(self.files) > 1 else ""
        for row in rows:
            with suppress(_LeftOutError):
                add_row(row)

    def add_rating(self, rating: ImportedRating) -> None:
        key = self.asked.key_of(rating)
        if key is None:
            return
        criterion = self.criteria.get(key)
        if criterion is None:
            keys = ", ".join(self.criteria)
            self.refuse(f"the rubric has no criterion '{rating.criterion}'; it has {keys}.", rating.row)
        value = self._value(criterion, rating)
        work = self._work(rating, rating.of)
        if value is None:
            return
        system = self._system(work, rating, criterion)
        place = (work.kind, work.annotator, work.item, work.of, system, criterion.key)
        before = self.seen.get(place)
        if before and not self._takes_again(place, work, rating):
            return
        self.seen[place] = self.file, rating.row, before[-1] if before else len(work.ratings)
        self._place(work, system, rating)
        explanation = rating.explanation
        if value[-1] and REASONED_MISSING.fullmatch(rating.value):
            explanation = "\n".join(filter(None, (rating.value, explanation)))
        read = ReadRating(criterion.key, *value, rating.reasons, explanation, system)
        if before:
            work.ratings[before[-1]] = read
        else:
            work.ratings.append(read)
        work.at = max(work.at, rating.at) if work.at and rating.at else work.at or rating.at
        part = (self.file, rating.part) if rating.part else ("", "")
        work.spent[part] = max(work.spent.get(part, 0), rating.seconds)

    def _value(self, criterion: Criterion, rating: ImportedRating) -> StoredValue | None:
        name = (criterion.key, rating.value, rating.missing)
        if name not in self.values:
            missing = self.asked.missing.get(criterion.key, frozenset())
            self.values[name] = read_value(criterion, rating.value, rating.missing, missing)
        value = self.values[name]
        if value is None:
            self.error(f"'{rating.value}' does not fit the scale of '{criterion.title}'.", rating.row, rating.criterion)
        return value

    def _work(self, entry: ImportedRating | ImportedHighlight | ImportedNote, of: str = "") -> ItemWork:
        if self.items_by_id is not None and entry.item not in self.items_by_id:
            self.refuse(f"item '{entry.item}' is not in the file of items.", entry.row)
        key = (entry.kind, entry.annotator, entry.item, of)
        if key not in self.works:
            self.works[key] = ItemWork(entry.item, entry.annotator, entry.kind, of, entry.row)
        return self.works[key]

    def _system(
        self, work: ItemWork, entry: ImportedRating | ImportedHighlight, criterion: Criterion | None
    ) -> str | None:
        """The system that a row is about; a row without a system is about the item's only one."""
        systems = self.systems.setdefault(work.item, {})
        if isinstance(entry, ImportedRating) and criterion is not None and not criterion.per_response:
            if entry.system not in (None, UNKNOWN_SYSTEM):
                self.refuse(f"'{entry.criterion}' is about the item, but its row names a system.", entry.row)
            return None
        system = entry.system
        if system in (None, UNKNOWN_SYSTEM) and self.items_by_id is not None and len(systems) == 1:
            system = next(iter(systems))
        elif system is not None and system not in systems and (place := POSITION.fullmatch(system)):
            system = dict(enumerate(systems, 1)).get(int(place[1]), system)
        if system is None:
            self.refuse(f"item '{work.item}' has a rating of a response without its system.", entry.row)
        if self.items_by_id is not None and system not in systems:
            self.refuse(f"item '{work.item}' has no candidate of system '{system}' in the file of items.", entry.row)
        systems.setdefault(system)
        return system

    def _takes_again(self, place: Place, work: ItemWork, rating: ImportedRating) -> bool:
        """Whether a repeated rating replaces the earlier one; otherwise it is left out, a repeat, or an error."""
        if self.duplicates == "error":
            self._report_twice(place, work, rating)
        elif self.duplicates == "repeats":
            self.findings.tally(REPEATED)
            self.add_rating(replace(rating, of=self._next_repeat(place)))
        else:
            self.twice += 1
            self.findings.tally(LEFT_OUT[self.duplicates])
            return self.duplicates == "last"
        return False

    def _next_repeat(self, place: Place) -> str:
        """The name of the first repeat that the unit does not have yet."""
        kind, annotator, item, of, system, key = place
        unit = kind, annotator, item, system, key
        while (kind, annotator, item, of, system, key) in self.seen:
            self.repeats[unit] += 1
            of = f"repeat{self.repeats[unit]}" if self.repeats[unit] > 1 else "repeat"
        return of

    def _report_twice(self, place: Place, work: ItemWork, rating: ImportedRating) -> None:
        before, system = self.seen[place], place[-2]
        unit = f"item '{work.item}'" + (f", system '{system}'" if system else "")
        self.error(
            f"'{work.annotator}' rated '{rating.criterion}' of {unit} already ({before[0]}row {before[1]}). Remove "
            f"one, mark the second one in a column 'repeat', or choose which of them counts.",
            rating.row,
        )

    def _place(self, work: ItemWork, system: str | None, rating: ImportedRating) -> None:
        """Stores the position that the file gives; two responses must not have the same position."""
        if system is None:
            return
        before, position = work.systems.get(system), rating.position
        if position is None or position == before:
            work.systems.setdefault(system)
        elif not 0 <= position < MAX_CANDIDATES:
            self.error(f"position {position}: positions count from 0 to {MAX_CANDIDATES - 1}.", rating.row, "position")
        elif before is not None or position in work.systems.values():
            self.error(f"position {position} does not fit the other rows of this annotation.", rating.row, "position")
        else:
            work.systems[system] = position

    def add_highlight(self, highlight: ImportedHighlight) -> None:
        label = self.labels.get(highlight.label)
        if label is None:
            self.refuse(f"the rubric has no label '{highlight.label}' for highlights.", highlight.row)
        work = self._work(highlight)
        system = self._marked_system(work, highlight, label)
        if system is not None:
            work.systems.setdefault(system)
        turn, start, end, quote = self.placing.place(highlight, self.texts.get((work.item, system)))
        if start is None:
            shown = quote if len(quote) <= 60 else f"{quote[:60]}…"
            self.findings.warning(
                f"{self.file}the quote '{shown}' is not in the text of item '{work.item}'; it is kept without a "
                f"position.",
                highlight.row,
            )
        words = highlight.comment.strip(), highlight.marked_by
        work.highlights.append(ReadHighlight(turn, label.key, start, end, quote, *words, system))

    def _marked_system(self, work: ItemWork, highlight: ImportedHighlight, label: HighlightLabel) -> str | None:
        """The system whose response the highlight is in, None for the context."""
        if label.marked_in == "candidate":
            return self._system(work, replace(highlight, system=highlight.system or UNKNOWN_SYSTEM), None)
        if highlight.system not in (None, UNKNOWN_SYSTEM):
            self.refuse(f"'{highlight.label}' is marked in the context, but its row names a system.", highlight.row)
        return None

    def add_note(self, note: ImportedNote) -> None:
        """Free text explains the rating that it names, or the only rating of its response; otherwise it is a note."""
        work = self._work(note)
        neighbours = self._rated(work).get(note.system, [])
        explained_keys = self._explained(note.name)
        named = [at for at in neighbours if work.ratings[at].criterion in explained_keys]
        targets = named or (neighbours if len(neighbours) == 1 else [])
        explained = _with_words(work.ratings[targets[0]], note, bool(named)) if targets else None
        if explained is None:
            work.notes.append(f"{note.name}: {note.text}")
        else:
            work.ratings[targets[0]] = explained

    def _rated(self, work: ItemWork) -> Mapping[str | None, Sequence[int]]:
        """System → its ratings of a work, as indices; all ratings are read before the first note."""
        name = (work.kind, work.annotator, work.item, work.of)
        if name not in self.rated:
            self.rated[name] = {}
            for index, rating in enumerate(work.ratings):
                self.rated[name].setdefault(rating.system, []).append(index)
        return self.rated[name]

    def _explained(self, name: str) -> set[str]:
        """The criteria that a text field with this name can explain: fluency for fluency_why."""
        return {key for part in EXPLAINING if part in name and (key := self.asked.names.get(name.replace(part, "", 1)))}

    def assembled(self) -> Assembled:
        works = tuple(work for work in self.works.values() if work.ratings or work.highlights)
        self._check_repeats(works)
        items = self._items()
        lacking = [c for item in items for c in item.candidates if c.text is None and not c.turns]
        self.findings.tally(MISSING_TEXTS, len(lacking))
        self.findings.tally(NO_TIME, sum(work.at is None for work in works))
        if not works and not self.findings.has_errors:
            self.findings.error("There are no ratings left to import.")
        excluded = {name: reason for file in self.files for name, reason in file.excluded.items()}
        groups = {name: group for file in self.files for name, group in file.annotator_groups.items()}
        if (count := len({*groups.values()})) > MAX_GROUPS:
            self.findings.error(f"The files name {count:,} groups of annotators; at most {MAX_GROUPS} can be compared.")
        left_out: dict[str, int] = {self.duplicates: self.twice} if self.twice else {}
        return Assembled(self.asked, items, works, excluded, self.findings.finish(), len(self.files), groups, left_out)

    def _check_repeats(self, works: Sequence[ItemWork]) -> None:
        first = {(work.kind, work.annotator, work.item) for work in works if not work.of}
        repeated: set[tuple[str, str, str]] = set()
        for work in works:
            unit = work.kind, work.annotator, work.item
            if work.of and unit not in first:
                self.error(f"'{work.annotator}' repeats item '{work.item}' without having rated it before.", work.row)
            elif work.of and unit in repeated:
                self.error(
                    f"'{work.annotator}' rated item '{work.item}' more than twice; an annotation can be repeated once. "
                    "Remove the others, or choose that the first or the last one counts.",
                    work.row,
                )
            elif work.of:
                repeated.add(unit)

    def _items(self) -> tuple[ItemDraft, ...]:
        """The items of the items file or, without one, those that the ratings name."""
        if self.items_by_id is not None:
            rated = {work.item for work in self.works.values()}
            self.findings.tally(UNRATED, len(self.items_by_id) - len(rated))
            return tuple(replace(item, meta=item.meta | self._group(name)) for name, item in self.items_by_id.items())
        names = dict.fromkeys(work.item for work in self.works.values())
        return tuple(self._item(name, self.texts.get((name, None), ""), row) for row, name in enumerate(names, 1))

    def _group(self, item: str) -> dict[str, str]:
        """The field with an item's group, if the files have one."""
        return {ITEM_GROUP: str(self.groups[item, None])} if (item, None) in self.groups else {}

    def _item(self, name: str, context: Content, row: int) -> ItemDraft:
        systems = self.systems.get(name) or {UNKNOWN_SYSTEM: None}
        return ItemDraft(
            external_id=name,
            context_text=context if isinstance(context, str) else None,
            context_turns=context if isinstance(context, tuple) else (),
            candidates=tuple(_candidate(system, self.texts.get((name, system))) for system in systems),
            meta=self._group(name),
            extra_texts={},
            row=row,
        )


def _differ(text: Content, other: Content) -> bool:
    """Whether two texts, or two lists of turns, differ in more than their spaces."""
    if isinstance(text, str) and isinstance(other, str):
        return bool(text and other) and text.split() != other.split()
    return isinstance(text, tuple) and isinstance(other, tuple) and text != other


def _with_words(rating: ReadRating, note: ImportedNote, named: bool) -> ReadRating | None:
    """The rating with a note as its explanation or reasons; None if it has a text already."""
    keys = tuple(filter(None, re.split(r"[;\n]", note.text, maxsplit=MAX_REASONS)))
    if named and REASONS in note.name and not rating.reasons and all(re.fullmatch(KEY, key) for key in keys):
        return replace(rating, reasons=keys)
    return None if rating.explanation else replace(rating, explanation=note.text)


def _candidate(system: str, content: Content | None) -> CandidateDraft:
    return CandidateDraft(system, None, content) if isinstance(content, tuple) else CandidateDraft(system, content)


def read_value(
    criterion: Criterion, text: str, is_missing: bool, missing: frozenset[str] = frozenset()
) -> StoredValue | None:
    """The value as stored; None where the text does not fit the scale."""
    scale = criterion.scale
    if isinstance(scale, Choice):
        titles = {option.title: option for option in scale.options}
        keys = {option.key: option for option in scale.options}
        folded = {option.title.casefold(): option for option in reversed(scale.options)}
        option = titles.get(text) or keys.get(text) or folded.get(text.casefold())
        if option is not None:
            return None, option.key, option.missing or is_missing
    if is_missing or text in missing or means_missing(text):
        return None, None, True
    number = number_in(text)
    if number is None or isinstance(scale, Choice):
        return None
    if scale.kind == "best":
        return (number, None, False) if number in (0, 1) else None
    try:
        return scale.check(round(number, DECIMALS) if isinstance(scale, NumberScale) else number), None, False
    except InvalidAnnotation:
        return None
