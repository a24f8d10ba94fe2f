"""The one text of a JSON schema that an edit's answer may fill."""

from collections.abc import Mapping
from typing import Any

# Names of a field that is the answer itself; any other may ask for something else about the question
ANSWERS = {"answer", "text", "response", "reply", "result", "output", "content", "message"}
# Keywords of JSON schemas that any text fulfils
OF_TEXT = {"type", "title"}
OF_OBJECT = OF_TEXT | {"description", "properties", "required", "additionalProperties", "$schema"}


def find_text_field(fields: Mapping[str, Any]) -> str | None:
    """Return the only field of the JSON schema that a reply is to have, if it is a text; None for any other format."""
    text = fields.get("text")
    form = fields.get("response_format") or (text.get("format") if isinstance(text, dict) else None)
    schema = (
        form.get("json_schema", form) if isinstance(form, dict) and form.get("type") == "json_schema" else {}
    )
    match schema.get("schema") if isinstance(schema, dict) else None:
        case {"type": "object", "properties": dict(fields_of_reply), **rest} if rest.keys() <= OF_OBJECT:
            match list(fields_of_reply.items()):
                case [(name, {"type": "string", **rest})] if rest.keys() <= OF_TEXT and name in ANSWERS:
                    return str(name)
    return None
