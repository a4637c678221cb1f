"""The annotation surface: one component that answers every click in the browser. No script run, no system's name."""

from __future__ import annotations

import json

import streamlit as st

from triptych.annotate.blinding import View
from triptych.web.assets import modules, version

# The modules come from a versioned route that browsers may cache for ever; only these lines are in each message.
LOADER = """
const at = (file) => new URL('assets/%s/' + file, document.baseURI).href;
const link = (rel, file) => {
  const element = Object.assign(document.createElement('link'), {rel, href: at(file)});
  document.head.append(element);
  return element;
};
let style = document.querySelector(`link[href="${at('workbench.css')}"]`);
if (!style) {
  style = link('stylesheet', 'workbench.css');
  for (const file of %s) link('modulepreload', file);
}
const styled = style.sheet || new Promise((done) => (style.onload = style.onerror = done));
const module = import(at('workbench.js'));
export default async (component) => (await Promise.all([module, styled]))[0].default(component);
"""

_mount = st.components.v2.component(
    "triptych.workbench", js=LOADER % (version(), json.dumps(modules())), isolate_styles=False
)


def workbench(view: View, *, key: str, showing: str | None = None) -> str | None:
    """Draw the blinded view once; the workbench then loads further items by its own routes.

    Returns why the annotator left in this run: "stop" for today, "nothing" when no item is left, or None. Drawing the
    page again, for example after a dropped connection, does not change what the workbench shows. `showing` comes from
    the desk: the token of the earlier item that the view shows, if it shows one.
    """
    # one string: Streamlit searches nested data for Arrow tables, and imports pandas to do so
    return _mount(data={"view": view.model_dump_json(), "showing": showing}, key=key, on_left_change=_run_again).left


def _run_again() -> None:
    """Streamlit reports a component's event only where a callback is set."""
