"""The languages of what annotators read, one catalogue for each, and the one in use. No text of a study."""
