"""The first screen of the results, on a laptop without scrolling. Nothing that stands below it."""
