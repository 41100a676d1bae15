"""Forms of values in plans and scenario files, as JSON Schemas; titles say in words what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from toolreel_core._config_checks import Table, unknown_name_message
from toolreel_core._jsontext import Json, JsonText, as_tree, canonical, parse
from toolreel_core._schema import inline_references, simple_schema_predicate

_FORMS = as_tree(
    parse(
        JsonText(r"""{
"text": {"title": "a text", "type": "string", "minLength": 1},
"integer": {"title": "a whole number", "type": "integer"},
"number": {"title": "a number of calls", "type": "integer", "minimum": 0},
"table": {"title": "a table", "type": "object"},
"tables": {"title": "a list of tables; write two brackets", "type": "array", "items": {"type": "object"}},
"texts_said": {"title": "a text or a list of texts", "anyOf": [
  {"$ref": "#/$defs/text_said"}, {"type": "array", "items": {"$ref": "#/$defs/text_said"}, "minItems": 1}]},
"text_said": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}]},
"true": {"title": "true", "enum": [true]},
"tool": {"title": "the name of a tool", "type": "string", "minLength": 1},
"call": {"title": "a tool, or a table such as { tool = \"…\", with = {…}, ok = false }", "anyOf": [
  {"$ref": "#/$defs/tool"},
  {"type": "object", "additionalProperties": false,
   "properties": {"tool": {"type": "string"}, "with": {"type": "object"}, "ok": {"type": "boolean"}}}]},
"calls": {"title": "tools, or tables such as { tool = \"…\", with = {…}, ok = false }", "anyOf": [
  {"$ref": "#/$defs/call"}, {"type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1}]},
"effects": {"title": "a list of { tool = \"…\", with = {…} }", "type": "array", "items":
  {"type": "object", "properties": {"tool": {"type": "string"}, "with": {"type": "object"}},
   "required": ["tool"], "additionalProperties": false}},
"value": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}]},
"said": {"title": "a text, a number, or a list of them", "anyOf": [
  {"$ref": "#/$defs/value"}, {"type": "array", "items": {"$ref": "#/$defs/value"}, "minItems": 1}]},
"facts": {"title": "a list of { true = …, false = [ … ] }", "type": "array", "items":
  {"properties": {"true": {}, "false": {}}, "required": ["true", "false"], "additionalProperties": false}},
"exchange": {"title": "the number of an exchange, or 'any'",
  "anyOf": [{"enum": ["any"]}, {"type": "integer", "minimum": 1}]},
"layer": {"title": "one of outcome, exercise", "enum": ["outcome", "exercise"]},
"texts": {"title": "one of folded, trimmed, exact", "enum": ["folded", "trimmed", "exact"]},
"within": {"title": "one of one reply, first reply", "enum": ["one reply", "first reply"]},
"wire": {"title": "one of signed, came_back, streamed", "enum": ["signed", "came_back", "streamed"]},
"answer": {
  "title": "then = { … }, read = \"/place\" or error = { code = \"TIMEOUT\" }, and when, set, done, times",
  "properties": {
    "read": {"type": "string"}, "when": {"type": "object"}, "set": {"type": "object"},
    "error": {"type": "object", "additionalProperties": false, "required": ["code"], "properties":
      {"code": {"type": "string", "minLength": 1}, "message": {"type": "string"}}},
    "done": {"type": "boolean"}, "times": {"type": "integer", "minimum": 0}}},
"draw": {
  "title": "a draw: [\"a\", \"b\"], \"person\", { from = 1, to = 9 }, { pattern = \"A-##\" }, { sum = … }",
  "anyOf": [
    {"enum": ["person", "word", "uuid"]}, {"type": "array", "minItems": 1},
    {"type": "object", "additionalProperties": false,
     "properties": {
       "one_of": {"anyOf": [
         {"type": "array", "minItems": 1}, {"enum": ["first_names", "last_names", "rooms", "words"]}]},
       "pattern": {"type": "string"}, "from": {"type": "integer"}, "to": {"type": "integer"},
       "several": {"type": "integer", "minimum": 1}, "unlike": {},
       "largest_first": {"type": "string"}, "by": {"type": "string"}, "sum": {}, "product": {}},
     "anyOf": [
       {"required": ["one_of"]}, {"required": ["pattern"]}, {"required": ["from", "to"]},
       {"required": ["largest_first"]}, {"required": ["sum"]}, {"required": ["product"]}]}]},
