"""The settings of a study besides its columns: typed, frozen with the design when the study opens."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from triptych.errors import NotAllowed
from triptych.formats.texts.text_format import FIELDS, Format
from triptych.languages.language import message
from triptych.rubric.answers import MarkUnit
from triptych.stats.analysis.collection import INTERIM
from triptych.storage.models import JsonObject, Study

Percent = int
LONGEST_TEXT = 20_000
MAX_PAY = 10**9  # in any currency; a Decimal of 10^900000000 would be printed with all its digits
LongText = Annotated[str, Field(max_length=LONGEST_TEXT)]
Line = Annotated[str, Field(max_length=500)]
Code = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_-]*$", description="letters, digits, _ and -")]


EXPERTISE = {"expert": "experts", "skilled": "skilled people", "crowd": "a crowd"}


class SettingsPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Codes(SettingsPart):
    """Completion codes for annotators to enter on the panel; an empty code is not shown."""

    finished: Code = ""
    failed_test: Code = ""
    screened_out: Code = ""

    @model_validator(mode="after")
    def codes_differ(self) -> Codes:
        codes = [code for code in (self.finished, self.failed_test, self.screened_out) if code]
        if len(set(codes)) < len(codes):
            raise ValueError("each outcome needs a different code, so that the panel can distinguish them")
        return self

    def filled(self) -> Codes:
        """The same codes, with new ones where there were none."""
        return Codes(**{name: code or secrets.token_hex(4).upper() for name, code in self})


Sharing = Literal["not_asked", "nothing", "ratings", "texts"]
# what becomes of the ratings of somebody who withdraws; shown with the consent text
AFTER_WITHDRAWAL = {
    "keep": message("You may withdraw at any time. The ratings you gave until then stay, without your name."),
    "delete": message("You may withdraw at any time. The ratings you gave until then are deleted."),
}
# what an archive of the study (`archive`) may contain; shown with the consent text, with readers and duration
SHARED: dict[Sharing, str] = {
    "nothing": message(
        "Only results over all annotators are published. Your ratings, one by one, are not given to anybody else."
    ),
    "ratings": message(
        "When the study is over, your ratings and highlights are published without your name. Anybody may read them, "
        "for an unlimited time. What you write in your own words is not published."
    ),
    "texts": message(
        "When the study is over, your ratings, your highlights and what you write in your own words are published "
        "without your name. Somebody reads these texts before. Anybody may read them, for an unlimited time."
    ),
}


class Consent(SettingsPart):
    """The consent text shown before anything else; without a text, no consent is asked (reason: `not_needed`)."""

    text: LongText = ""
    not_needed: Line = ""
    after_withdrawal: Literal["keep", "delete"] = Field(
        default="keep", description="what happens to the ratings of someone who withdraws; as stated in the text"
    )
    sharing: Sharing = Field(default="not_asked", description="what is published of each annotator; SHARED says it")

    @property
    def version(self) -> str:
        """Version of the text, so that a stored consent identifies the text that was agreed to."""
        shared = "" if self.sharing == "not_asked" else f"\n{self.sharing}"
        if not shared and self.text.rpartition("\n")[2] in SHARED:
            shared = "\0"  # or it would be the version of a text without this line, which asks what it says
        return hashlib.sha256(f"{self.after_withdrawal}\n{self.text}{shared}".encode()).hexdigest()[:12]


class Ethics(SettingsPart):
    """The approval of an ethics committee with its number, until when data are stored, and who receives complaints."""

    approval: Line = ""
    stored_until: date | None = None
    complaints: Line = ""


# query parameters of the app's own addresses
RESERVED_PARAMETERS = ("study", "join", "setup")
Parameter = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,40}$",
        description="the name of a parameter: letters, digits, _, . and -, starting with a letter",
    ),
]


class PanelAddress(SettingsPart):
    """Query parameters of a panel's addresses, and where people return to; `{code}` is replaced by the code.

    proof: how addresses prove that the panel created them, see `people/places`. most_people: how many may hold a place;
    None for 1.5 × as many as the items need. free_after_minutes: a place without a first answer is freed after it.
    """

    name: str = Field(default="prolific", pattern=r"^[^\n]+$", max_length=40, description="a name on one line")
    id_param: Parameter = "PROLIFIC_PID"
    session_param: Parameter = "SESSION_ID"
    return_url: str = Field(
        default="", max_length=500, pattern=r"^(https://\S+)?$", description="an address that starts with https://"
    )
    proof: Literal["none", "secret", "signature"] = "none"
    proof_param: Parameter = "proof"
    most_people: int | None = Field(default=None, ge=1, le=100_000)
    free_after_minutes: int = Field(default=60, ge=5, le=60 * 24 * 14)

    @model_validator(mode="after")
    def parameters_differ(self) -> PanelAddress:
        names = (self.id_param, self.session_param, self.proof_param, *RESERVED_PARAMETERS)
        if len(set(names)) < len(names):
            raise ValueError(f"the parameters must differ, and not be called {', '.join(RESERVED_PARAMETERS)}")
        return self


class Pay(SettingsPart):
    """Pay for one item, and the lowest pay per hour that the lead considers fair."""

    per_item: Decimal | None = Field(default=None, ge=0, le=MAX_PAY)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$", description="three capital letters, such as USD")
    floor_per_hour: Decimal | None = Field(default=None, ge=0, le=MAX_PAY)


def written_amount(amount: Decimal) -> str:
    """An amount of money as people write it: two decimals, or more if a lead entered more."""
    return f"{amount:.2f}" if amount == round(amount, 2) else f"{amount.normalize():f}"


class Recruitment(SettingsPart):
    """How people were found, and the rules that the panel enforces; printed in the methods text."""

    how: LongText = ""
    eligibility: tuple[Line, ...] = ()


class Checks(SettingsPart):
    """Checks among the items (defaults for 2 to 20 annotators); 0: none."""

    attention_every: int = Field(default=20, ge=0)
    gold_every: int = Field(default=15, ge=0)
    repeat_percent: Percent = Field(default=0, ge=0, le=50)
    repeats_at_least: int = Field(default=3, ge=0)
    repeat_distance: int = Field(default=15, ge=1)


# checks of a new study (docs/statistics.md, "Checks among the items"); changing the defaults of the fields instead
# would change open studies
USUAL_CHECKS = Checks(repeat_percent=5)


class EntryRules(SettingsPart):
    """The entry test: questions of the rubric, or gold items; None takes the rubric's own number."""

    kind: Literal["none", "questions", "gold"] = "questions"
    pass_percent: Percent | None = Field(default=None, ge=1, le=100)
    attempts: int | None = Field(default=None, ge=1, le=10)
    gold_items: int = Field(default=5, ge=1, le=50)


