"""What a file of items and a rubric expect of each other, before the study is created."""

from __future__ import annotations

from triptych.formats.model import ItemFile
from triptych.rubric.model import Rubric
from triptych.stats.numbers import first_words

MAX_NAMED = 20


def misfits(rubric: Rubric, file: ItemFile) -> list[str]:
    """Warnings about a file together with this rubric, as sentences; none of them prevents the import."""
    named = rubric.speaker_titles
    strangers = [speaker for speaker in file.speakers if named and speaker not in named]
    candidates = [candidate for item in file.items for candidate in item.candidates]
    texts = sum(candidate.turns is None for candidate in candidates)
    shown_fields = {*rubric.context.show, *([rubric.context.stars] if rubric.context.stars else [])}
    given_fields = {name for item in file.items for name in item.meta}
    given_texts = {name for item in file.items for name in item.extra_texts}
    warnings = []
    if strangers:
        names = first_words([f"'{name}'" for name in strangers], MAX_NAMED, ", ")
        warnings.append(f"The rubric does not name the speakers {names}; they appear under these names, on the left.")
    if rubric.judged == "conversation" and texts:
        warnings.append(
            f"The rubric judges whole conversations, but {texts} of {len(candidates)} candidates are a single text."
        )
    if rubric.judged == "response" and texts < len(candidates):
        warnings.append(
            f"The rubric judges single responses, but {len(candidates) - texts} candidates are conversations."
        )
    for name in sorted(shown_fields - given_fields):
        warnings.append(f"The rubric shows the field '{name}' next to the responses, but no item has it.")
    rounds = " and ".join(rubric.context.extra_rounds)
    when = f" in the {rounds} round" if rounds else ""
    for name in sorted(set(rubric.context.extra_texts) - given_texts):
        warnings.append(f"The rubric shows the text '{name}' next to the responses{when}, but no item has it.")
    return warnings
