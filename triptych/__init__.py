"""The core of Triptych, true without a screen: never Streamlit."""
