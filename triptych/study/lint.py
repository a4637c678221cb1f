"""Findings for a lead before launch: texts and plans that would produce wrong data, most serious first. `lint` checks
item drafts, `lint_study` a stored study. Nothing is changed, and only three findings prevent a launch: a missing
candidate, an empty one, and a plan that splits into unconnected parts.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations
from statistics import median
from types import MappingProxyType
from typing import Literal, get_args

from sqlalchemy import select
from sqlmodel import Session

from triptych.formats.model import ItemDraft
from triptych.rubric.model import Rubric
from triptych.stats.numbers import counted
from triptych.storage.models import Purpose, Study, System
from triptych.study import contents, lifecycle, pairing
from triptych.study.check_items import sorted_out
from triptych.study.pairing import PlanLine
from triptych.study.settings import Formats, formats_of, settings_of
from triptych.study.system_names import mark_of, system_names

Severity = Literal["grave", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
CHECK_PURPOSES = (Purpose.gold, Purpose.attention)
MAX_SHOWN = 5

MIN_TEXTS = 5
MIN_CHARACTERS = 20  # characters; shorter texts may be equal by chance
MIN_FOR_LENGTHS = 10
SAME_FILE_SHARE = 0.5
OPEN_SHARE_GAP = 0.25
MAXIMUM_SHARE = 0.2
LENGTH_RATIO = 2.0
# Iglewicz & Hoaglin (1993): a modified z-score beyond 3.5; the floor keeps texts of nearly one length quiet
OUTLIER_SCORE, LEAST_SPREAD = 3.5, 0.15
VOCABULARY_CHARACTERS = 2_000_000
AROUND = 40  # characters shown before and after a passage

_MODEL_FAMILIES = {
    "gpt", "chatgpt", "openai", "claude", "gemini", "gemma", "bard", "palm", "llama", "vicuna", "alpaca", "mistral",
    "mixtral", "qwen", "deepseek", "falcon", "bloom", "bart", "pegasus", "blenderbot", "dialogpt", "copilot", "grok",
}  # fmt: skip
_COMMON_NAMES = {
    "human", "baseline", "model", "system", "reference", "unknown", "gold", "candidate", "response", "output", "answer",
    "summary", "expert", "ours", "none",
}  # fmt: skip
_DANGLING = {
    "the", "a", "an", "and", "or", "of", "to", "with", "in", "for", "but", "because", "that", "is", "are", "was",
    "your", "my", "their", "its", "if", "when", "as", "at", "by", "from",
}  # fmt: skip
_MAKERS = "openai|anthropic|google|meta|mistral|deepseek|alibaba|microsoft"
_SELF = re.compile(
    r"\b(?:as|i am|i['’]m) (?:an?|just an?) (?:ai|artificial intelligence|(?:large )?language model|chatbot)\b"
    rf"|\blanguage model (?:\w+ )?by\b|\b(?:trained|developed|created) by (?:{_MAKERS})\b"
)
_SELF_NEEDLES = (" ai", "artificial int", "language model", "chatbot", "trained by", "developed by", "created by")

MIN_GROUPS = 5
GROUP_THEM = "If these items belong together, name the field of the file that groups them under Setup, Who rates what."
_LAST_NUMBER = re.compile(r"^(.*\d)[-_.:/ ]+[a-zA-Z]*[-_.:/ ]*\d+$")


@dataclass(frozen=True)
class LintFinding:
    """A finding: what it is, what to do about it, and where. rows: rows of the file, or places in the study.

    passages: the passage in the text of each item; it may name the system, so nobody who is blind may see it.
    name_mark: mark (see `system_names.mark_of`) of the system whose name was found.
    """

    severity: Severity
    text: str
    advice: str
    items: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    blocking: bool = False
    passages: tuple[str, ...] = ()
    name_mark: str = ""


@dataclass(frozen=True, slots=True)
class CandidateText:
    """One candidate's text, all turns of a conversation joined; folded: without case and outer blanks, to compare."""

    item: ItemDraft
    system: str
    text: str
    last: str
    folded: str

    @property
    def is_open(self) -> bool:
        """Whether the text ends with a letter, a digit or a sign after which more is expected."""
        return bool(self.last) and (self.last[-1].isalnum() or self.last[-1] in ",;-–—([{&")

    def around(self, pattern: re.Pattern[str]) -> str:
        """The pattern's first match in `folded`, with some words around it."""
        place = pattern.search(self.folded)
        stripped = self.text.strip()
        whole = stripped if len(stripped) == len(self.folded) else self.folded
        if place is None:
            return ""
        start, end = max(0, place.start() - AROUND), min(len(whole), place.end() + AROUND)
        words = " ".join(whole[start:end].split())
        return f"{'…' if start else ''}{words}{'…' if end < len(whole) else ''}"


