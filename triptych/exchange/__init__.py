"""Ratings that come in from elsewhere, and a study's work as files for other programs."""