class Overlap(SettingsPart):
    """A subset of the items that more annotators rate than the others."""

    items: int = Field(default=0, ge=0)
    raters: int = Field(default=3, ge=1, le=100)


Margin = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False, description="a difference above 0")]
ItemOrder = Literal["finish", "cover"]
Arrangement = Literal["choice", "side_by_side", "one_at_a_time"]
# settings of a new study; older studies, from before there was a choice, cover all items first and mark by letters
USUAL_ORDER: ItemOrder = "finish"
USUAL_UNIT: MarkUnit = "words"


class Preregistration(SettingsPart):
    """What was declared before the first annotation; hashed with the design.

    slices: fields of the items file; systems are compared separately for each of their values.
    margins: criterion → difference up to which systems count as practically equal, in scale points (shares: 0 to 1).
    interim_bound: an adjusted p below it is clear before the planned annotations are in; 0: nothing is tested.
    """

    criteria: tuple[str, ...] = ()
    primary_criterion: str = ""
    primary_contrast: Line = ""
    sample: LongText = ""
    stop_rule: LongText = ""
    exclusions: LongText = ""
    slices: tuple[Line, ...] = ()
    margins: dict[str, Margin] = Field(default_factory=dict)
    interim_bound: float = Field(
        default=INTERIM, ge=0, le=INTERIM, description="at most 0.001; 0 shows estimates without tests"
    )

    @property
    def declared(self) -> bool:
        return self != Preregistration()

    @property
    def family(self) -> frozenset[str]:
        """Criteria whose tests decide: the primary one, else all declared criteria; empty if none is declared."""
        return frozenset([self.primary_criterion] if self.primary_criterion else self.criteria)


