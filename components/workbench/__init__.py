"""The annotation surface: one component that answers every click in the browser, without a script run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from triptych.blinding import View
from triptych.web.assets import version

# The modules come from a versioned route that browsers may keep for ever; only these lines ride in each message.
LOADER = """
const at = (file) => new URL('assets/%s/' + file, document.baseURI).href;
if (!document.querySelector('link[data-tw-style]')) {
  const style = document.createElement('link');
  style.rel = 'stylesheet';
  style.href = at('workbench.css');
  style.dataset.twStyle = '';
  document.head.append(style);
}
const module = import(at('workbench.js'));
export default async (component) => (await module).default({ ...component, data: JSON.parse(component.data.view) });
"""

_mount = st.components.v2.component("triptych.workbench", js=LOADER % version(), isolate_styles=False)


def workbench(view: View, *, key: str, on_action: Callable[[], None]) -> dict[str, Any] | None:
    """Draws the blinded view; returns the action of this run, if the browser sent one."""
    # one string: of nested data Streamlit makes an Arrow search, and imports pandas for it
    result = _mount(data={"view": view.model_dump_json()}, key=key, on_action_change=on_action)
    return result.action
