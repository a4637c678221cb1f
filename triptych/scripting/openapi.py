"""The OpenAPI document of the calls, for programs in other languages than Python."""

from __future__ import annotations

from pydantic.json_schema import models_json_schema

from triptych import settings
from triptych.scripting.address import BASE, IN_PATH, KEY
from triptych.scripting.calls import CALLS, Call
from triptych.scripting.messages import MAX_ROWS, Zip
from triptych.scripting.refusals import REFUSALS
from triptych.storage.models import JsonObject

REFERENCE = "#/components/schemas/{model}"
ABOUT = (
    f"Send a lead's token as `Authorization: Bearer …`; create it on the page Account. Cookies are ignored. A page of "
    f"a table has at most {MAX_ROWS} entries and gives the `next` one. A request that changes something may carry the "
    f"header `{KEY}`, a unique text: if sent again within a day the request acts once, and the repeated response omits "
    f"personal links. While a study is blind, systems are called System 1, System 2, … everywhere."
)


def document() -> JsonObject:
    """The OpenAPI 3.1 document as JSON data."""
    models = {model for call in CALLS for model in (call.request, call.answer)} - {Zip}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema([(model, "validation") for model in ordered], ref_template=REFERENCE)
    definitions = schemas["$defs"]
    paths: dict[str, dict[str, object]] = {}
    for call in CALLS:
        paths.setdefault(f"{BASE}{call.path}", {})[call.method.lower()] = _operation(call, definitions)
    definitions["Refusal"] = {
        "type": "object",
        "required": ["refused", "message"],
        "properties": {"refused": {"enum": [*REFUSALS, "budget", "too_long"]}, "message": {"type": "string"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Triptych", "version": settings.version(), "description": ABOUT},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": definitions,
        },
    }


def _operation(call: Call, definitions: JsonObject) -> dict[str, object]:
    schema = definitions[call.request.__name__]
    in_path = IN_PATH.findall(call.path)
    rest = {name: field for name, field in schema.get("properties", {}).items() if name not in in_path}
    properties = schema.get("properties", {})
    parameters = [{"name": name, "in": "path", "required": True, "schema": properties[name]} for name in in_path]
    operation: dict[str, object] = {
        "operationId": call.name,
        "summary": call.summary,
        "description": f"For tokens that may {call.scope}.",
        "responses": {"200": _answer(call), "default": _described("A sentence that explains the error.", "Refusal")},
    }
    if call.method == "GET":
        parameters += [{"name": name, "in": "query", "schema": field} for name, field in rest.items()]
    else:
        parameters.append({"name": KEY, "in": "header", "schema": {"type": "string", "maxLength": 200}})
        body = {"type": "object", "properties": rest, "additionalProperties": False}
        body["required"] = [name for name in schema.get("required", []) if name in rest]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation | {"parameters": parameters}


def _answer(call: Call) -> dict[str, object]:
    if call.answer is Zip:
        return {"description": "The file.", "content": {"application/zip": {}}}
    return _described(call.summary, call.answer.__name__)


def _described(text: str, model: str) -> dict[str, object]:
    schema = {"$ref": REFERENCE.format(model=model)}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
