"""A Streamlit app with a single component: the baseline of `bench start`."""

from __future__ import annotations

import streamlit as st

BUTTON = """
export default ({ parentElement }) => {
  const button = document.createElement('button');
  button.id = 'bare';
  parentElement.append(button);
};
"""
st.components.v2.component("bare.button", js=BUTTON, isolate_styles=False)()
