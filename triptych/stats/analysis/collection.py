"""Whether data collection was complete when results were computed, and how strict the tests are until then.

Results that are opened again and again find a difference sooner or later. Until the planned annotations are in, a
difference is therefore clear only with Holm's p below a strict bound (Haybittle 1971, Peto et al. 1976): k looks before
the end add at most k times that bound to the chance of any false finding, whatever the number of tests.
"""

from __future__ import annotations

from dataclasses import dataclass

CLEAR = 0.05
INTERIM = 0.001  # Holm's p below which a difference is clear before the planned annotations are in
NOT_TESTED = "Nothing is tested before collection is over."


@dataclass(frozen=True)
class Collected:
    """The state of data collection when results were computed.

    planned, filled: annotations planned and received. looks: how often leads opened the results before collection was
    complete; one lead on one day is one look. bound: Holm's p below which a difference is clear, 0 where nothing is
    tested before the end. interim: whether collection was still going on. sentences: all this in words.
    """

    planned: int = 0
    filled: int = 0
    looks: int = 0
    bound: float = CLEAR
    interim: bool = False
    sentences: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return " ".join(self.sentences)

    @property
    def untested(self) -> bool:
        """Whether estimates are shown without tests."""
        return self.bound == 0


def bound_in_words(bound: float) -> str:
    """The rule for a clear difference before the planned annotations are in."""
    if not bound:
        return "Until collection is over, estimates are shown without tests, as decided before launch."
    return f"Until collection is over, a difference is clear only with an adjusted p below {bound:g}; then {CLEAR:g}."
