#!/usr/bin/env python3
"""Makes what a release offers to people who have no Rust, for this system, in target/artefacts.

    .ci/artefacts.py program [--profile PROFILE]
        The program `bshuf` with its man page and completions.
    .ci/artefacts.py library [--profile PROFILE]
        The C library, shared and static, with headers and files for pkg-config and CMake.
    .ci/artefacts.py licences MANIFEST FILE [FEATURES]
        The licences of all packages that a package contains.

An archive also has our licences, those of all packages in it, and a list of these packages in
CycloneDX's format. The program contains that list itself, where `cargo audit` looks for it. Two
archives of the same files are equal. The profile is Cargo's, `release` unless it is given.

Needs cargo-about, cargo-auditable and cargo-cyclonedx; outside of GitHub it does without those that
are not there, and says so.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "artefacts"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, cwd=ROOT, **options)


def read(*command):
    return run(*command, stdout=subprocess.PIPE, text=True).stdout.strip()


def has(tool):
    """Whether Cargo has a subcommand that is not its own."""
    if shutil.which(f"cargo-{tool}"):
        return True
    print(f"Without cargo-{tool}, which is not installed.", file=sys.stderr)
    if "GITHUB_ACTIONS" in os.environ:
        sys.exit(1)
    return False


def licences(manifest, features, target):
    """The text of all licences, by cargo-about. It accepts what deny.toml allows."""
    if not has("about"):
        return None
    allowed = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "about.toml"
        text = f"accepted = {json.dumps(allowed)}\nignore-dev-dependencies = true\nignore-build-dependencies = true\ntargets = {json.dumps([target])}\n"
        # Below the library's folder are all others, and what was built.
        text += '[bijective-shuffle.clarify]\nlicense = "MIT OR Apache-2.0"\n'
        for path, name in [("LICENSE-APACHE", "Apache-2.0"), ("LICENSE-MIT", "MIT")]:
            digest = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
            text += f'[[bijective-shuffle.clarify.files]]\npath = "{path}"\nlicense = "{name}"\nchecksum = "{digest}"\n'
        settings.write_text(text)
        written = pathlib.Path(folder) / "text"
        run("cargo", "about", "generate", "--locked", "--offline", "--fail", "-c", settings, "-m", manifest,
            *(["--features", features] if features else []), "-o", written, ".ci/about.hbs")
        return written.read_bytes()


def materials(manifest, features, target):
    """What a package consists of, in CycloneDX's format."""
    if not has("cyclonedx"):
        return None
    run("cargo", "cyclonedx", "--quiet", "--format", "json", "--manifest-path", manifest, "--target", target,
        "--override-filename", "materials", *(["--features", features] if features else []), env=dict(os.environ, SOURCE_DATE_EPOCH=str(commit_time())))
    found = (ROOT / manifest).with_name("materials.json").read_text()
    # It writes one beside each manifest of the workspace.
    for other in read("git", "ls-files", "*Cargo.toml").split():
        (ROOT / other).with_name("materials.json").unlink(missing_ok=True)
    return found.replace(ROOT.as_uri(), "file://").encode()


def commit_time():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or read("git", "log", "-1", "--format=%ct"))


def archive(name, files):
    """Packs files, by their names in it: their contents, whether they are programs, or a link."""
    when = commit_time()
    OUT.mkdir(parents=True, exist_ok=True)
    if "windows" in name:
        path = OUT / f"{name}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for inner, (content, _) in sorted(files.items()):
                packed.writestr(zipfile.ZipInfo(f"{name}/{inner}"), content, zipfile.ZIP_DEFLATED)
    else:
        path = OUT / f"{name}.tar.gz"
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as packed:
            for inner, (content, mode) in sorted(files.items()):
                member = tarfile.TarInfo(f"{name}/{inner}")
                member.mtime, member.mode = when, mode
                if isinstance(content, str):
                    member.type, member.linkname = tarfile.SYMTYPE, content
                    packed.addfile(member)
                else:
                    member.size = len(content)
                    packed.addfile(member, io.BytesIO(content))
        path.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=0))
    print(path)


def common(manifest, features, target):
    """What every archive has."""
    files = {path.name: (path.read_bytes(), 0o644) for path in ROOT.glob("LICENSE-*")}
    for name, content in [("LICENSES-THIRD-PARTY", licences(manifest, features, target)), ("materials.cdx.json", materials(manifest, features, target))]:
        if content:
            files[name] = (content, 0o644)
    return files


