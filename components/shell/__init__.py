"""Shared by all screens: who is signed in, the page frame, wording, tables. Nothing for one page group only."""