@dataclass(frozen=True)
class Material:
    """The shared input of the checks.

    names: system → the name that readers of the findings may see; titled: speakers that the rubric gives another name;
    most_raters: largest number of annotators of an item, None if not known; formatted: responses are shown as Markdown.
    """

    items: Sequence[ItemDraft]
    training: Sequence[ItemDraft]
    plan: Sequence[PlanLine]
    names: Mapping[str, str] = field(default_factory=dict)
    titled: Set[str] = frozenset()
    most_raters: int | None = None
    formatted: bool = False

    @cached_property
    def texts(self) -> list[CandidateText]:
        """Every candidate's text that is not missing or blank."""
        texts = []
        for item in self.items:
            for candidate in item.candidates:
                turns = [turn.text for turn in candidate.turns or ()]
                text = "\n".join(turns) if turns else candidate.text or ""
                if text.strip():
                    last = (turns[-1] if turns else text).rstrip()
                    texts.append(CandidateText(item, candidate.system, text, last, text.strip().casefold()))
        return texts

    @cached_property
    def contexts(self) -> dict[int, str]:
        """Python's id of an item → its context without case; the items' own ids may be repeated."""
        return {id(item): _context(item) for item in self.items}

    @cached_property
    def speakers(self) -> dict[str, list[ItemDraft]]:
        """Speakers shown under the name in the file, case-folded → the items in which they speak."""
        items: dict[str, list[ItemDraft]] = defaultdict(list)
        for item in self.items:
            turns = chain(item.context_turns, *(candidate.turns or () for candidate in item.candidates))
            for speaker in {turn.speaker for turn in turns} - self.titled:
                items[speaker.casefold().replace("_", " ")].append(item)
        return items

    @cached_property
    def whole(self) -> str:
        """All texts joined, to search for a word once."""
        return "\n".join(text.folded for text in self.texts)

    def having(self, needles: Iterable[str], pattern: re.Pattern[str]) -> list[CandidateText]:
        """Texts in which the pattern is found; only texts with one of the needles are searched."""
        used = [needle for needle in needles if needle in self.whole]
        if not used:
            return []
        return [s for s in self.texts if any(needle in s.folded for needle in used) and pattern.search(s.folded)]

    @cached_property
    def by_system(self) -> dict[str, list[CandidateText]]:
        texts: dict[str, list[CandidateText]] = defaultdict(list)
        for text in self.texts:
            texts[text.system].append(text)
        return texts

    @cached_property
    def by_item(self) -> dict[int, list[CandidateText]]:
        """Python's id of an item → its texts."""
        texts: dict[int, list[CandidateText]] = defaultdict(list)
        for text in self.texts:
            texts[id(text.item)].append(text)
        return texts

    def name(self, system: str) -> str:
        return self.names.get(system, f"'{system}'")

    def owner(self, system: str) -> str:
        """The system whose name is in a text; for readers who are blind not its number, as the text shows the name."""
        return self.name(system) if self.names.get(system, system) == system else "a system"


def lint(
    rubric: Rubric,
    items: Sequence[ItemDraft],
    training: Sequence[ItemDraft],
    plan: Sequence[PlanLine] | None = None,
    names: Mapping[str, str] | None = None,
    most_raters: int | None = None,
    *,
    formatted: bool = False,
) -> list[LintFinding]:
    """All findings, most serious first.

    training: items that annotators see besides the main items and the rubric's worked examples, such as checks; plan:
    the lines of an explicit plan; names: system → the name to be shown; most_raters, formatted: as in `Material`.
    """
    all_training = [*map(contents.training_draft, rubric.training), *training]
    titled = {name for speaker in rubric.speakers for name in speaker.names}
    material = Material(items, all_training, plan or (), names or {}, titled, most_raters, formatted)
    findings = [finding for check in CHECKS for finding in check(material)]
    return sorted(findings, key=lambda f: (not f.blocking, SEVERITIES.index(f.severity), -len(f.items)))


