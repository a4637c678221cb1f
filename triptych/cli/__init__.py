"""The command line: arguments in, sentences out. What a command does lives in the rooms below."""
