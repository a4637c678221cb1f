"""Texts that reveal their system: by its name, or because it speaks of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from triptych.stats.numbers import counted
from triptych.study.lint.findings import LintFinding, Severity, about, counted_texts, within
from triptych.study.lint.material import Material, context_of
from triptych.study.system_names import mark_of

_MODEL_FAMILIES = {
    "gpt", "chatgpt", "openai", "claude", "gemini", "gemma", "bard", "palm", "llama", "vicuna", "alpaca", "mistral",
    "mixtral", "qwen", "deepseek", "falcon", "bloom", "bart", "pegasus", "blenderbot", "dialogpt", "copilot", "grok",
}  # fmt: skip
_COMMON_NAMES = {
    "human", "baseline", "model", "system", "reference", "unknown", "gold", "candidate", "response", "output", "answer",
    "summary", "expert", "ours", "none",
}  # fmt: skip
_COUNTED = re.compile(r"[a-z]+(?:_?\d|_[a-f])")  # such as model1 or system_b
MAX_NAME_CHARACTERS = 200  # of a name that is searched for; each word of a text may begin with it
_LATIN = r"[^\W\u0250-\u1dff\u1f00-\U0010ffff]"  # letters, digits and _, but no letter of another script
_MAKERS = "openai|anthropic|google|meta|mistral|deepseek|alibaba|microsoft"
_SELF = re.compile(
    r"\b(?:as|i am|i['’]m) (?:an?|just an?) (?:ai|artificial intelligence|(?:large )?language model|chatbot)\b"
    rf"|\blanguage model (?:\w+ )?by\b|\b(?:trained|developed|created) by (?:{_MAKERS})\b"
)
_SELF_NEEDLES = (" ai", "artificial int", "language model", "chatbot", "trained by", "developed by", "created by")


def own_names(m: Material) -> Iterator[LintFinding]:
    """Texts, speakers and fields that contain a system's name; names that also occur in contexts are ordinary words."""
    written = "\n".join(context_of(item, with_speakers=False) for item in m.items)
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
        text = f"The name of {m.owner(system)} is in {counted_texts(m, naming)}."
        advice = "This may unblind annotators. Replace the name in the file or leave these items out."
        severity: Severity = "warning" if is_word else "grave"
        in_texts = within(naming, pattern, severity, text, advice)
        named = [item for speaker, items in m.speakers.items() if pattern.search(speaker) for item in items]
        text = f"A speaker has the name of {m.owner(system)} in {counted(len(set(map(id, named))), 'item')}."
        advice = "Annotators see it. Rename the speaker in the file, or its title in the rubric's `speakers`."
        by_speakers = about(named, "grave", text, advice)
        for finding in (*in_texts, *by_speakers, *_next_to_texts(m, system, spellings, pattern, severity)):
            yield replace(finding, name_mark=mark_of(system))


def _next_to_texts(
    m: Material, system: str, spellings: Sequence[str], pattern: re.Pattern[str], in_texts: Severity
) -> Iterator[LintFinding]:
    elsewhere: Severity = "warning"
    rename = "Replace the name in the file"
    omit = f"{rename}, or leave the field out"
    for what, severity, texts, readers, remedy in (
        ("further texts", in_texts, m.further_texts, "Annotators may see them", omit),
        ("meta fields", elsewhere, m.fields, "Exports of the blind study have them, and a rubric may show them", omit),
        ("ids", elsewhere, m.ids, "Exports of the blind study have them, and its leads and viewers see them", rename),
    ):
        naming = [item for item, text in texts if any(name in text for name in spellings) and pattern.search(text)]
        text = f"The name of {m.owner(system)} is in the {what} of {counted(len(naming), 'item')}."
        yield from about(naming, severity, text, f"{readers}. {remedy}.")


def systems_named(text: str, systems: Iterable[str]) -> list[str]:
    """The systems whose name, or family name, occurs in the text."""
    spelled = {system: _spellings(system) for system in systems}
    return [system for system, words in spelled.items() if words and _pattern(words).search(text.casefold())]


def _pattern(spellings: Sequence[str]) -> re.Pattern[str]:
    """The spellings as whole words. What precedes one is looked at first: in a long word each place may begin with it.

    A name in Latin letters ends where another script begins: Chinese has no spaces, and other languages add endings.
    """
    latin = [re.escape(each) for each in spellings if each.isascii()]
    others = [re.escape(each) for each in spellings if not each.isascii()]
    # a group of each, since a place is then looked at once for all of them
    groups = ((_LATIN, latin), (r"\w", others))
    return re.compile("|".join(rf"(?<!{sign})(?:{'|'.join(group)})(?!{sign})" for sign, group in groups if group))


def _spellings(system: str) -> list[str]:
    """Spellings of a system's name that a text may use, and its family's name; without common words."""
    name = system.strip().casefold()
    parts = [part for part in re.split(r"[\s_\-/.:]+", name) if part]
    whole = {name, " ".join(parts), "-".join(parts), "".join(parts)} if 3 <= len(name) <= MAX_NAME_CHARACTERS else set()
    families = _MODEL_FAMILIES & {re.sub(r"\d+$", "", part) for part in parts}
    plain = _COMMON_NAMES | {word for word in whole if not families and _COUNTED.fullmatch(word)}
    return sorted((whole | families) - plain)


def speaks_of_itself(m: Material) -> Iterator[LintFinding]:
    naming = m.having(_SELF_NEEDLES, _SELF)
    text = f"In {counted_texts(m, naming)} a system calls itself an AI or names its maker."
    advice = "Annotators will know that it is a model. Cut the sentence or leave these items out."
    yield from within(naming, _SELF, "grave", text, advice)