def lint_study(session: Session, study: Study) -> list[LintFinding]:
    """The findings about a stored study, with systems named as its leads may see them, and without passages.

    Names that the settings list as common words are ignored.
    """
    shown = system_names(session, study)
    systems = session.scalars(select(System).where(System.study_id == study.id))
    checks = [item for purpose in CHECK_PURPOSES for item in contents.stored_items(session, study, purpose)]
    findings = lint(
        lifecycle.design_of(session, study).rubric,
        contents.stored_items(session, study),
        checks,
        pairing.lines_of(session, study),
        {system.name: shown[system.blind_code] for system in systems},
        max(pairing.raters_of(session, study).values(), default=None),
        formatted=formats_of(study).responses == "markdown",
    )
    common = settings_of(study).common_names
    return [replace(finding, passages=()) for finding in findings if finding.name_mark not in common]


def lint_file(rubric: Rubric, items: Sequence[ItemDraft], formats: Formats) -> list[LintFinding]:
    """The findings about a file that was read without errors, before a study is created from it.

    Raises ImportRefused where a check item does not fit the rubric.
    """
    main, checks = sorted_out(items)
    formatted = formats.responses == "markdown"
    return lint(rubric, main, [check.item for check in checks], formatted=formatted)


def gravest_first(findings: Sequence[LintFinding]) -> tuple[list[LintFinding], list[LintFinding]]:
    """(findings to show at once, findings to fold): at once up to five, plus all that block the launch."""
    cut = max(MAX_SHOWN, sum(finding.blocking for finding in findings))
    shown = [finding for finding in findings[:cut] if finding.severity != "note"]
    return shown, list(findings[len(shown) :])


