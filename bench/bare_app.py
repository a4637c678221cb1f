"""A Streamlit app of one component and nothing else: what `bench start` compares the start of Triptych with."""

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
