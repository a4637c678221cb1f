"""Annotators' work from onboarding to submission, and their exclusion, workbooks and comments. No result of it."""
