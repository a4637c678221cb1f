"""What the server answers besides pages: cookies, drafts, files, health, headers. No rule of a study."""
