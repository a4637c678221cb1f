"""What a lead decides about a study besides its columns: typed, frozen with the design when the study opens."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from triptych.errors import NotAllowed
from triptych.models import Study

Percent = int


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Codes(Part):
    """Completion codes that an annotator takes back to the panel; empty: none is shown."""

    finished: str = ""
    failed_test: str = ""
    screened_out: str = ""


class Consent(Part):
    """What annotators agree to before anything else; no text: nothing is asked."""

    text: str = ""
    after_withdrawal: Literal["keep", "delete"] = Field(
        default="keep", description="what happens to the ratings of somebody who withdraws; the text says so"
    )

    @property
    def version(self) -> str:
        """Changes with the text, so that a consent names what was agreed to."""
        return hashlib.sha256(f"{self.after_withdrawal}\n{self.text}".encode()).hexdigest()[:12]


class PanelAddress(Part):
    """How a panel names its people in the address, and where they go back to; `{code}` stands for the code."""

    name: str = "prolific"
    id_param: str = Field(default="PROLIFIC_PID", pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,40}$")
    session_param: str = Field(default="SESSION_ID", pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,40}$")
    return_url: str = Field(default="", pattern=r"^(https://.+)?$")


class Pay(Part):
    """Pay for one item, and the least per hour that the lead finds fair."""

    per_item: Decimal | None = Field(default=None, ge=0)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    floor_per_hour: Decimal | None = Field(default=None, ge=0)


class Recruitment(Part):
    """How people were found, and the rules that the panel enforces; printed in the methods text."""

    how: str = ""
    eligibility: tuple[str, ...] = ()


class Checks(Part):
    """Checks among the items (methods: defaults for 2 to 20 annotators); 0: none."""

    attention_every: int = Field(default=20, ge=0)
    gold_every: int = Field(default=15, ge=0)
    repeat_percent: Percent = Field(default=0, ge=0, le=50)
    repeats_at_least: int = Field(default=3, ge=0)
    repeat_distance: int = Field(default=15, ge=1)


class EntryRules(Part):
    """The entry test: questions of the rubric, or gold items; None takes the rubric's own number."""

    kind: Literal["none", "questions", "gold"] = "questions"
    pass_percent: Percent | None = Field(default=None, ge=1, le=100)
    attempts: int | None = Field(default=None, ge=1, le=10)
    gold_items: int = Field(default=5, ge=1, le=50)


class Overlap(Part):
    """A subset of the items that more annotators rate than the others."""

    items: int = Field(default=0, ge=0)
    raters: int = Field(default=3, ge=1, le=100)


class Preregistration(Part):
    """What was declared before the first annotation; hashed with the design."""

    criteria: tuple[str, ...] = ()
    primary_criterion: str = ""
    primary_contrast: str = ""
    sample: str = ""
    stop_rule: str = ""
    exclusions: str = ""

    @property
    def declared(self) -> bool:
        return self != Preregistration()


class StudySettings(BaseModel):
    """All of `study.settings`. Raises ValidationError for what does not fit."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    items_per_annotator: int | None = Field(default=None, ge=1)
    reservation_minutes: int = Field(default=30, ge=5, le=60 * 24 * 14)
    instructions: str = ""
    contact: str = ""
    content_note: str = ""
    codes: Codes = Codes()
    consent: Consent = Consent()
    panel: PanelAddress = PanelAddress()
    pay: Pay = Pay()
    recruitment: Recruitment = Recruitment()
    checks: Checks = Checks()
    entry: EntryRules = EntryRules()
    overlap: Overlap = Overlap()
    preregistration: Preregistration = Preregistration()
    heds: dict[str, Any] = {}


def settings_of(study: Study) -> StudySettings:
    """The study's settings, typed; what is not stored has its default."""
    return StudySettings.model_validate(_as_now(study.settings))


def stored(settings: StudySettings) -> dict[str, Any]:
    """The JSON of the settings, without what is at its default."""
    return settings.model_dump(mode="json", exclude_defaults=True)


def changed(study: Study, **parts: Any) -> StudySettings:
    """The study's settings with these parts instead. Raises NotAllowed with a line for each that does not fit."""
    try:
        return StudySettings.model_validate({**_as_now(study.settings), **parts})
    except ValidationError as error:
        lines = [f"{' → '.join(str(part) for part in one['loc'])}: {one['msg']}." for one in error.errors()]
        raise NotAllowed("\n".join(lines)) from error


def _as_now(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as an older version stored them: it had one completion code."""
    found = dict(settings)
    code = found.pop("completion_code", None)
    if code and "codes" not in found:
        found["codes"] = {"finished": code}
    return found
