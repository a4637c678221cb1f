"""Judges' scores for which a rubric has no scale: they get separate criteria, which annotators were never asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from triptych.formats.ratings.assemble import Asked, read_value
from triptych.formats.ratings.model import ImportedRating
from triptych.formats.ratings.proposal import ProposedCriterion, distinct_keys, extended, judge_of, propose, scores_of
from triptych.rubric.files import parse_rubric
from triptych.rubric.model import Criterion


def with_scores(asked: Asked, ratings: Iterable[ImportedRating]) -> Asked:
    """How to read the files, with criteria added for scores whose name or scale the rubric does not have.

    Raises InvalidRubric if the names of the scores do not form a rubric.
    """
    by_judge: dict[str, dict[str, list[ImportedRating]]] = defaultdict(lambda: defaultdict(list))
    for rating in ratings:
        by_judge[rating.criterion][judge_of(rating)].append(rating)
    proposals = tuple(_beyond(asked, by_judge))
    if not proposals:
        return asked
    yaml = extended(asked.yaml, proposals)
    return replace(
        asked,
        rubric=parse_rubric(yaml),
        yaml=yaml,
        names={**asked.names, **{proposal.name: proposal.key for proposal in proposals}},
        apart=apart(proposals),
        scores=frozenset(proposal.key for proposal in proposals),
    )


def apart(criteria: Iterable[ProposedCriterion]) -> dict[tuple[str, str], str]:
    """(judge, criterion in the files) → the name of the separate criterion for such scores."""
    return {(judge, proposal.of): proposal.name for proposal in criteria for judge in proposal.judges}


def _beyond(asked: Asked, ratings: Mapping[str, Mapping[str, list[ImportedRating]]]) -> Iterator[ProposedCriterion]:
    """Criteria for scores that the rubric cannot read; ratings: name in the files → judge ("" for people) → ratings.

    People's ratings under unknown names, and scores that form no scale, are still reported as not fitting.
    """
    criteria = {criterion.key: criterion for criterion in asked.rubric.criteria}
    names = {name: scores_of(name, ratings) if "" in of or asked.names[name] else name for name, of in ratings.items()}
    keys = distinct_keys([*criteria, *names.values()], "criterion")
    for name, of in ratings.items():
        criterion = criteria.get(asked.names[name] or "")
        if criterion is None and "" in of:
            continue
        own = [judge for judge in of if judge and not (criterion and _reads(criterion, of[judge]))]
        scores = (replace(rating, criterion=names[name]) for judge in own for rating in of[judge])
        for proposal in propose(scores):
            if proposal.use != "leave out":
                yield replace(proposal, key=keys[names[name]], of=name, judges=tuple(own))


def _reads(criterion: Criterion, scores: Collection[ImportedRating]) -> bool:
    return all(read_value(criterion, score.value, score.missing) is not None for score in scores)
