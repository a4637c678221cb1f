"""A mypy plugin: on a table's class a field is a column, on a row it is a value.

SQLModel declares both with one annotation, so a type checker takes `Study.state == "open"` for a bool and refuses it in
`where()`. Solved here once instead of with `col()` around every column of every query.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import TypeInfo
from mypy.plugin import AttributeContext, Plugin
from mypy.types import CallableType, Instance, Type, get_proper_type

TABLES = "triptych.storage.models."
COLUMN = "sqlalchemy.orm.attributes.InstrumentedAttribute"


class ColumnPlugin(Plugin):
    def get_class_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        if not fullname.startswith(TABLES):
            return None
        table, _, field = fullname.rpartition(".")
        info = self.lookup_fully_qualified(table)
        if info is None or not isinstance(info.node, TypeInfo) or not info.node.has_base(f"{TABLES}Base"):
            return None
        return None if field.startswith("_") or field in ("metadata", "model_config") else self._column

    def _column(self, context: AttributeContext) -> Type:
        value = get_proper_type(context.default_attr_type)
        column = self.lookup_fully_qualified(COLUMN)
        if isinstance(value, CallableType) or column is None or not isinstance(column.node, TypeInfo):
            return context.default_attr_type  # a method of the table
        return Instance(column.node, [context.default_attr_type])


def plugin(version: str) -> type[Plugin]:
    return ColumnPlugin