def _about(
    items: Iterable[ItemDraft],
    severity: Severity,
    text: str,
    advice: str,
    blocking: bool = False,
    passages: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[LintFinding]:
    """A finding about these items, without repetitions and in the order of the file; nothing if there are no items."""
    once = sorted({id(item): item for item in items}.values(), key=lambda item: item.row)
    if once:
        ids = tuple(item.external_id for item in once)
        found = tuple(passages.get(id(item), "") for item in once) if passages else ()
        yield LintFinding(severity, text, advice, ids, tuple(item.row for item in once), blocking, found)


def _within(
    texts: Sequence[CandidateText], pattern: re.Pattern[str], severity: Severity, text: str, advice: str
) -> Iterator[LintFinding]:
    """A finding about these texts; passages: the pattern's first match in each item."""
    passages = {id(candidate.item): candidate.around(pattern) for candidate in reversed(texts)}
    yield from _about(_of(texts), severity, text, advice, passages=passages)


# Candidates that are missing or repeated


def _missing(m: Material) -> Iterator[LintFinding]:
    """Missing candidates: blocking if all items have the same systems, otherwise a note on items with fewer."""
    systems_of = [frozenset(c.system for c in item.candidates if c.text is not None or c.turns) for item in m.items]
    every, most = frozenset().union(*systems_of), max(map(len, systems_of), default=0)
    lacking = [item for item, systems in zip(m.items, systems_of, strict=True) if len(systems) < most or not systems]
    add = "Add the missing texts and upload the file again, or leave these items out."
    if most == len(every):
        yield from _about(
            lacking, "grave", f"{counted(len(lacking), 'item')} without a candidate of every system.", add, True
        )
        return
    none = [item for item, systems in zip(m.items, systems_of, strict=True) if not systems]
    yield from _about(none, "grave", f"{counted(len(none), 'item')} without any candidate.", add, True)
    fewer = [item for item in lacking if item.candidates]
    text = f"{counted(len(fewer), 'item')} with fewer candidates than the others ({most})."
    yield from _about(fewer, "warning", text, "Compare systems only where they answered the same items.")


def _empty(m: Material) -> Iterator[LintFinding]:
    blank = [
        item
        for item in m.items
        for candidate in item.candidates
        if (candidate.text is not None and not candidate.text.strip())
        or (candidate.turns is not None and not any(turn.text.strip() for turn in candidate.turns))
    ]
    text = f"{counted(len(blank), 'candidate')} without a text."
    yield from _about(blank, "grave", text, "Nobody can rate an empty text: add the text, or leave the item out.", True)


def _identical(m: Material) -> Iterator[LintFinding]:
    """Two systems with the same text for an item; if for most items, one file was probably imported twice."""
    pairs: dict[tuple[str, str], list[ItemDraft]] = defaultdict(list)
    for texts in m.by_item.values():
        for text, other in combinations(texts, 2):
            if text.folded == other.folded:
                pairs[text.system, other.system].append(text.item)
    rest: list[ItemDraft] = []
    for (first, second), items in pairs.items():
        if len(items) >= MIN_TEXTS and len(items) >= SAME_FILE_SHARE * len(m.items):
            both = f"{m.name(first)} and {m.name(second)}"
            sentence = f"{both} have the same text in {len(items):,} of {len(m.items):,} items."
            yield from _about(items, "grave", sentence, "Check whether one file was used for two systems.")
        else:
            rest += items
    sentence = f"{counted(len({id(item) for item in rest}), 'item')} with two candidates of the same text."
    yield from _about(
        rest, "warning", sentence, "Annotators will see the same text twice. Leave these items out if in doubt."
    )


def _repeated(m: Material) -> Iterator[LintFinding]:
    """Texts that a system repeats for many items."""
    for system, texts in m.by_system.items():
        for text, number in Counter(candidate.folded for candidate in texts).most_common(3):
            if number >= max(3, 0.02 * len(texts)):
                items = [candidate.item for candidate in texts if candidate.folded == text]
                sentence = f"{m.name(system)} has the same text for {number:,} items."
                advice = "Check whether something went wrong when the texts were generated."
                yield from _about(items, "warning", sentence, advice)


def _doubled(m: Material) -> Iterator[LintFinding]:
    """Items that are equal, and items that have only the context in common."""
    by_content: dict[object, list[ItemDraft]] = defaultdict(list)
    by_context: dict[object, list[ItemDraft]] = defaultdict(list)
    for item in m.items:
        context = m.contexts[id(item)]
        by_content[context, frozenset(text.folded for text in m.by_item[id(item)])].append(item)
        if context:
            by_context[context].append(item)
    same = [item for items in by_content.values() if len(items) > 1 for item in items]
    text = f"{counted(len(same), 'item')} are in the file more than once, with the same context and candidates."
    yield from _about(same, "grave", text, "Keep one of each, or their ratings count as if they were independent.")
    reported = {id(item) for item in same}
    shared = [item for items in by_context.values() if len(items) > 1 for item in items if id(item) not in reported]
    text = f"{counted(len(shared), 'item')} share their context with another item."
    yield from _about(
        shared,
        "note",
        text,
        f"Annotators read these contexts more than once. {GROUP_THEM}",
    )


def _grouped_ids(m: Material) -> Iterator[LintFinding]:
    """Ids with two numbers, such as dialogue-12-turn-3, with the same first part in several ids."""
    if together := grouped_ids([item.external_id for item in m.items]):
        text = f"Ids look like {counted(len(together), 'group')} of items, such as {together[0]}."
        yield LintFinding("note", text, GROUP_THEM)


def grouped_ids(ids: Sequence[str]) -> list[str]:
    """The common first part of each id that looks like part of a group; empty where most ids do not."""
    groups = Counter(match[1] for name in ids if (match := _LAST_NUMBER.match(name)))
    together = [prefix for prefix, count in groups.items() if count > 1]
    most = sum(groups[prefix] for prefix in together) > len(ids) / 2
    return together if len(together) >= MIN_GROUPS and most else []


def _trained_on(m: Material) -> Iterator[LintFinding]:
    """Main items that annotators also see in training, together with the reference, or as a check."""
    training = Material(m.training, (), ())
    contexts = set(training.contexts.values()) - {""}
    texts = {text.folded for text in training.texts if len(text.folded) >= MIN_CHARACTERS}
    seen = [item for item in m.items if m.contexts[id(item)] in contexts]
    seen += [text.item for text in m.texts if text.folded in texts]
    text = f"{counted(len({id(item) for item in seen}), 'item')} also appear among the training or check items."
    yield from _about(seen, "grave", text, "Annotators meet them twice and may know what is expected: leave them out.")


def _context(item: ItemDraft, *, with_speakers: bool = True) -> str:
    turns = (f"{turn.speaker}\t{turn.text.strip()}" if with_speakers else turn.text for turn in item.context_turns)
    return ("\n".join(turns) or item.context_text or "").strip().casefold()


# Texts that reveal their system, or were not cleaned


def _own_names(m: Material) -> Iterator[LintFinding]:
    """Texts and speakers that contain a system's name; names that also occur in contexts count as ordinary words."""
    written = "\n".join(_context(item, with_speakers=False) for item in m.items)
    spoken = "\n".join(m.contexts.values())
    for system in sorted(m.by_system):  # the order in the file would tell which is which
        spellings = _spellings(system)
        if not spellings:
            continue
        pattern = _pattern(spellings)
        is_word = system.strip().isalpha() and system.strip().casefold() not in _MODEL_FAMILIES
        # a counselor may be a speaker in contexts, gpt4-ft may not
        contexts = spoken if is_word else written
        if any(name in contexts for name in spellings) and pattern.search(contexts):
            continue
        naming = m.having(spellings, pattern)
        text = f"The name of {m.owner(system)} is in {_texts(m, naming)}."
        advice = "This may unblind annotators. Replace the name in the file or leave these items out."
        in_texts = _within(naming, pattern, "warning" if is_word else "grave", text, advice)
        named = [item for speaker, items in m.speakers.items() if pattern.search(speaker) for item in items]
        text = f"A speaker has the name of {m.owner(system)} in {counted(len(set(map(id, named))), 'item')}."
        advice = "Annotators see it. Rename the speaker in the file, or give it a title in the rubric's `speakers`."
        for finding in (*in_texts, *_about(named, "grave", text, advice)):
            yield replace(finding, name_mark=mark_of(system))


def systems_named(text: str, systems: Iterable[str]) -> list[str]:
    """The systems whose name, or family name, occurs in the text."""
    spelled = {system: _spellings(system) for system in systems}
    return [system for system, words in spelled.items() if words and _pattern(words).search(text.casefold())]


def _pattern(spellings: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, spellings))})(?!\w)")


