"""Ratings from elsewhere become a study, and a study's work becomes files for other programs. No file format."""
