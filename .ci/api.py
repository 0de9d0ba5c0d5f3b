#!/usr/bin/env python3
"""Lists the public API of each package of the library, a line an item, sorted.

    .ci/api.py            writes .ci/public-api.txt
    .ci/api.py --check    fails, with a diff, if that file is not what the code says

The diff of the file in a commit is the semver review of that commit: a line that goes or changes is
a breaking change, a line that comes is an addition. All features are on. The list comes from
rustdoc's JSON, whose format changes with the compiler. Another format than that of the file may
spell bounds differently, and is not compared.
"""

import difflib
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTING = ROOT / ".ci" / "public-api.txt"
PACKAGES = [
    "bijective-shuffle-core",
    "bijective-shuffle-affine",
    "bijective-shuffle-rng",
    "bijective-shuffle-stats",
    "bijective-shuffle",
]
# Marks of the compiler's own, and no promise.
UNLISTED_TRAITS = {"StructuralPartialEq", "Freeze", "UnsafeUnpin"}


def rustdoc_json(package):
    """Runs rustdoc, and reads what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        # Only rustdoc itself may know of RUSTC_BOOTSTRAP: build scripts that see it are built
        # again.
        wrapper = pathlib.Path(folder) / "rustdoc"
        wrapper.write_text('#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n')
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        command = ["cargo", "rustdoc", "--locked", "--lib", "--all-features", "--package", package, "--quiet"]
        command += ["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "RUSTDOC": str(wrapper)})
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    with open(target / "doc" / (package.replace("-", "_") + ".json")) as file:
        return json.load(file)


def only(tagged):
    """The name and the content of an enum with one field, or its name alone."""
    return (tagged, None) if isinstance(tagged, str) else next(iter(tagged.items()))


# Types and bounds as Rust writes them, but for paths: code that is moved within the crate changes
# nothing here.

# Of every item that is mentioned, the path of its definition.
DEFINED = {}


def name_text(written, number):
    """The name of an item; with the crate before it, unless that is this one or Rust's own."""
    defined = DEFINED.get(str(number))
    if defined is None:
        return written.removeprefix("$crate::")
    *folders, name = defined["path"]
    if folders[0].replace("_", "-") in PACKAGES or folders[-1] == "result":
        return name
    if folders[0] in ("core", "alloc", "std"):
        # Rust has more than one of these.
        return f"{folders[-1]}::{name}" if name in ("Error", "Result") else name
    return f"{folders[0]}::{name}"


def type_text(kind):
    name, inner = only(kind)
    match name:
        case "resolved_path":
            return name_text(inner["path"], inner["id"]) + args_text(inner["args"])
        case "generic" | "primitive":
            return inner
        case "borrowed_ref":
            life = f"{inner['lifetime']} " if inner["lifetime"] else ""
            target = type_text(inner["type"])
            target = f"({target})" if " + " in target and target.startswith(("impl ", "dyn ")) else target
            return f"&{life}{'mut ' if inner['is_mutable'] else ''}{target}"
        case "raw_pointer":
            return f"*{'mut' if inner['is_mutable'] else 'const'} {type_text(inner['type'])}"
        case "tuple":
            return f"({', '.join(map(type_text, inner))}{',' if len(inner) == 1 else ''})"
        case "slice":
            return f"[{type_text(inner)}]"
        case "array":
            return f"[{type_text(inner['type'])}; {inner['len']}]"
        case "impl_trait":
            return f"impl {bounds_text(inner)}"
        case "dyn_trait":
            traits = [path_text(bound["trait"]) for bound in inner["traits"]]
            return f"dyn {' + '.join(traits + [inner['lifetime']] * bool(inner['lifetime']))}"
        case "function_pointer":
            return "fn" + signature_text(inner["sig"])
        case "qualified_path":
            self_type, trait = type_text(inner["self_type"]), inner["trait"]
            owner = f"<{self_type} as {path_text(trait)}>" if trait and trait["path"] else self_type
            return f"{owner}::{inner['name']}{args_text(inner['args'])}"
        case "infer":
            return "_"
    raise SystemExit(f"unknown kind of type in rustdoc's JSON: {name}")


def path_text(path):
    return name_text(path["path"], path["id"]) + args_text(path["args"])


def args_text(args):
    if not args:
        return ""
    name, inner = only(args)
    if name == "parenthesized":
        output = f" -> {type_text(inner['output'])}" if inner["output"] else ""
        return f"({', '.join(map(type_text, inner['inputs']))}){output}"
    parts = [arg_text(arg) for arg in inner["args"]]
    for constraint in inner["constraints"]:
        kind, binding = only(constraint["binding"])
        text = f" = {arg_text(binding)}" if kind == "equality" else f": {bounds_text(binding)}"
        parts.append(constraint["name"] + args_text(constraint["args"]) + text)
    return f"<{', '.join(parts)}>" if parts else ""


def arg_text(arg):
    name, inner = only(arg)
    match name:
        case "lifetime":
            return inner
        case "const" | "constant":
            return inner["expr"]
        case "infer":
            return "_"
    return type_text(inner)


