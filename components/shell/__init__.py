"""Shared by all screens: sign-in state, the page frame, wording, tables. Nothing for one page group only."""
