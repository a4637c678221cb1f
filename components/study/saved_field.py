"""A study's settings as fields by kind. A field is saved when the user leaves it; there is no save button.

A field remembers the stored value that it showed. If another lead has stored another value since, the field says so and
the user chooses. The browser keeps input that is not yet stored (saved_field.js) and sends it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from secrets import token_hex
from typing import Any

import streamlit as st

from components.shell import state
from components.shell.choices import Key, distinct
from components.shell.words import clock_time
from triptych.errors import TriptychError
from triptych.storage.models import Study, StudyState
from triptych.storage.unavailable import DatabaseUnavailable
from triptych.study import saved_setting
from triptych.study.design import fixed
from triptych.study.persons import Who
from triptych.study.saved_setting import Change, Overtaken, value_of
from triptych.study.settings import LONGEST_TEXT, written_amount
from triptych.web.session import stored_name

STATUS = '<p class="triptych-saved" role="status"></p>\n'
_script = Path(__file__).with_name("saved_field.js").read_text(encoding="utf-8")
# the fields scroll below the status line
STYLE = """
[data-testid="stLayoutWrapper"]:has(> .st-key-setup-status) {
  position: sticky; top: var(--frame-height, 3.5rem); z-index: 9; background: var(--st-background-color);
}
[class*="st-key-section-"] { scroll-margin-top: 12rem; }
.triptych-saved { margin: 0.4rem 0; color: var(--st-text-color); }
[data-triptych-summary]::after {
  content: attr(data-triptych-summary); margin-left: 0.75rem; opacity: 0.75; font-size: 0.875rem;
  flex: 0 0 auto; max-width: 65%; text-align: end;
}
@media (max-width: 800px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-setup-status) { top: 2.25rem; }
  [data-triptych-summary]::after { max-width: 45%; }
}
"""
_status = st.components.v2.component("triptych.saved", html=STATUS, css=STYLE, js=_script, isolate_styles=False)
LOCKED = "Launched: to change this, write the reason under *Amend* first."


def _same(value: object) -> object:
    return value


@dataclass(frozen=True)
class SettingField:
    """A setting and the Streamlit widget that shows it.

    shown: from the stored value to the widget's; stored: back. typed: from the browser's text to the widget's value.
    """

    path: str
    label: str
    widget: str
    options: Mapping[str, Any] = field(default_factory=dict)
    shown: Callable[[Any], Any] = _same
    stored: Callable[[Any], Any] = _same
    typed: Callable[[str], Any] = str

    def starting_with(self, content: object) -> dict[str, object]:
        """The option that makes this content the widget's first value."""
        match self.widget:
            case "selectbox":
                keys = self.options["options"]
                return {"index": keys.index(content) if content in keys else None}
            case "multiselect":
                return {"default": content}
            case _:
                return {"value": content}


def short_text(path: str, label: str, longest: int = 500, **options: object) -> SettingField:
    return SettingField(path, label, "text_input", {"max_chars": longest, **options})


def capitals(path: str, label: str, longest: int) -> SettingField:
    return SettingField(path, label, "text_input", {"max_chars": longest}, stored=str.upper)


def long_text(path: str, label: str, **options: object) -> SettingField:
    return SettingField(path, label, "text_area", {"height": 140, "max_chars": LONGEST_TEXT, **options})


def lines(path: str, label: str) -> SettingField:
    """A list of distinct lines."""
    return SettingField(path, label, "text_area", {"height": 110}, "\n".join, lines_of)


def number(path: str, label: str, least: float, most: float | None = None, **options: object) -> SettingField:
    """A required number; optional with `value=None`."""
    bounds = {"min_value": least, "max_value": most}
    return SettingField(path, label, "number_input", bounds | options, typed=type(least))


def money(path: str, label: str) -> SettingField:
    """An amount, stored as text, since a float could be rounded."""
    options = {"min_value": 0.0, "step": 0.01, "value": None, "placeholder": "Not set"}
    return SettingField(path, label, "number_input", options, _as_float, _as_amount, float)


def choice(path: str, label: str, names: Mapping[Key, str], **options: object) -> SettingField:
    return SettingField(path, label, "selectbox", _offered(names) | options)


def several(path: str, label: str, names: Mapping[str, str], **options: object) -> SettingField:
    """Several of these names; stored values that are no longer among them are dropped."""
    options = _offered(names) | options
    return SettingField(path, label, "multiselect", options, lambda keys: [key for key in keys if key in names])


def _offered(names: Mapping[Key, str]) -> dict[str, object]:
    return {"options": list(names), "format_func": distinct(names).__getitem__}


def day(path: str, label: str, **options: object) -> SettingField:
    options = {"value": None, "format": "YYYY-MM-DD", **options}
    return SettingField(path, label, "date_input", options, _as_day, lambda value: value and value.isoformat())


