"""The first screen of the results, which fits a laptop without scrolling. Nothing from further down the page."""