def _spellings(system: str) -> list[str]:
    """Spellings of a system's name that a text may use, and its family's name; without common words."""
    name = system.strip().casefold()
    parts = [part for part in re.split(r"[\s_\-/.:]+", name) if part]
    whole = {name, " ".join(parts), "-".join(parts), "".join(parts)} if len(name) >= 3 else set()
    words = whole | (_MODEL_FAMILIES & {re.sub(r"\d+$", "", part) for part in parts})
    return sorted(
        word for word in words if word not in _COMMON_NAMES and not re.fullmatch(r"[a-z]+_?(?:\d|[a-f])", word)
    )


def _speaks_of_itself(m: Material) -> Iterator[LintFinding]:
    naming = m.having(_SELF_NEEDLES, _SELF)
    text = f"In {_texts(m, naming)} a system calls itself an AI or names its maker."
    advice = "Annotators will know that it is a model. Cut the sentence or leave these items out."
    yield from _within(naming, _SELF, "grave", text, advice)


@dataclass(frozen=True)
class Leftover:
    """One kind of markup in texts: how it is found (one of the needles, then the pattern), and its severity.

    markdown: the part of the pattern that is Markdown, and is not reported where Markdown is shown formatted.
    """

    what: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    severity: Severity = "warning"
    markdown: re.Pattern[str] | None = None


_TAGS = r"</?(?:p|br|div|span|b|i|u|strong|em|ul|ol|li|a|h[1-6]|table|t[drh]|img|script|style|code|pre)\b[^<>]{0,200}>"
_ENTITIES = r"&(?:amp|lt|gt|quot|nbsp|apos|#\d{1,6});"
_MARKDOWN = re.compile(r"\*\*[^*\n]{1,300}\*\*|\[[^\[\]\n]{1,200}\]\(http|^#{1,6} \S", re.MULTILINE)
LEFTOVERS = (
    Leftover(
        "signs of a prompt template, such as <|im_end|> or [/INST]",
        ("<|", "inst]", "<<sys", "<s>", "</s>", "<pad>", "<unk>", "<eos>", "<bos>", "_of_turn>", "think>", "###"),
        re.compile(
            r"<\|[\w ]+\|>|\[/?inst\]|<</?sys>>|</?s>|<(?:pad|unk|eos|bos|start_of_turn|end_of_turn)>|</?think>"
            r"|^#{3} ?(?:response|instruction|input|assistant|user)\b",
            re.MULTILINE,
        ),
        "grave",
    ),
    Leftover(
        "HTML, such as <br> or &amp;",
        ("<", "&"),
        re.compile(rf"{_TAGS}|{_ENTITIES}"),
        markdown=re.compile(_ENTITIES),
    ),
    Leftover(
        "Markdown, such as **bold** or # headings",
        ("**", "](http", "# "),
        _MARKDOWN,
        markdown=_MARKDOWN,
    ),
    Leftover(
        "the name of a speaker at the start of a line, such as User:",
        ("user:", "human:", "assistant:", "ai:", "bot:", "system:", "response:"),
        re.compile(r"^\W{0,4}(?:user|human|assistant|ai|bot|system|response):", re.MULTILINE),
    ),
)


