"""The address of the calls, and their own headers."""

from __future__ import annotations

import re

BASE = "/api/v1"
KEY = "Idempotency-Key"
LEAD = "X-Triptych-Lead"  # the name, percent-encoded, of the lead that a script on the data folder acts for
IN_PATH = re.compile(r"{(\w+)}")