def _as_float(amount: str | None) -> float | None:
    return None if amount is None else float(amount)


def _decimals(number: float) -> int:
    """How many decimals show the whole number: at least two, as Streamlit shows without a format."""
    return len(written_amount(Decimal(repr(number))).partition(".")[2])


def _as_amount(amount: float | None) -> str | None:
    return None if amount is None else written_amount(Decimal(repr(amount)))


def _as_day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def lines_of(text: str) -> list[str]:
    """The distinct lines of a text that are not empty."""
    return list(dict.fromkeys(line for line in map(str.strip, text.splitlines()) if line))


@dataclass
class Memory:
    """The state of a study's settings in one browser tab. Callbacks change it, as they may not write the session state.

    seen: path → the stored value on which the field's content is based. refused: path → why the content is not stored,
    and whether sending it again may help. settled: path → the text that was stored or discarded. shown_next: path → the
    next value of the widget. came_back: paths whose content a tab brought from an earlier session; the browser may have
    typed text for them that was not stored. fields: all fields drawn in this session; drawn: the paths drawn in this
    run. asked: the section last named by the address; go_to: the section to open.
    """

    session: str = field(default_factory=lambda: token_hex(8))
    seen: dict[str, object] = field(default_factory=dict)
    refused: dict[str, tuple[str, bool]] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    shown_next: dict[str, Any] = field(default_factory=dict)
    came_back: set[str] = field(default_factory=set)
    fields: dict[str, SettingField] = field(default_factory=dict)
    drawn: set[str] = field(default_factory=set)
    asked: str = ""
    go_to: str = ""
    has_begun: bool = False

    def go(self, section: str) -> None:
        """Open the section in the next run."""
        self.go_to = section