class Formats(SettingsPart):
    """How the texts of each field of an item are shown, for all systems alike."""

    context: Format = "plain"
    responses: Format = "plain"
    extra_texts: Format = "plain"

    @property
    def markdown(self) -> tuple[str, ...]:
        """The fields that are shown formatted."""
        return tuple(field for field in FIELDS if getattr(self, field) == "markdown")


class StudySettings(SettingsPart):
    """All of `study.settings`. Raises ValidationError for invalid values.

    group_field: field of the items file whose values group items (turns of a dialogue). annotator_groups: pseudonym →
    group. common_names: marks (`system_names.mark_of`) of systems whose name is a common word in these texts; marks,
    because the log shows settings.
    """

    items_per_annotator: int | None = Field(default=None, ge=1)
    reservation_minutes: int = Field(default=30, ge=5, le=60 * 24 * 14)
    instructions: LongText = ""
    contact: Line = ""
    content_note: LongText = ""
    codes: Codes = Codes()
    consent: Consent = Consent()
    ethics: Ethics = Ethics()
    panel: PanelAddress = PanelAddress()
    pay: Pay = Pay()
    recruitment: Recruitment = Recruitment()
    formats: Formats = Formats()
    checks: Checks = Checks()
    entry: EntryRules = EntryRules()
    overlap: Overlap = Overlap()
    item_order: ItemOrder = Field(
        default="cover",
        description="finish a few items with all their annotators before the next ones begin, or cover all items first",
    )
    # pydantic copies a default that contains a dict each time, which takes three times as long as creating a new one
    preregistration: Preregistration = Field(default_factory=Preregistration)
    group_field: Line = ""
    annotator_groups: dict[str, Line] = Field(default_factory=dict)
    common_names: tuple[Code, ...] = ()
    arrangement: Arrangement = Field(
        default="choice",
        description="how several responses are shown: as annotators choose, side by side, or one at a time",
    )
    mark_unit: MarkUnit = Field(
        default="letters",
        description="what a selection by mouse or touch is extended to, unless the annotator switches: letters, or "
        "words",
    )
    language: str = Field(default="", pattern=r"^([a-z]{2,3})?$", description="of the pages; empty: the browser's")
    viewers_read_explanations: bool = False
    expertise: Literal["expert", "skilled", "crowd"] = "skilled"
    heds: JsonObject = Field(default_factory=dict)


def settings_of(study: Study) -> StudySettings:
    """The study's settings, typed; settings that are not stored have their defaults."""
    return StudySettings.model_validate(study.settings)


def placed_settings(study: Study) -> StudySettings:
    """As `settings_of`, for settings that somebody may have written into a file: each value has the form in which this
    program stores it, as it may be read without its type. Raises ValidationError, ValueError.
    """
    return StudySettings.model_validate_json(json.dumps(study.settings), strict=True)


def formats_of(study: Study) -> Formats:
    """How the study's texts are shown; needed for every item, so it reads this part of the settings only."""
    return Formats.model_validate(study.settings.get("formats", {}))


def stored(settings: StudySettings) -> JsonObject:
    """The settings as JSON, without those at their defaults."""
    return settings.model_dump(mode="json", exclude_defaults=True)


def changed(study: Study, **parts: object) -> StudySettings:
    """The study's settings with these parts replaced. Raises NotAllowed with a line for each invalid value."""
    try:
        return StudySettings.model_validate({**study.settings, **parts})
    except ValidationError as error:
        raise NotAllowed(*map(_wording, error.errors())) from error


def _wording(mistake: Any) -> str:
    """The field with the mistake and what would be valid."""
    place = " → ".join(str(part).replace("_", " ") for part in mistake["loc"])
    if mistake["type"] == "string_pattern_mismatch":
        return f"{place}: {mistake['input']!r} does not fit; write {_described(mistake['loc'])}."
    return f"{place}: {mistake['msg'].removeprefix('Value error, ').rstrip('.')}."


def _described(place: tuple[object, ...]) -> str:
    """The description of the field at this place."""
    model: Any = StudySettings
    for name in place[:-1]:
        model = model.model_fields[name].annotation
    return model.model_fields[place[-1]].description or "something else"
