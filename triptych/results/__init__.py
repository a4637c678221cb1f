"""Results of a study as typed values and sentences, for pages and reports. No drawing, no file format."""