_BLOCK = re.compile("```")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.DOTALL)


def _leftovers(m: Material) -> Iterator[LintFinding]:
    for leftover in LEFTOVERS:
        marked = m.having(leftover.needles, leftover.pattern)
        if m.formatted:  # code may contain any signs
            marked = [s for s in marked if leftover.pattern.search(_without_markdown(leftover, s.folded))]
        yield from _marked(m, leftover.what, marked, leftover.severity, leftover.pattern)
    unclosed = [s for s in m.texts if "```" in s.text and s.text.count("```") % 2]
    yield from _marked(m, "a block of code (```) that is not closed", unclosed, "warning", _BLOCK)


def _without_markdown(leftover: Leftover, text: str) -> str:
    prose = _CODE.sub("", text)
    return leftover.markdown.sub("", prose) if leftover.markdown else prose


def _marked(
    m: Material, what: str, marked: Sequence[CandidateText], severity: Severity, pattern: re.Pattern[str]
) -> Iterator[LintFinding]:
    shown = "Markdown is shown formatted, but not this" if m.formatted else "Texts are shown literally"
    advice = f"{shown}, so annotators see this markup. Clean the file and upload it again."
    yield from _within(marked, pattern, severity, f"{_texts(m, marked)} with {what}.", advice)


def _texts(m: Material, texts: Sequence[CandidateText]) -> str:
    """The number of texts by system, as in "3 texts of System 2" or "5 texts (System 1: 3, System 2: 2)"."""
    whose = Counter(text.system for text in texts).most_common(4)
    number = counted(len(texts), "text")
    if len(whose) == 1:
        return f"{number} of {m.name(whose[0][0])}"
    return f"{number} ({', '.join(f'{m.name(system)}: {n:,}' for system, n in whose)})"


def _of(texts: Iterable[CandidateText]) -> Iterator[ItemDraft]:
    return (text.item for text in texts)


# Texts that stop too early, or are of another length


def _cut(m: Material) -> Iterator[LintFinding]:
    """Texts of one system that stop in mid-sentence, unlike its other texts and those of other systems."""
    opened = {system: [s for s in texts if s.is_open] for system, texts in m.by_system.items()}
    share = {system: len(opened[system]) / len(texts) for system, texts in m.by_system.items()}
    middle = [s for system, texts in opened.items() if share[system] < 0.5 for s in texts]
    cut = _in_the_middle(m, middle)
    text = f"{counted(len(cut), 'text')} end in the middle of a word or a sentence."
    yield from _about(cut, "warning", text, "Check whether they were cut off; annotators will mark them down for it.")
    for system, texts in opened.items():
        others = [share[other] for other in share if other != system]
        limit = _maximum(texts)
        if limit:
            text = f"{m.name(system)} stops at {limit} in many texts, without closing punctuation."
            advice = "They seem to be cut at a maximum length. Generate them again with a higher one."
            yield from _about(_of(texts), "warning", text, advice)
        elif others and len(texts) >= MIN_TEXTS and share[system] - median(others) >= OPEN_SHARE_GAP:
            often = f"{share[system]:.0%} of the texts of {m.name(system)}"
            text = f"{often} end without closing punctuation, far more than those of others."
            yield from _about(_of(texts), "warning", text, "Check whether they were cut off at a maximum length.")


def _maximum(texts: Sequence[CandidateText]) -> str:
    """A phrase about the length at which a fifth of these texts stop; "" if there is none."""
    characters, words = [len(text.text) for text in texts], [len(text.text.split()) for text in texts]
    for unit, lengths, least in (("characters", characters, 100), ("words", words, 20)):
        at_most = lengths.count(most := max(lengths, default=0))
        if most >= least and at_most >= MIN_TEXTS and at_most >= MAXIMUM_SHARE * len(texts):
            return f"{most:,} {unit}"
    return ""


