"""The annotation surface: one component that answers every click in the browser. No script run, no system's name."""

from __future__ import annotations

import json

import streamlit as st

from triptych.annotate.blinding import View
from triptych.web.assets import modules, version

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
const module = import(at('entry.js'));
export default async (component) => (await module).default(component);
"""

_mount = st.components.v2.component(
    "triptych.workbench", js=LOADER % (version(), json.dumps(modules())), isolate_styles=False
)


def workbench(view: View, *, key: str, showing: str | None = None) -> str | None:
    """Draws the blinded view once and lets the workbench go on from there by its own routes.

    Returns why the annotator left in this run: "stop" for today, "nothing" when no item is left, or None. A page drawn
    again, after a dropped connection for example, does not disturb what the workbench shows. `showing` is the desk's:
    the token of an earlier item that the view is of.
    """
    # one string: of nested data Streamlit makes an Arrow search, and imports pandas for it
    return _mount(data={"view": view.model_dump_json(), "showing": showing}, key=key, on_left_change=_run_again).left


def _run_again() -> None:
    """Streamlit reports a component's event only where somebody listens."""
