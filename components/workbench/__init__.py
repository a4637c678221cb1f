"""The annotation surface: one component that answers every click in the browser, without a script run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from triptych.blinding import View
from triptych.web.assets import version

# all are asked for at once, instead of one level of imports after the other
MODULES = sorted(path.name for path in Path(__file__).parent.glob("*.js"))
# The modules come from a versioned route that browsers may keep for ever; only these lines ride in each message.
LOADER = """
const at = (file) => new URL('assets/%s/' + file, document.baseURI).href;
if (!document.querySelector('link[data-tw-style]')) {
  const style = document.createElement('link');
  style.rel = 'stylesheet';
  style.href = at('workbench.css');
  style.dataset.twStyle = '';
  document.head.append(style);
  for (const file of %s) {
    const ahead = document.createElement('link');
    ahead.rel = 'modulepreload';
    ahead.href = at(file);
    document.head.append(ahead);
  }
}
const module = import(at('workbench.js'));
export default async (component) => (await module).default({ ...component, data: JSON.parse(component.data.view) });
"""

_mount = st.components.v2.component(
    "triptych.workbench", js=LOADER % (version(), json.dumps(MODULES)), isolate_styles=False
)


def workbench(view: View, *, key: str, on_action: Callable[[], None]) -> dict[str, Any] | None:
    """Draws the blinded view; returns the action of this run, if the browser sent one."""
    # one string: of nested data Streamlit makes an Arrow search, and imports pandas for it
    result = _mount(data={"view": view.model_dump_json()}, key=key, on_action_change=on_action)
    return result.action