def bounds_text(bounds):
    return " + ".join(map(bound_text, bounds))


def bound_text(bound):
    name, inner = only(bound)
    match name:
        case "trait_bound":
            modifier = {"none": "", "maybe": "?", "maybe_const": "const "}[inner["modifier"]]
            return modifier + for_text(inner["generic_params"]) + path_text(inner["trait"])
        case "outlives":
            return inner
    return f"use<{', '.join(only(arg)[1] for arg in inner)}>"


def for_text(params):
    return f"for<{', '.join(param['name'] for param in params)}> " if params else ""


def params_text(generics):
    """The parameters in angle brackets, without those that an `impl Trait` stands for."""
    parts = []
    for param in generics["params"]:
        kind, inner = only(param["kind"])
        text = param["name"]
        if kind == "lifetime":
            text += f": {' + '.join(inner['outlives'])}" if inner["outlives"] else ""
        elif kind == "const":
            text = f"const {text}: {type_text(inner['type'])}"
            text += f" = {inner['default']}" if inner["default"] else ""
        elif inner["is_synthetic"]:
            continue
        else:
            text += f": {bounds_text(inner['bounds'])}" if inner["bounds"] else ""
            text += f" = {type_text(inner['default'])}" if inner["default"] else ""
        parts.append(text)
    return f"<{', '.join(parts)}>" if parts else ""


def where_text(generics):
    parts = []
    for predicate in generics["where_predicates"]:
        kind, inner = only(predicate)
        if kind == "bound_predicate":
            text = for_text(inner["generic_params"]) + type_text(inner["type"])
            parts.append(f"{text}: {bounds_text(inner['bounds'])}")
        elif kind == "lifetime_predicate":
            parts.append(f"{inner['lifetime']}: {' + '.join(inner['outlives'])}")
        else:
            parts.append(f"{type_text(inner['lhs'])} = {arg_text(inner['rhs'])}")
    return f" where {', '.join(parts)}" if parts else ""


SELVES = {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}


def signature_text(signature):
    inputs = []
    for name, kind in signature["inputs"]:
        text = type_text(kind)
        # The names of arguments are no promise.
        inputs.append(SELVES.get(text, f"self: {text}") if name == "self" else text)
    output = f" -> {type_text(signature['output'])}" if signature["output"] else ""
    return f"({', '.join(inputs)}){output}"