"gate": {
  "title": "a gate: a metric with at_least or at_most; or no_regression_of or nothing_broke_in with against",
  "type": "object", "additionalProperties": false,
  "properties": {
    "metric": {"enum": [
      "rate", "lower_bound", "upper_bound", "exercised_rate", "coverage", "pass_at_1", "pass_hat_k", "runs",
      "valid", "fail", "unsupported", "void", "p50_ms", "p95_ms", "cost", "tokens"]},
    "at_least": {"type": "number"}, "at_most": {"type": "number"},
    "no_regression_of": {"type": "string"}, "nothing_broke_in": {"type": "string"},
    "against": {"type": "string"}, "about": {"enum": ["scenarios-such-as-these", "these-scenarios"]},
    "alpha": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "margin": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "strategy": {"type": "string"}, "model": {"type": "string"}, "scenario": {"type": "string"}},
  "anyOf": [
    {"required": ["metric", "at_least"]}, {"required": ["metric", "at_most"]},
    {"required": ["no_regression_of", "against"]}, {"required": ["nothing_broke_in", "against"]}]},
"price": {"title": "prompt and completion, for a million tokens each",
  "type": "object", "additionalProperties": false, "required": ["prompt", "completion"],
  "properties": {"prompt": {"type": "number", "minimum": 0}, "completion": {"type": "number", "minimum": 0}}},
"scripted_call": {"type": "object", "properties": {"call": {"type": "string"}, "with": {}},
  "required": ["call"], "additionalProperties": false},
"scripted_calls": {"type": "array", "items": {"$ref": "#/$defs/scripted_call"}, "minItems": 1},
"workspace": {
  "title": "a workspace: id, path, draft = { … } and mishap (failing_patch, cut_read or huge_read)",
  "type": "object", "additionalProperties": false,
  "properties": {"id": {"type": "string"}, "path": {"type": "string"}, "draft": {"type": "object"},
    "mishap": {"enum": ["failing_patch", "cut_read", "huge_read"]}}},
"scripts": {
  "title": "a good script, which passes, and a bad one, which must fail; each a list of texts and calls",
  "type": "object", "required": ["good", "bad"], "additionalProperties": false, "properties": {
    "good": {"$ref": "#/$defs/script"}, "bad": {"$ref": "#/$defs/script"},
    "skipping": {"$ref": "#/$defs/script"}}},
"script": {
  "type": "array", "minItems": 1, "items": {"anyOf": [
    {"type": ["string", "number"]}, {"$ref": "#/$defs/scripted_call"}, {"$ref": "#/$defs/scripted_calls"},
    {"type": "object", "required": ["calls"], "additionalProperties": false, "properties": {
      "calls": {"$ref": "#/$defs/scripted_calls"}, "text": {"type": "string"},
      "fields": {"type": "object"}, "call_fields": {"type": "object"}}}]}}
}""")
    )
)


@cache
def _form_validator(form: str) -> Callable[[Any], bool]:
    # Cases are made for each trial, so the keywords are those that need no jsonschema.
    check = simple_schema_predicate(
        canonical(inline_references({"$defs": _FORMS, "$ref": f"#/$defs/{form}"}))
    )
    return cast("Callable[[Any], bool]", check)


def checked_value(table: Table, key: str, form: str, default: object = None) -> Any:  # noqa: ANN401 - of the form
    value = table.values.get(key, default)
    if not _form_validator(form)(value):
        raise table.error_at(f"expected {as_tree(_FORMS[form])['title']}, got {value!r}", key)
    return value


# The short form of a tool's parameters: ``{ city = "string", days = "integer?: How many." }``.


_TYPES = ("string", "integer", "number", "boolean", "object")
_WORD = re.compile(r"(?P<type>\w+)(?P<list>\[\])?(?P<optional>\?)?\s*(?::\s*(?P<about>.*))?", re.DOTALL)
"""A type with its marks and a description, such as ``string[]?: Names of cities.``"""


def parameters_schema(table: Table) -> dict[str, Json]:
    """The JSON Schema of an ``arguments`` table."""
    properties, required = dict[str, Json](), list[Json]()
    for name, value in table.values.items():
        found = _WORD.fullmatch(value.strip()) if isinstance(value, str) else None
        if found and found["type"] in _TYPES:
            word: dict[str, Json] = {"type": found["type"]}
            schema: dict[str, Json] = {"type": "array", "items": word} if found["list"] else word
            about = {"description": found["about"].strip()} if found["about"] else {}
            properties[name] = {**schema, **about}
        elif isinstance(value, list):
            properties[name] = {"enum": value}
        elif isinstance(value, Mapping):
            properties[name] = value
        else:
            marks = "[] makes a list of it, ? an optional one, and ': ' begins a description"
            what = unknown_name_message("type", found["type"] if found else str(value), _TYPES)
            raise table.error_at(f"{what}, or write a list of values or a JSON Schema; {marks}", name)
        required += [] if found and found["optional"] else [name]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
