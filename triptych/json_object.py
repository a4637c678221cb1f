"""The type of a JSON object."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]  # whose fields are narrowed where each is read
