"""The command line: parses arguments and prints replies. Nothing that pages also need; that belongs in rooms below."""
