"""The length and number of measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """`quick` cuts rounds and times to a fifth, to check that everything runs; `minutes` is for memory under load."""

    quick: bool = False
    minutes: float = 4.0

    def rounds(self, usual: int) -> int:
        return max(usual // 5, 2) if self.quick else usual

    def seconds(self, usual: float) -> float:
        return max(usual / 5, 6.0) if self.quick else usual
