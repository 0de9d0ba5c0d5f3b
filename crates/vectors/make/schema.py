"""Compares values with a JSON Schema that uses a few keywords only."""

import re


def faults(value, schema, root, at):
    """What is wrong with a value by a schema."""
    known = {"$schema", "$id", "$ref", "$defs", "title", "description", "type", "const", "enum", "pattern", "minimum"}
    known |= {"maximum", "items", "minItems", "required", "properties", "patternProperties", "additionalProperties"}
    if schema.keys() - known:
        raise SystemExit(f"{at}: the schema has words that are not understood: {schema.keys() - known}")
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    types = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    if "type" in schema:
        is_bool = isinstance(value, bool)
        if not isinstance(value, types[schema["type"]]) or is_bool != (schema["type"] == "boolean"):
            return [f"{at} is no {schema['type']}"]
    found = []
    if "const" in schema and value != schema["const"] or value not in schema.get("enum", [value]):
        found.append(f"{at} is {value!r}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{at} is not like {schema['pattern']}: {value!r}")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at} is {value}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{at} has {len(value)} items")
        for number, item in enumerate(value):
            found += faults(item, schema.get("items", {}), root, f"{at}[{number}]")
    if isinstance(value, dict):
        found += [f"{at} has no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            patterns = schema.get("patternProperties", {}).items()
            of = [s for pattern, s in patterns if re.search(pattern, name)]
            of += [schema["properties"][name]] if name in schema.get("properties", {}) else []
            if not of and schema.get("additionalProperties") is False:
                found.append(f"{at} has {name}, which the schema has not")
            for sub in of:
                found += faults(item, sub, root, f"{at}.{name}")
    return found
