"""The first screen of the results, visible on a laptop without scrolling. Nothing from further down the page."""
