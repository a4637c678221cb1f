"""What an archive may contain of each annotator, and their names in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd
from sqlmodel import Session

from triptych.privacy.publication import ONE_BY_ONE, agreements
from triptych.results.frame import collection
from triptych.results.frame.counted import counted_ratings, kinds_by_default
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import build_frame, with_annotators_called
from triptych.stats.numbers import counted
from triptych.storage.models import Kind, Study
from triptych.study.settings import Sharing

MIN_HIDING_PEOPLE = 3  # minimum number of people whose sum hides each of them
JUDGE, ANNOTATOR = "Judge", "Annotator"


@dataclass(frozen=True)
class Covered:
    """names: pseudonym → name in the archive, for everybody who has not withdrawn. left: pseudonyms of those who have.

    sharing: pseudonym → what they agreed to; data that no person gave may be published completely. whole: the frame
    with everybody. scope: which of its ratings the archive's results count.
    """

    names: Mapping[str, str]
    left: frozenset[str]
    sharing: Mapping[str, Sharing]
    whole: Frame
    scope: Counted

    @cached_property
    def annotators(self) -> frozenset[str]:
        """Names in the archive of all annotators except judges, whose results are printed individually."""
        return frozenset(name for name in self.names.values() if name.startswith(ANNOTATOR))

    def of_ratings(self, pseudonym: str) -> bool:
        return pseudonym in self.names and self.sharing[pseudonym] in ONE_BY_ONE

    @cached_property
    def writers(self) -> frozenset[str]:
        """Names in the archive of people whose texts may be published."""
        return frozenset(name for pseudonym, name in self.names.items() if self.sharing[pseudonym] == "texts")

    @property
    def caution(self) -> str:
        """A warning for the lead before publishing the archive; "" if none is needed."""
        fewest = self._fewest_hidden({})
        if fewest >= MIN_HIDING_PEOPLE:
            return ""
        return (
            f"In some results, the ratings of only {counted(fewest, 'annotator')} may not be published individually. "
            f"With so few, their own means can be read in the results or computed from them."
        )

    @cached_property
    def shows_groups(self) -> bool:
        """Whether results by group may be published.

        All groups or none: the results over all annotators less those of the other groups are those of the last.
        """
        return self._fewest_hidden(self.groups) >= MIN_HIDING_PEOPLE

    @property
    def groups(self) -> Mapping[str, str]:
        """Pseudonym → their declared group."""
        return self.whole.settings.annotator_groups

    def _fewest_hidden(self, groups: Mapping[str, str]) -> int:
        """Of the people in results only: the fewest with ratings in the same group of one criterion and system."""
        given = counted_ratings(self._staying, self.scope)
        given = given[~given["missing"] & ~given["annotator"].map(self.of_ratings).astype(bool)]
        group = given["annotator"].map(lambda who: groups.get(who, ""))
        sharing = given.groupby(["criterion", "system", group.astype(str).rename("group")], observed=True)["annotator"]
        return int(sharing.nunique().min()) if len(given) else MIN_HIDING_PEOPLE

    @cached_property
    def _staying(self) -> Frame:
        """The frame without people who have left, and without their places in the plan."""
        work, ratings = self.whole.work, self.whole.ratings
        groups = {who: group for who, group in self.groups.items() if who not in self.left}
        return replace(
            self.whole,
            work=self._rows_staying(work),
            ratings=self._rows_staying(ratings),
            planned=collection.without(self.whole.planned, work[work["annotator"].isin(self.left)]),
            settings=self.whole.settings.model_copy(update={"annotator_groups": groups}),
        )

    def _rows_staying(self, rows: pd.DataFrame) -> pd.DataFrame:
        stays = rows[~rows["annotator"].isin(self.left)].reset_index(drop=True)
        return stays.assign(annotator=stays["annotator"].cat.remove_unused_categories())

    @property
    def frame(self) -> Frame:
        """The frame of the archive's results, with the archive's names."""
        groups = self._staying.settings.annotator_groups if self.shows_groups else {}
        settings = self._staying.settings.model_copy(update={"annotator_groups": groups})
        return with_annotators_called(replace(self._staying, settings=settings), self.names, "archived")

    def sentences(self) -> Iterator[str]:
        """What the archive contains about the annotators, and why not more."""
        people = Counter(self.sharing[pseudonym] for pseudonym in self.names)
        words: dict[Sharing, str] = {
            "texts": "agreed to the publication of their ratings, highlights and texts, or are not people.",
            "ratings": "agreed to the publication of their ratings and highlights; their texts are not included.",
            "nothing": "agreed to the publication of results over all annotators only, or declined a later consent "
            "text: their ratings count in the results unless excluded, but are not included individually.",
            "not_asked": "were not asked what may be published: their ratings count in the results unless excluded, "
            "but are not included individually.",
        }
        yield from (
            f"{counted(people[sharing], 'annotator')} {rest}" for sharing, rest in words.items() if people[sharing]
        )
        yield "Anyone who withdrew or was erased before this archive was made is in no file and in no number."
        yield "Results about individual annotators are left out."
        if self.groups and not self.shows_groups:
            yield (
                "Results by group of annotators are left out: they would reveal the ratings of one or two annotators "
                "that are not included."
            )


def covered(session: Session, study: Study) -> Covered:
    """Everybody with finished work in the study. Their numbers do not follow the order of joining."""
    people = sorted(
        agreements(session, study),
        key=lambda person: hashlib.sha256(f"{study.seed} archive {person.pseudonym}".encode()).digest(),
    )
    names: dict[str, str] = {}
    for noun, of_kind in ((ANNOTATOR, set(Kind) - {Kind.judge}), (JUDGE, {Kind.judge})):
        here = [person.pseudonym for person in people if person.kind in of_kind and not person.has_left]
        names |= {pseudonym: f"{noun} {number}" for number, pseudonym in enumerate(here, 1)}
    sharing = {person.pseudonym: person.sharing for person in people}
    left = frozenset(person.pseudonym for person in people if person.has_left)
    scope = Counted(kinds_by_default(study))
    return Covered(names, left, sharing, build_frame(session, study), scope)
