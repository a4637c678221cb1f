"""The annotation surface: one component that handles every click in the browser. No script run, no system name.

`texts/` draws, searches and highlights texts; its marked.js shows leads an item's highlights.
"""

from __future__ import annotations

import json

import streamlit as st

from triptych.annotate.blinding import View
from triptych.languages import language
from triptych.web.assets import modules, version

AHEAD = """
const link = (rel, file) => {
  const element = Object.assign(document.createElement('link'), {rel, href: at(file)});
  document.head.append(element);
  return element;
};
const STYLES = ['workbench/workbench.css', 'workbench/teaching.css'];
const linked = (file) => document.querySelector(`link[href="${at(file)}"]`);
if (!linked(STYLES[0])) for (const file of %s) link('modulepreload', file);
const ready = Promise.all(STYLES.map((file) => {
  const style = linked(file) ?? link('stylesheet', file);
  return style.sheet || new Promise((done) => (style.onload = style.onerror = done));
}));
"""
RUN = "export default async (component) => (await Promise.all([module, ready]))[0].default(component);\n"
OF_LEADS = "workbench/texts/marked.js"


def from_assets(file: str, before: str = "const ready = null;\n") -> str:
    """The script of a component in a module of ours. `before` runs first; it may use its function `at`, and sets
    `ready` to what must be awaited.

    Modules come from a versioned route that browsers may cache for ever; only these lines are in each message.
    """
    at = f"const at = (file) => new URL('assets/{version()}/' + file, document.baseURI).href;\n"
    return f"{at}{before}const module = import(at('{file}'));\n{RUN}"


AHEAD_OF_WORKBENCH = AHEAD % json.dumps([name for name in modules("workbench", "workbench/texts") if name != OF_LEADS])
_mount = st.components.v2.component(
    "triptych.workbench", js=from_assets("workbench/workbench.js", AHEAD_OF_WORKBENCH), isolate_styles=False
)


def workbench(view: View, *, key: str, showing: str | None = None) -> str | None:
    """Draw the blinded view once; the workbench then loads further items through its own routes.

    Returns why the annotator left in this run: "stop" for today, "nothing" if no item is left, or None. Drawing the
    page again, for example after a lost connection, does not change what the workbench shows. `showing` comes from the
    desk: the token of the earlier item in the view, if it shows one.
    """
    # as one string: Streamlit searches nested data for Arrow tables, and imports pandas to do so
    data = {"view": view.model_dump_json(), "showing": showing, "language": language.used()}
    return _mount(data=data, key=key, on_left_change=_run_again).left


def _run_again() -> None:
    """Empty: Streamlit reports a component's event only if there is a callback."""
