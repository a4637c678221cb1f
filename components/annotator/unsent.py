"""Removes from the browser what its annotator has not sent of a study that they have left."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

# again a moment later: a workbench that this page replaces stores its draft when it closes
FORGET = """
export default ({ data }) => {
  const isTheirs = (key) => data.split(' ').some((own) => key.startsWith(`triptych:${own}:`));
  const forget = () => {
    try {
      Object.keys(localStorage).filter(isTheirs).forEach((key) => localStorage.removeItem(key));
    } catch {} // storage may be forbidden; then nothing was stored here
  };
  forget();
  setTimeout(forget, 1000);
};
"""
_forget = st.components.v2.component("triptych.forget", js=FORGET)


def forget(store_keys: Iterable[str]) -> None:
    """Remove the drafts of these names (see `blinding.store_keys`) from this browser."""
    _forget(data=" ".join(store_keys), key="forget")