def _in_the_middle(m: Material, texts: Sequence[CandidateText]) -> list[ItemDraft]:
    """Texts that end in a word that another must follow, or in an incomplete word that the study uses in full."""
    tails = [(text, text.last.split()[-1].casefold()) for text in texts]
    unfinished = [text.item for text, tail in tails if tail in _DANGLING or not tail[-1].isalnum()]
    rare = [(text, tail) for text, tail in tails if tail.isalpha() and len(tail) >= 3 and tail not in _DANGLING]
    if not rare:
        return unfinished
    words = _vocabulary(m.texts)
    ordered = sorted(words)
    for text, tail in rare:
        place = bisect_left(ordered, tail)
        longer = ordered[place : place + 20] if tail not in words else ()
        if any(word.startswith(tail) and len(word) >= len(tail) + 3 for word in longer):
            unfinished.append(text.item)
    return unfinished


def _vocabulary(texts: Sequence[CandidateText]) -> set[str]:
    """Words of the texts, without the last one of each, up to a limit."""
    words: set[str] = set()
    read = 0
    for text in texts:
        read += len(text.folded)
        if read > VOCABULARY_CHARACTERS:
            break
        words.update(word.strip(".,;:!?\"'()") for word in text.folded.split()[:-1])
    return words


def _lengths(m: Material) -> Iterator[LintFinding]:
    """A system whose texts are typically far longer than the others on the same items, and single outliers."""
    for system, ratio in _ratios(m).items():
        if ratio >= LENGTH_RATIO:
            text = f"{m.name(system)} is typically {ratio:.1f} times as long as the other responses to the same item."
            yield LintFinding("warning", text, "Length influences ratings. State in the paper how you deal with it.")
    odd = []
    for texts in m.by_system.values():
        if len(texts) >= MIN_FOR_LENGTHS:
            logs = [math.log(len(text.text)) for text in texts]
            usual = median(logs)
            off = [abs(log - usual) for log in logs]
            spread = max(median(off) / 0.6745, LEAST_SPREAD)
            odd += [text.item for text, far in zip(texts, off, strict=True) if far > OUTLIER_SCORE * spread]
    text = f"{counted(len(odd), 'text')} far shorter or longer than usual for their system."
    yield from _about(odd, "note", text, "Check them: something may be missing or repeated.")


def _ratios(m: Material) -> dict[str, float]:
    """System → typical ratio of its length to the mean length of the others on the same items."""
    compared: dict[str, list[float]] = defaultdict(list)
    for texts in m.by_item.values():
        logs = [math.log(len(text.text)) for text in texts]
        if len(logs) > 1:
            for text, own in zip(texts, logs, strict=True):
                compared[text.system].append(own - (sum(logs) - own) / (len(logs) - 1))
    return {system: math.exp(median(logs)) for system, logs in compared.items() if len(logs) >= MIN_TEXTS}


# The plan


def _plan(m: Material) -> Iterator[LintFinding]:
    """If a plan's annotators share no item, a severe annotator cannot be distinguished from a weak system."""
    if not m.plan and m.most_raters == 1:
        text = "Every item is rated by one annotator, so no two annotators share an item."
        advice = (
            "Agreement cannot be computed, and a severe annotator cannot be distinguished from weak responses. "
            "Give a subset of the items more annotators."
        )
        yield LintFinding("warning", text, advice)
    parts = pairing.connected(m.plan)
    if len(parts) > 1:
        groups = "; ".join(_some(part.annotators) for part in parts[:4])
        text = f"The plan falls into {len(parts)} parts that share no item: {groups}."
        advice = "Give at least one item of each part to an annotator of another part, so that ratings can be compared."
        yield LintFinding("grave", text, advice, blocking=True)
    planned = {line.item_id for line in m.plan}
    left = [item for item in m.items if item.external_id not in planned] if planned else []
    text = f"{counted(len(left), 'item')} without an annotator in the plan."
    yield from _about(left, "warning", text, "Nobody will rate them. Add lines to the plan or leave the items out.")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (" …" if len(names) > 4 else "")


Check = Callable[[Material], Iterator[LintFinding]]
CHECKS: tuple[Check, ...] = (
    _missing,
    _empty,
    _plan,
    _trained_on,
    _own_names,
    _speaks_of_itself,
    _doubled,
    _grouped_ids,
    _identical,
    _repeated,
    _leftovers,
    _cut,
    _lengths,
)
