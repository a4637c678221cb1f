"""The lists of keys name every key that the workbench acts on."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKBENCH = ROOT / "components" / "workbench"


def test_both_lists_of_keys_are_complete():
    actions = (WORKBENCH / "keyboard.js").read_text().partition("const actions = {")[2].partition("};")[0]
    keys = set(re.findall(r'(?<=[ {,])"?([a-z?./])"?: ', actions))
    assert len(keys) == 13
    dialog = (WORKBENCH / "dialogs.js").read_text().partition("const keyList")[2].partition("];")[0]
    guide = (ROOT / "docs" / "guide-annotators.md").read_text().partition("## Keys")[2].partition("\n## ")[0]
    named_in_dialog = " ".join(re.findall(r"\[(?:_\()?\"(.*?)\"", dialog))
    named_in_guide = " ".join(re.findall(r"`(.*?)`", guide))

    for named in (named_in_dialog, named_in_guide):
        assert keys - {key.lower() for key in re.findall(r"(?<![A-Za-z+])[A-Z?./](?![A-Za-z])", named)} == set()
