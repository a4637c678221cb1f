"""The first screen of the results, which fits a laptop without scrolling, and its log. Nothing from further down."""
