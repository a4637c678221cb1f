"""The languages of annotators' screens: one catalogue each, and which is in use. No text of a study."""
