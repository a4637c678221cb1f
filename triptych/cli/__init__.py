"""The command line: arguments in, sentences out. Nothing that a page needs too, which lives in the rooms below."""
