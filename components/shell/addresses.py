"""The addresses that leads give to others."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import streamlit as st

from triptych.people import places
from triptych.settings import is_loopback
from triptych.storage.models import Study
from triptych.study.settings import settings_of
from triptych.web.origins import configured, prefix_of

THIS_APP = "http://localhost"


def app_address() -> str:
    """The app's address for others, without the page: TRIPTYCH_ADDRESS, otherwise the address in this browser."""
    try:
        url = urlsplit(st.context.url or THIS_APP)
    except ValueError:  # made up, since browsers send none that cannot be read
        url = urlsplit(THIS_APP)
    here, origins = f"{url.scheme}://{url.netloc}", configured().origins
    origin = here if here in origins or not origins else origins[0]
    return f"{origin}{url.path.rpartition('/')[0]}"


def own_path(path: str) -> str:
    """The path of a file that the app serves, as this browser requests it."""
    return f"{prefix_of(st.get_option('server.baseUrlPath'))}/{path}"


def reaches_this_computer_only() -> bool:
    """Whether other computers cannot use the address, because the lead's browser runs on the app's computer."""
    return is_loopback(urlsplit(app_address()).hostname)


def study_address(study: Study) -> str:
    """The address of an open study for its participants."""
    return f"{app_address()}/?{urlencode({'study': study.slug})}"


def personal_address(secret: str) -> str:
    return f"{app_address()}/?{urlencode({'join': secret})}"


def panel_address(study: Study) -> str:
    """The address template for a panel, in Prolific's notation: the panel replaces text in double braces."""
    panel = settings_of(study).panel
    filled_in = f"{panel.id_param}={{{{%{panel.id_param}%}}}}&{panel.session_param}={{{{%{panel.session_param}%}}}}"
    if panel.proof == "secret":
        filled_in += f"&{panel.proof_param}={places.key_of(study)}"
    if panel.proof == "signature":
        filled_in += f"&{panel.proof_param}={{{{%signature%}}}}"
    return f"{study_address(study)}&{filled_in}"
