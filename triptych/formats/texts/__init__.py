"""The texts of items as people read them: each field's format, and the visible characters of Markdown. No HTML."""
