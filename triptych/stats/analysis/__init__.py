"""Computes every number of a study from columns of ratings. No files, frames or databases: reports' zips contain it."""
