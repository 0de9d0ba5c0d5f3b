#!/usr/bin/env python3
"""Compiles walk_kernels.cu as device code: by NVRTC for the oldest and the newest architecture that it
knows, and by clang for AMD's.

    devices.py [FOLDER]

The folder, target/nvrtc by default, has NVRTC as pip installs it. Also checks that kernels which
take an order by value read its keys as operands, not from a copy in each thread's memory. What is
not there is skipped with a line that says so.
"""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
INCLUDE = HERE.parent / "include"
KERNELS = HERE / "walk_kernels.cu"
BY_VALUE = ["items", "places", "items32", "places32"]
AMD = ["gfx90a", "gfx942", "gfx1100"]


def nvrtc(folder):
    found = sorted(folder.glob("nvidia/*/lib/libnvrtc.so.[0-9]*"))
    if not found:
        return print("Skipped: there is no NVRTC.")
    # NVRTC looks for this one by its name alone.
    ctypes.CDLL(str(next(found[0].parent.glob("libnvrtc-builtins.so.[0-9]*"))))
    library = ctypes.CDLL(str(found[0]))

    def call(name, *arguments):
        status = getattr(library, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def text_of(program, kind):
        size = ctypes.c_size_t()
        call(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{kind}", program, text)
        return text.value.decode()

    count = ctypes.c_int()
    call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
    architectures = (ctypes.c_int * count.value)()
    call("nvrtcGetSupportedArchs", architectures)
    for architecture in {min(architectures), max(architectures)}:
        program = ctypes.c_void_p()
        call("nvrtcCreateProgram", ctypes.byref(program), KERNELS.read_bytes(), b"walk_kernels.cu", 0, None, None)
        options = [f"--gpu-architecture=compute_{architecture}", "-std=c++17", f"-I{INCLUDE}"]
        listed = (ctypes.c_char_p * len(options))(*map(str.encode, options))
        status = library.nvrtcCompileProgram(program, len(options), listed)
        log = text_of(program, "ProgramLog")
        assert status == 0 and not log.strip("\0\n "), log
        ptx = text_of(program, "PTX")
        for kernel in BY_VALUE:
            body = re.search(rf"\.entry {kernel}\((.*?)\n}}", ptx, re.S)[1]
            assert "mul" in body or "mad" in body, kernel
            assert ".local" not in body, f"{kernel} of sm_{architecture} copies the order"
        print(f"NVRTC compiles for sm_{architecture}.")


def clang(architecture):
    for compiler in ["clang++", *(f"clang++-{version}" for version in range(25, 13, -1))]:
        if not shutil.which(compiler):
            continue
        command = [compiler, "-x", "hip", f"--offload-arch={architecture}", "-nogpuinc", "-nogpulib", "--cuda-device-only"]
        with tempfile.NamedTemporaryFile(suffix=".hip") as empty:
            if subprocess.run([*command, "-fsyntax-only", empty.name], capture_output=True).returncode != 0:
                continue
        options = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
                   "-Werror", f"-I{INCLUDE}", "-S", "-o", "-", str(KERNELS)]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for kernel in BY_VALUE:
            scratch = re.search(rf"^{kernel}:.*?^; ScratchSize: (\d+)$", done.stdout, re.S | re.M)[1]
            assert scratch == "0", f"{kernel} of {architecture} copies the order"
        return print(f"{compiler} compiles for {architecture}.")
    print(f"Skipped: there is no clang for {architecture}.")


def main():
    nvrtc(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "target/nvrtc")
    for architecture in AMD:
        clang(architecture)


main()
