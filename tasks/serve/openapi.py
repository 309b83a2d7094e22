"""The server's paths as OpenAPI, and as a page that needs no network."""

import json
import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from pydantic.json_schema import models_json_schema

from leaseboard.tasks.live.contract import ColumnRule
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.serve.admission import OPEN
from leaseboard.tasks.serve.inference import DATATYPES, Inference
from leaseboard.tasks.serve.invocations import Invocation
from leaseboard.tasks.serve.service import PostedLabel

_EXAMPLES = {"number": 1.5, "integer": 1, "flag": True, "date": "2026-03-01"}
_REF = "#/components/schemas/{model}"
_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"


def document(
    paths: Mapping[tuple[str, str], str],
    name: str,
    version: str,
    columns: Mapping[str, ColumnRule],
) -> dict[str, Any]:
    """Return what the server answers, as OpenAPI 3.1 has it.

    - `paths`: what each does, by method and path.
    - `name`, `version`: the model's that is served.
    - `columns`: those of the contract without the target.
    """
    row = {each: _example(rule) for each, rule in columns.items()}
    tensors = [
        {"name": each, "shape": [1], "datatype": DATATYPES.get(rule.kind, "BYTES"),
         "data": [row[each]]}
        for each, rule in columns.items()
    ]  # fmt: skip
    bodies = {
        "/invocations": ("Invocation", {"dataframe_records": [row]}),
        "/labels": ("PostedLabel", [{"id": "a-17", "label": 1.5}]),
        "infer": ("Inference", {"inputs": tensors}),
    }
    models = [(each, "validation") for each in (Invocation, Inference, PostedLabel)]
    _, shapes = models_json_schema(models, ref_template=_REF)
    found: dict[str, dict[str, Any]] = {}
    for (method, path), what in paths.items():
        body = next((each for end, each in bodies.items() if path.endswith(end)), None)
        done = "202" if path == "/labels" else "200"
        about: dict[str, Any] = {
            "summary": what,
            "responses": {
                done: {"description": "OK"},
                "default": {"description": "Refused; `error` says in one line what to do."},
            },
        }
        if path in OPEN:
            about["security"] = []
        if "{version}" in path:
            about["parameters"] = [{"name": "version", "in": "path", "required": True,
                                    "schema": {"type": "string"}, "example": version}]  # fmt: skip
        if body is not None:
            ref: dict[str, Any] = {"$ref": _REF.format(model=body[0])}
            schema = {"type": "array", "items": ref} if path == "/labels" else ref
            content = {"application/json": {"schema": schema, "example": body[1]}}
            if path == "/invocations":
                content["text/csv"] = {"schema": {"type": "string"}}
            about["requestBody"] = {"required": True, "content": content}
        found.setdefault(path.replace("{name}", quote(name, safe="")), {})[method.lower()] = about
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Live model {name}", "version": installed("leaseboard")},
        "paths": found,
        "components": {"schemas": shapes["$defs"],
                       "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }  # fmt: skip


def page(about: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI document, with an example of each body."""
    title = escape(about["info"]["title"])
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        "<p>All paths as <a href=openapi.json>OpenAPI</a>.</p>"
        f"{''.join(_sections(about['paths']))}</html>"
    )


def _sections(paths: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for path, methods in paths.items():
        for method, about in methods.items():
            given = {each["name"]: each["example"] for each in about.get("parameters", ())}
            shown = escape(path.format(**given))
            yield f"<h2>{method.upper()} {shown}</h2><p>{escape(about['summary'])}</p>"
            if "requestBody" in about:
                example = about["requestBody"]["content"]["application/json"]["example"]
                yield f"<pre>{escape(json.dumps(example, indent=1))}</pre>"


def _example(rule: ColumnRule) -> Any:
    """Return a value that the rule of a column allows."""
    if rule.kind in ("number", "integer"):
        low = -1e9 if rule.low is None else rule.low
        high = 1e9 if rule.high is None else rule.high
        found = min(max(_EXAMPLES[rule.kind], low), high)
        return math.ceil(found) if rule.kind == "integer" else found
    return _EXAMPLES.get(rule.kind) or next(iter(rule.categories), "a-17")
