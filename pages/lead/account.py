"""The lead's own account: name, a new passcode, tokens for scripts, and the data stored about them."""

import streamlit as st

from components.people.tokens import CANNOT, WHAT, made_token, new_token, token_list
from components.shell import state
from triptych.errors import NotAllowed
from triptych.people import signing_in, tokens
from triptych.storage.models import Person
from triptych.study import lifecycle

CONSEQUENCE = "A new passcode signs you out in every other browser and revokes your tokens."


def change_passcode() -> Person:
    if new != again:
        raise NotAllowed("The two new passcodes differ.")
    return signing_in.change_passcode(state.engine(), who, present, new, state.browser())


who = state.require("lead")
st.title("Account", anchor=False)
with state.reading() as session:
    name = session.get_one(Person, who.person_id).name
    made = tokens.of_person(session, who.person_id)
    studies = lifecycle.for_lead(session, who)
st.text(f"You are signed in as {name}. In studies and logs you appear as {who.pseudonym}.")
st.header("Passcode", anchor=False)
with st.form("passcode", border=False, width=440):
    present = st.text_input("Present passcode", type="password", autocomplete="current-password")
    new = st.text_input("New passcode", type="password", autocomplete="new-password")
    again = st.text_input("New passcode again", type="password", autocomplete="new-password")
    st.caption(CONSEQUENCE)
    if state.form_button("Change the passcode", "account-passcode", type="primary"):
        state.sign_in_by(change_passcode)
state.show_messages()
st.header("Tokens for scripts", anchor=False)
st.text(WHAT)
new_token(studies, who)  # first: what appears above it would come under the second click of a double click
made_token()
token_list(made, who)
st.caption(CANNOT)
st.header("Your data", anchor=False)
st.page_link("annotator/my_data.py", label="What is stored about your own annotations", icon=":material/lock:")