def program(version, target, profile):
    features = "tables"
    cargo = ["cargo", "auditable"] if has("auditable") else ["cargo"]
    run(*cargo, "build", "--locked", "--profile", profile, "-p", "bijective-shuffle-cli", "--features", features)
    target_dir = pathlib.Path(json.loads(read("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))["target_directory"])
    folder = target_dir / ("debug" if profile == "dev" else profile)
    suffix = ".exe" if "windows" in target else ""
    built = folder / f"bshuf{suffix}"
    with tempfile.TemporaryDirectory() as temporary:
        stripped = pathlib.Path(temporary) / built.name
        shutil.copy(built, stripped)
        # The list of dependencies is in a section that stays.
        if suffix == "" and shutil.which("strip"):
            run("strip", stripped)
        files = {built.name: (stripped.read_bytes(), 0o755)}
        for what, name in [("man", "bshuf.1"), ("bash", "bshuf.bash"), ("zsh", "_bshuf"), ("fish", "bshuf.fish")]:
            text = run(stripped, "--generate", what, stdout=subprocess.PIPE).stdout
            files[name] = (text, 0o644)
        check_program(stripped, version, pathlib.Path(temporary) / "shuffled")
    files["README.md"] = ((ROOT / "crates/cli/README.md").read_bytes(), 0o644)
    archive(f"bshuf-{version}-{target}", files | common("crates/cli/Cargo.toml", features, target))


def check_program(bshuf, version, shuffled):
    """Whether it is of this version, and puts a file back."""
    if read(bshuf, "--version") != f"bshuf {version}":
        sys.exit(f"{bshuf} is not version {version}")
    text = (ROOT / "README.md").read_bytes()
    shuffled.write_bytes(run(bshuf, "--seed", "1", "README.md", stdout=subprocess.PIPE).stdout)
    back = run(bshuf, "--seed", "1", "--undo", shuffled, stdout=subprocess.PIPE).stdout
    if back != text or shuffled.read_bytes() == text:
        sys.exit(f"{bshuf} does not put README.md back")


def check_library(installed, folder):
    """Whether programs that CMake builds by the shared and the static library run."""
    if not shutil.which("cmake"):
        print("Not tried: there is no CMake.", file=sys.stderr)
        return
    run("cmake", "-S", "crates/c/tests", "-B", folder, f"-DCMAKE_PREFIX_PATH={installed}", stdout=subprocess.DEVNULL)
    run("cmake", "--build", folder, "--config", "Release", stdout=subprocess.DEVNULL)
    paths = dict(os.environ, LD_LIBRARY_PATH=str(installed / "lib"), PATH=os.pathsep.join([str(installed / "bin"), os.environ["PATH"]]))
    for name in ["example_shared", "example_static", "epochs_shared", "epochs_static"]:
        built = next(path for path in folder.rglob(f"{name}*") if path.is_file() and path.stem == name and path.suffix in {"", ".exe"})
        run(built, env=paths, stdout=subprocess.DEVNULL)


def library(version, target, profile):
    with tempfile.TemporaryDirectory() as temporary:
        # Windows has another `bash` of its own, which it would find first.
        run(shutil.which("bash"), "crates/c/install", "--prefix", "/usr", "--destdir", temporary, "--profile", profile, stdout=sys.stderr)
        files, base = {}, pathlib.Path(temporary) / "usr"
        for path in base.rglob("*"):
            if path.is_symlink():
                files[path.relative_to(base).as_posix()] = (os.readlink(path), 0o777)
            elif path.is_file():
                files[path.relative_to(base).as_posix()] = (path.read_bytes(), path.stat().st_mode & 0o777)
        check_library(base, pathlib.Path(temporary) / "cmake")
    archive(f"libbijective_shuffle-{version}-{target}", files | common("crates/c/Cargo.toml", None, target))


def main():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ["program", "library"]:
        options = kinds.add_parser(kind)
        options.add_argument("--profile", default="release")
    options = kinds.add_parser("licences")
    options.add_argument("manifest")
    options.add_argument("file")
    options.add_argument("features", nargs="?")
    arguments = parser.parse_args()
    host = read("rustc", "--print", "host-tuple")
    if arguments.kind == "licences":
        text = licences(arguments.manifest, arguments.features, host)
        if text:
            pathlib.Path(arguments.file).write_bytes(text)
        return
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    make = program if arguments.kind == "program" else library
    make(version, host, arguments.profile)


main()
