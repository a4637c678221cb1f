"""The guides in docs/, one section at a time."""

import streamlit as st

from components.shell import guides, state
from components.shell.choices import choose
from components.shell.tour import tour_link
from triptych import settings
from triptych.study import lifecycle

who = state.require("lead")
st.title("Help", anchor=False)
tour_link(state.read(lifecycle.for_lead, who))
requested = st.query_params.to_dict()
left, right = st.columns(2)
names = {name: title for name, (_, title) in guides.GUIDES.items()}
# keys per address: otherwise the boxes would keep what a link has changed
guide = choose("Guide", names, f"guide-{requested.get('guide')}", requested.get("guide"), left)
sections = guides.sections(guide)
headings = {slug: heading for slug, (heading, _) in sections.items()}
asked_section = requested.get("section")
section = choose("Section", headings, f"section-{guide}-{asked_section}", asked_section, right)
st.query_params.update(guides.address_of(guide, section))
heading, text = sections[section]
st.header(heading, anchor=False)
st.markdown(text, width=820)
st.caption(f"Triptych {settings.version()}")
