"""Preference data for TRL: pairs (prompt, chosen, rejected) and, from accept or reject, the unpaired form.

A pair is about one criterion with numbers: chosen is the candidate with the higher mean over the annotators who rated
both, `margin` the difference of the means in units of the scale, `n_annotators` the number of these annotators.
An unpaired row says whether more than half of the annotators chose a positive option.
Where a study has dialogues, all texts are lists of messages, as programs that load the file expect one type per column:
the speaker of the last turn before the candidate is the user, everybody else the assistant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from statistics import fmean

from triptych.formats.model import CandidateDraft, JsonObject, TurnDraft
from triptych.formats.writers import preferences
from triptych.formats.writers.model import (
    MAIN_WORK,
    ExportOptions,
    File,
    Finished,
    FinishedAnnotation,
    FinishedItem,
)
from triptych.formats.writers.writing import jsonl_file
from triptych.rubric.model import Criterion

PAIRS = "pairs.jsonl: {n} pairs, one per item, criterion and two systems. Use one criterion per training run."
DIRECTION = (
    "`chosen` has the higher mean. Where lower is better on a criterion, leave its pairs out, or exchange `chosen` and "
    "`rejected`."
)
TIES = "{n} pairs were dropped as ties: their means differ by no more than the margin of {margin:g}."
SAME = "{n} pairs were dropped because both texts are the same."
UNPAIRED = "unpaired.jsonl: {n} rows, one per item, criterion and system, from the options that count as positive."
SPLIT = "{n} candidates were dropped because exactly half of their annotators chose a positive option."
EXTRA = "Titled texts shown with the context are not part of the prompt."
MEAN_DIGITS = 9  # decimals that are compared; means of the same values may differ by rounding beyond them


def trl(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    count: Counter[str] = Counter()
    asked = [criterion for criterion in finished.criteria if options.wants(criterion)]
    yield jsonl_file("pairs.jsonl", _pairs(finished, asked, options.margin, count))
    notes += [preferences.counted_note(finished), PAIRS.format(n=count["pairs"]), DIRECTION]
    notes.append(TIES.format(n=count["ties"], margin=options.margin))
    notes.append(SAME.format(n=count["same"]))
    labelled = [criterion for criterion in asked if preferences.positive_options(criterion)]
    if labelled:
        yield jsonl_file("unpaired.jsonl", _unpaired(finished, labelled, count))
        notes += [UNPAIRED.format(n=count["unpaired"]), SPLIT.format(n=count["split"])]
    notes.append(EXTRA)


def _pairs(finished: Finished, criteria: list[Criterion], margin: float, count: Counter[str]) -> Iterator[JsonObject]:
    numeric = [criterion for criterion in criteria if preferences.is_numeric(criterion)]
    for item in finished.items(MAIN_WORK):
        annotations = preferences.counted(finished, item)
        for criterion in numeric:
            for first, second in combinations(_with_text(item), 2):
                pair = _pair(annotations, criterion, first, second)
                if pair is None:
                    continue
                if round(abs(pair[0] - pair[1]), MEAN_DIGITS) <= margin:
                    count["ties"] += 1
                elif (first.text, first.turns) == (second.text, second.turns):
                    count["same"] += 1
                else:
                    count["pairs"] += 1
                    yield _pair_row(finished, item, criterion, (first, second), pair)


def _with_text(item: FinishedItem) -> list[CandidateDraft]:
    return [candidate for candidate in item.candidates if candidate.text or candidate.turns]


def _pair(
    annotations: list[FinishedAnnotation], criterion: Criterion, first: CandidateDraft, second: CandidateDraft
) -> tuple[float, float, int] | None:
    """(mean of the first, mean of the second, annotators who rated both); None if nobody rated both."""
    both = preferences.rated_both(annotations, criterion, first.system, second.system)
    pairs = ((rating.number, other.number) for _, rating, other in both)
    numbers = [(number, other) for number, other in pairs if number is not None and other is not None]
    if not numbers:
        return None
    return fmean(number for number, _ in numbers), fmean(number for _, number in numbers), len(numbers)


def _pair_row(
    finished: Finished,
    item: FinishedItem,
    criterion: Criterion,
    candidates: tuple[CandidateDraft, CandidateDraft],
    pair: tuple[float, float, int],
) -> JsonObject:
    means = dict(zip(candidates, pair[:2], strict=True))
    chosen, rejected = sorted(candidates, key=means.__getitem__, reverse=True)
    return {
        **_prompt(finished, item),
        "chosen": _completion(finished, item, chosen),
        "rejected": _completion(finished, item, rejected),
        "margin": round(means[chosen] - means[rejected], MEAN_DIGITS),
        "n_annotators": pair[2],
        "criterion": criterion.key,
        "item_id": item.item_id,
        "chosen_system": chosen.system,
        "rejected_system": rejected.system,
    }


def _unpaired(finished: Finished, criteria: list[Criterion], count: Counter[str]) -> Iterator[JsonObject]:
    for item in finished.items(MAIN_WORK):
        annotations = preferences.counted(finished, item)
        for criterion in criteria:
            positive = preferences.positive_options(criterion)
            for candidate in _with_text(item):
                rated = (preferences.ratings_of(annotation, criterion) for annotation in annotations)
                votes = [
                    ratings[candidate.system].option in positive for ratings in rated if candidate.system in ratings
                ]
                if not votes or 2 * sum(votes) == len(votes):
                    count["split"] += bool(votes)
                    continue
                count["unpaired"] += 1
                yield {
                    **_prompt(finished, item),
                    "completion": _completion(finished, item, candidate),
                    "label": 2 * sum(votes) > len(votes),
                    "share_positive": round(fmean(votes), MEAN_DIGITS),
                    "n_annotators": len(votes),
                    "criterion": criterion.key,
                    "item_id": item.item_id,
                    "system": candidate.system,
                }


def _prompt(finished: Finished, item: FinishedItem) -> JsonObject:
    """The context as the prompt; a conversation without a context has no prompt, its completion holds all turns."""
    if not finished.has_dialogues:
        return {"prompt": item.context}
    if item.turns:
        messages = _messages(item.turns, item.turns[-1].speaker)
    else:
        messages = [{"role": "user", "content": item.context}] if item.context else []
    return {} if finished.has_conversations and not messages else {"prompt": messages}


def _completion(finished: Finished, item: FinishedItem, candidate: CandidateDraft) -> str | None | list[dict[str, str]]:
    if not finished.has_dialogues:
        return candidate.text
    if not candidate.turns:
        return [{"role": "assistant", "content": candidate.text or ""}]
    return _messages(candidate.turns, (item.turns or candidate.turns[:1])[-1].speaker)


def _messages(turns: tuple[TurnDraft, ...], user: str) -> list[dict[str, str]]:
    return [{"role": "user" if turn.speaker == user else "assistant", "content": turn.text} for turn in turns]
