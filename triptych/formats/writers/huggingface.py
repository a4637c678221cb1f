"""A Hugging Face dataset: the Parquet tables in `data`, and a card (README.md) that tells the hub how to load them."""

from __future__ import annotations

import yaml

from triptych.formats.writers.model import Finished

CONFIGS = ("ratings", "items", "annotations", "highlights")
USE = """
## Loading

    from datasets import load_dataset

    ratings = load_dataset("path/to/this/folder", "ratings", split="train")

Uploading the folder makes it a dataset on the hub. Choose a licence first and write it into the card: this program
does not know whose texts these are.
"""


def card_head(finished: Finished) -> str:
    """The card's front matter: one config per table."""
    front = {
        "pretty_name": finished.title,
        "language": [finished.rubric.language],
        "tags": ["human-evaluation"],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet", **({"default": True} if not place else {})}
            for place, name in enumerate(CONFIGS)
        ],
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n"
