"""All routes that are ours; each module brings its list."""

from __future__ import annotations

from triptych.web.assets import ASSET_ROUTES
from triptych.web.export import EXPORT_ROUTES
from triptych.web.health import HEALTH_ROUTES
from triptych.web.session import SESSION_ROUTES, current_login
from triptych.web.work import WORK_ROUTES

__all__ = ["ROUTES", "current_login"]

ROUTES = [*HEALTH_ROUTES, *SESSION_ROUTES, *WORK_ROUTES, *EXPORT_ROUTES, *ASSET_ROUTES]
