"""From columns of ratings to every number of a study; no files, frames or databases, so a report's zip can carry it."""