class SettingsSheet:
    """The fields of one study for one lead. `reason`: for amendments; without it a launched study is read-only."""

    def __init__(self, study: Study, who: Who, log: Sequence[Change], reason: str = "") -> None:
        self.study, self.who, self.log, self.reason = study, who, log, reason
        name = f"sheet-{study.slug}"
        self.memory: Memory = state.recall(name) or Memory()
        self.memory.drawn = set()
        state.remember(name, self.memory)

    @property
    def is_draft(self) -> bool:
        return self.study.state == StudyState.draft

    @property
    def unsaved(self) -> list[str]:
        """Labels of the fields with content that is not stored."""
        paths = [path for path in self.memory.drawn if path in self.memory.refused or self._overtaken(path)]
        return sorted(self.memory.fields[path].label for path in paths)

    def draw(self, *rows: SettingField | Sequence[SettingField]) -> None:
        """Draw fields below each other; those in a sequence side by side."""
        for row in rows:
            fields = [row] if isinstance(row, SettingField) else row
            for column, each in zip(st.columns(len(fields)), fields, strict=True):
                with column:
                    self._draw(each)

    def _draw(self, each: SettingField) -> None:
        memory, path, key = self.memory, each.path, self.key(each.path)
        now, held = value_of(self.study, path), state.recall(key, memory)
        is_new = held is memory or path not in memory.seen
        if is_new and path not in memory.shown_next:
            memory.refused.pop(path, None)
        content = memory.shown_next.pop(path, each.shown(now) if is_new else held)
        if is_new or each.stored(content) == now:
            memory.seen[path] = now
        options = dict(each.options)
        if each.typed is float and content is not None:
            options["format"] = f"%.{_decimals(content)}f"
        if not state.change_shown(key, content):
            options |= each.starting_with(content)
        memory.fields[path] = each
        memory.drawn.add(path)
        locked = self._locked(path)
        options |= {"help": locked or each.options.get("help"), "disabled": bool(locked)}
        returned = getattr(st, each.widget)(each.label, key=key, on_change=self._store, args=(path,), **options)
        # a tab after a restart of the server: this is what its lead saw; None where the list lacks what is stored
        if is_new and returned not in (content, None):
            memory.seen[path] = each.stored(returned)
            memory.came_back.add(path)
        if path in memory.refused:
            state.say(f"Not saved. {memory.refused[path][0]}")
        elif self._overtaken(path):
            self._offer(path)

    def key(self, path: str) -> str:
        return f"set-{self.study.slug}-{path}"

    def _locked(self, path: str) -> str:
        """Why the setting cannot be changed now; "" if it can."""
        if self.is_draft:
            return ""
        return fixed(self.study, path.partition(".")[0]) or ("" if self.reason else LOCKED)

    def _overtaken(self, path: str) -> bool:
        return self.memory.seen[path] != value_of(self.study, path)

    def _is_stopped(self, path: str) -> bool:
        """Whether sending the content again would not help."""
        is_refused = not self.memory.refused.get(path, ("", True))[1]
        return is_refused or (self._overtaken(path) and path not in self.memory.came_back)

    def _offer(self, path: str) -> None:
        """The value that another lead stored meanwhile, and buttons to choose."""
        change = saved_setting.last_change(self.log, path)
        by = f"{change.actor} changed this at {clock_time(change.at)}" if change else "Someone else changed this"
        now = self.memory.fields[path].shown(value_of(self.study, path))
        with st.container(border=True):
            st.text(f"{by}. It is now: {now if now not in (None, '') else 'empty'}")
            with st.container(horizontal=True):
                st.button("Take it", key=f"take-{self.key(path)}", on_click=self.renew, args=(path,))
                st.button("Save my version", key=f"mine-{self.key(path)}", on_click=self._insist, args=(path,))

    # Callbacks only read the session state: the next click may end them at any other access to it

    def _store(self, path: str) -> None:
        self._write(path, state.recall(self.key(path)))

    def _write(self, path: str, content: object) -> None:
        memory = self.memory
        value, seen = memory.fields[path].stored(content), memory.seen[path]
        memory.came_back.discard(path)
        try:
            with state.writing() as session:
                study, actor = state.led_study(session, self.who, self.study.slug), self.who.pseudonym
                after = saved_setting.write(session, study, path, value, seen, actor, self.reason)
        except Overtaken:
            memory.refused.pop(path, None)
        except TriptychError as refusal:
            memory.refused[path] = str(refusal), isinstance(refusal, DatabaseUnavailable)
        else:
            memory.seen[path] = after
            memory.refused.pop(path, None)
            memory.settled[path] = str(content)

    def _insist(self, path: str) -> None:
        self.memory.seen[path] = value_of(self.study, path)
        self._store(path)

    def renew(self, path: str) -> None:
        """Show the stored value next and discard the field's content."""
        self.memory.settled[path] = str(state.recall(self.key(path)))
        self.memory.seen.pop(path, None)
        self.memory.refused.pop(path, None)
        self.memory.came_back.discard(path)

    def step(self, command: Callable[..., str]) -> None:
        """Run undo or redo."""
        who, slug = self.who, self.study.slug
        path = state.run_command(lambda session: command(session, state.led_study(session, who, slug), who.pseudonym))
        if path is not None:
            self.renew(path)

    def _take_again(self) -> None:
        """Store what the browser has and the server did not receive, after a reload, a lost connection or a restart."""
        for path, entry in (state.recall(self.key("status")) or {}).get("again", {}).items():
            each, text = self.memory.fields.get(path), entry["text"]
            if each is None or self._locked(path):
                continue
            now = value_of(self.study, path)
            try:
                was_sent = now in [each.stored(each.typed(part)) for part in entry["sent"]]
                content = each.typed(text)
            except ValueError:  # an incomplete number
                self.memory.settled[path] = text
                continue
            self.memory.seen[path] = now if was_sent else entry["seen"]
            self.memory.shown_next[path] = content
            self._write(path, content)

    # The status line

    def _step(self, label: str, command: Callable[..., str], change: Change | None) -> None:
        about = change.path.replace(".", " → ").replace("_", " ") if change else "Nothing"
        icon, hint = f":material/{label.lower()}:", f"{label}: {about}"
        st.button(label, icon=icon, help=hint, disabled=change is None, on_click=self.step, args=(command,))

    def status(self, go_to: str, summaries: Mapping[str, str]) -> None:
        """Undo, redo, and when the last change was stored. Call it after drawing the fields, in a container above them.

        go_to: the key of the element to scroll to; summaries: key of a section → text next to its name.
        """
        history, memory = saved_setting.history(self.log, self.who.pseudonym), self.memory
        with st.container(horizontal=True, vertical_alignment="center", key="setup-status"):
            self._step("Undo", saved_setting.undo, history.undo)
            self._step("Redo", saved_setting.redo, history.redo)
            shown = {path: str(each.shown(value_of(self.study, path))) for path, each in memory.fields.items()}
            data = {
                "name": f"triptych-setup:{stored_name(self.who.pseudonym, self.study.slug)}",
                "session": memory.session,
                "savedAt": history.saved_at and history.saved_at.isoformat(),
                "hint": "Every field is saved as you type" if self.is_draft else "",
                "fields": {
                    css_key(self.key(path)): {"path": path, "stored": shown[path], "seen": memory.seen[path]}
                    for path in sorted(memory.drawn)
                },
                "settled": memory.settled,
                "goTo": go_to,
                "summaries": summaries,
                "stopped": [path for path in memory.drawn if self._is_stopped(path)],
            }
            _status(data={"text": json.dumps(data)}, key=self.key("status"), on_again_change=self._take_again)


def css_key(key: str) -> str:
    """The last part of the CSS class that Streamlit gives to the element with this key."""
    return re.sub(r"[^a-zA-Z0-9_-]", "-", key)
