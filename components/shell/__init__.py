"""What every screen uses: who is asking, the page around the content, words, tables, live updates."""
