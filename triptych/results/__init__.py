"""What the ratings of a study say, as typed numbers that pages and reports print. No drawing, no file format."""