class Api:
    """Walks the public modules, and collects a line for each item."""

    def __init__(self, crate):
        self.index = crate["index"]
        self.root = crate["root"]
        DEFINED.clear()
        DEFINED.update(crate["paths"])
        self.paths = {}
        self.lines = set()

    def item(self, number):
        return self.index.get(str(number))

    def run(self):
        root = self.item(self.root)
        # Shallow modules first, so that each item is listed by its shortest path.
        level = [(root["name"], root)]
        while level:
            level = [deeper for path, module in level for deeper in self.module(path, module)]
        return sorted(self.lines)

    def module(self, path, module):
        """Lists a module's items, and returns the modules in it."""
        deeper = []
        for number in only(module["inner"])[1]["items"]:
            item = self.item(number)
            kind, inner = only(item["inner"])
            name = item["name"]
            if kind == "use":
                target = self.item(inner["id"]) if inner["id"] is not None else None
                if target is None or target["crate_id"] != 0:
                    self.lines.add(f"{path}: use {inner['source']}" + " (all)" * inner["is_glob"])
                    continue
                if inner["is_glob"]:
                    deeper.append((path, target))
                    continue
                item, name, kind = target, inner["name"], only(target["inner"])[0]
            full = f"{path}::{name}"
            if item["id"] in self.paths:
                self.lines.add(f"{path}: use {self.paths[item['id']]}" + f" as {name}" * (name != item["name"]))
                continue
            self.paths[item["id"]] = full
            if kind == "module":
                self.lines.add(f"{full}: module")
                deeper.append((full, item))
            else:
                self.listed(full, item)
        return deeper

    def listed(self, path, item):
        """Lists an item that is no module, and what belongs to it."""
        kind, inner = only(item["inner"])
        generics = inner.get("generics") if isinstance(inner, dict) else None
        tail = params_text(generics) + where_text(generics) if generics else ""
        closed = "non_exhaustive " if "non_exhaustive" in map(str, item["attrs"]) else ""
        match kind:
            case "struct" | "union" | "enum":
                form = self.fields(path, inner["kind"]) if kind == "struct" else ""
                self.lines.add(f"{path}: {closed}{kind}{tail}{form}")
                for number in inner.get("variants", []):
                    self.variant(path, self.item(number))
                self.impls(path, inner["impls"])
            case "trait":
                bounds = f": {bounds_text(inner['bounds'])}" if inner["bounds"] else ""
                unsafe = "unsafe " if inner["is_unsafe"] else ""
                self.lines.add(f"{path}: {unsafe}trait{params_text(generics)}{bounds}{where_text(generics)}")
                for number in inner["items"]:
                    self.member(path, self.item(number), "")
                # What types of this crate implement is listed with the types.
                self.impls(path, [number for number in inner["implementations"] if not self.is_of_ours(number)])
            case "type_alias":
                self.lines.add(f"{path}: type{tail} = {type_text(inner['type'])}")
            case "constant" | "static":
                self.lines.add(f"{path}: {kind} {type_text(inner['type'])}")
            case "macro" | "proc_macro":
                self.lines.add(f"{path}: macro")
            case _:
                self.member(path.rsplit("::", 1)[0], item, "")

    def fields(self, path, kind):
        """How a struct or a variant is written; public fields get lines of their own."""
        name, inner = only(kind)
        if inner is None:
            return " unit"
        fields = inner if name == "tuple" else inner["fields"]
        known = [self.item(number) for number in fields if number is not None]
        for field in filter(None, known):
            self.lines.add(f"{path}::{field['name']}: field {type_text(only(field['inner'])[1])}")
        private = None in fields if name == "tuple" else inner["has_stripped_fields"]
        return f" {name}" + " with private fields" * private

    def variant(self, path, variant):
        full = f"{path}::{variant['name']}"
        closed = "non_exhaustive " if "non_exhaustive" in map(str, variant["attrs"]) else ""
        self.lines.add(f"{full}: {closed}variant{self.fields(full, only(variant['inner'])[1]['kind'])}")

    def is_of_ours(self, number):
        """Whether an impl is that of a type of this crate."""
        name, inner = only(only(self.item(number)["inner"])[1]["for"])
        return name == "resolved_path" and str(inner["id"]) in self.index

    def impls(self, path, numbers):
        for item in filter(None, map(self.item, numbers)):
            inner = only(item["inner"])[1]
            if item["crate_id"] != 0 or inner["blanket_impl"]:
                continue
            generics, trait = inner["generics"], inner["trait"]
            # Of the traits that the compiler finds out, those are listed which a type lacks.
            if inner["is_synthetic"] and not inner["is_negative"]:
                continue
            head = f"impl{params_text(generics)}"
            if trait is None:
                shape = f"{type_text(inner['for'])}{where_text(generics)}"
                for number in inner["items"]:
                    self.member(path, self.item(number), f"  [{head} {shape}]" if args_matter(inner) else "")
            elif trait["path"].rsplit("::", 1)[-1] not in UNLISTED_TRAITS:
                negative = "!" if inner["is_negative"] else ""
                text = f"{head} {negative}{path_text(trait)} for {type_text(inner['for'])}{where_text(generics)}"
                self.lines.add(f"{path}: {text}")
                for member in map(self.item, inner["items"]):
                    kind, content = only(member["inner"])
                    if kind == "assoc_type":
                        self.lines.add(f"{path}: {text} {{ type {member['name']} = {type_text(content['type'])} }}")

    def member(self, path, item, where):
        """Lists a function, or an associated type or constant."""
        kind, inner = only(item["inner"])
        full = f"{path}::{item['name']}"
        if kind == "function":
            header, generics = inner["header"], inner["generics"]
            words = [word for word in ("const", "async", "unsafe") if header[f"is_{word}"]]
            if header["abi"] != "Rust":
                words.append(f"extern {only(header['abi'])[0]}")
            text = " ".join(words + ["fn"]) + params_text(generics) + signature_text(inner["sig"])
            provided = " { .. }" if inner["has_body"] and item["visibility"] == "default" else ""
            self.lines.add(f"{full}: {text}{where_text(generics)}{provided}{where}")
        elif kind == "assoc_const":
            provided = " = .." if inner["value"] is not None and item["visibility"] == "default" else ""
            self.lines.add(f"{full}: const {type_text(inner['type'])}{provided}{where}")
        else:
            bounds = f": {bounds_text(inner['bounds'])}" if inner["bounds"] else ""
            provided = f" = {type_text(inner['type'])}" if inner["type"] else ""
            self.lines.add(f"{full}: type{params_text(inner['generics'])}{bounds}{provided}{where}")


def args_matter(implementation):
    """Whether an impl is about fewer types than its type's name says."""
    return bool(implementation["generics"]["params"]) or "<" in type_text(implementation["for"])


def main():
    crates = [rustdoc_json(package) for package in PACKAGES]
    # The first line of the file.
    origin = f"# rustdoc's JSON, format {crates[0]['format_version']}"
    listing = "\n".join([origin, *(line for crate in crates for line in Api(crate).run())]) + "\n"
    count = listing.count("\n") - 1
    if "--check" not in sys.argv[1:]:
        LISTING.write_text(listing)
        print(f"{count} lines written to {LISTING.relative_to(ROOT)}")
        return
    before = LISTING.read_text()
    if listing == before:
        print(f"{count} lines of public API, as committed")
        return
    if not before.startswith(origin + "\n"):
        print(f"Not compared: the file is of {before.splitlines()[0][2:]}, and this is {origin[2:]}")
        return
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(True), listing.splitlines(True), "committed", "found", n=0)
    )
    sys.stdout.flush()
    sys.exit("The public API has changed: review the lines above, and run .ci/api.py to write them down.")


if __name__ == "__main__":
    main()
