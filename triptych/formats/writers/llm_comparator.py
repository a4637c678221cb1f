"""LLM Comparator: one JSON file per pair of systems, for Google PAIR's side-by-side viewer.

score: the mean difference between the two candidates, from -1.5 to 1.5, positive where the first is higher. Every
criterion is scaled to 0…1 (a positive option is 1), then averaged per annotator, then over annotators.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from statistics import fmean

from triptych.formats.model import JsonObject
from triptych.formats.writers import preferences, task
from triptych.formats.writers.model import MAIN_WORK, ExportOptions, File, Finished, FinishedItem
from triptych.formats.writers.writing import as_json, json_list_file
from triptych.rubric.model import Criterion

MAX_SCORE = 1.5
MAX_TAG_CHARACTERS = 40
SCORE = (
    "`score` is {largest} times the mean difference on {criteria}, each scaled to 0…1; positive: the first model is "
    "higher, which the viewer shows as better. Where lower is better on a criterion, export another one alone, or "
    "reverse the signs. `custom_fields` contains the means on these scales."
)


def llm_comparator(finished: Finished, options: ExportOptions, notes: list[str]) -> Iterator[File]:
    criteria = [c for c in finished.criteria if options.wants(c) and _has_direction(c)]
    for (n, first), (m, second) in combinations(finished.systems.items(), 2):
        entries = _examples(finished, criteria, first, second)
        name = f"system-{n}-and-{m}.json"
        yield json_list_file(name, entries, _head(finished, criteria, first, second), "}")
    keys = ", ".join(f"`{criterion.key}`" for criterion in criteria) or "no criterion: none has a direction"
    notes += [preferences.counted_note(finished), SCORE.format(largest=MAX_SCORE, criteria=keys)]


def _has_direction(criterion: Criterion) -> bool:
    """Whether the criterion is about candidates and its answers have an order; higher is taken as better."""
    ordered = preferences.is_numeric(criterion) or preferences.positive_options(criterion)
    return bool(ordered) and criterion.per_response


def _head(finished: Finished, criteria: list[Criterion], first: str, second: str) -> str:
    schema = [{"name": "item_id", "type": "string"}, {"name": "n_annotators", "type": "number"}]
    schema += [{"name": criterion.key, "type": "per_model_number"} for criterion in criteria]
    source = f"{finished.slug}, design {finished.design_hash}, event {finished.event_number} {finished.event_hash}"
    metadata = {"source_path": source, "custom_fields_schema": schema}
    models = [{"name": first}, {"name": second}]
    return f'{{"metadata": {as_json(metadata)},\n"models": {as_json(models)},\n"examples": '


def _examples(finished: Finished, criteria: list[Criterion], first: str, second: str) -> Iterator[JsonObject]:
    for item in finished.items(MAIN_WORK):
        texts = {candidate.system: task.flat(candidate)[0] for candidate in item.candidates}
        by_person, by_criterion = _shares(finished, item, criteria, first, second)
        if not by_person:
            continue
        scores = {
            annotator: MAX_SCORE * fmean(share - other for share, other in pairs)
            for annotator, pairs in by_person.items()
        }
        means = {key: [fmean(side) for side in zip(*pairs, strict=True)] for key, pairs in by_criterion.items()}
        yield {
            "input_text": task.context(item)[0],
            "tags": [str(value) for value in item.meta.values() if len(str(value)) <= MAX_TAG_CHARACTERS],
            "output_text_a": texts[first],
            "output_text_b": texts[second],
            "score": round(fmean(scores.values()), 6),
            "individual_rater_scores": [
                {"is_flipped": False, "score": round(score, 6), "rationale": _rationale(item, annotator, first, second)}
                for annotator, score in scores.items()
            ],
            "custom_fields": {
                "item_id": item.item_id,
                "n_annotators": len(scores),
                **{criterion.key: means.get(criterion.key, [None, None]) for criterion in criteria},
            },
        }


Pairs = dict[str, list[tuple[float, float]]]


def _shares(
    finished: Finished, item: FinishedItem, criteria: list[Criterion], first: str, second: str
) -> tuple[Pairs, Pairs]:
    """Both candidates' shares of the scale, by annotator and by criterion."""
    by_person: Pairs = defaultdict(list)
    by_criterion: Pairs = defaultdict(list)
    annotations = preferences.counted(finished, item)
    for criterion in criteria:
        for annotator, *ratings in preferences.rated_both(annotations, criterion, first, second):
            share, other = (preferences.share_of_scale(criterion, rating) for rating in ratings)
            if share is not None and other is not None:
                by_person[annotator].append((share, other))
                by_criterion[criterion.key].append((share, other))
    return by_person, by_criterion


def _rationale(item: FinishedItem, annotator: str, first: str, second: str) -> str:
    """The annotator's explanations about both candidates, each after the viewer's letter."""
    lines = []
    for annotation in (a for a in item.annotations if a.annotator == annotator):
        for letter, system in (("A", first), ("B", second)):
            ratings = (rating for slot in annotation.slots if slot.system == system for rating in slot.ratings)
            lines += [f"{letter}, {rating.criterion}: {rating.explanation}" for rating in ratings if rating.explanation]
    return "\n".join(lines)
