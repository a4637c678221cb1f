"""Which study a lead's page is about: the address names it, a box changes it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from triptych.storage.models import Study


def choose_study(studies: Sequence[Study]) -> str:
    """The slug in the address, or the newest study's; stops the page where there is none to choose."""
    if not studies:
        st.info("You lead no study yet.")
        st.stop()
    titles = {study.slug: f"{study.title} ({'demo' if study.demo else study.round})" for study in studies}
    requested = st.query_params.get("study", studies[0].slug)
    if requested not in titles:
        st.error("You lead no study with this address. Open one from the list of studies.")
        st.stop()
    # a key per address: otherwise the box would keep a study that the address no longer names
    chosen = st.selectbox(
        "Study", list(titles), list(titles).index(requested), titles.__getitem__, key=f"study-{requested}"
    )
    st.query_params["study"] = chosen
    return chosen
