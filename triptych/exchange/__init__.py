"""Imports finished ratings as a study, and exports a study's work for other programs. No file format."""
