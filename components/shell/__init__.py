"""What every screen uses: who is asking, the frame around a page, words, tables. Nothing of one page group."""
