"""Makes a wheel of one program.

    python3 packaging/wheel.py PROGRAM TEXTS VERSION TARGET OUTPUT

TEXTS is the folder with README.md and the licences. The same input becomes the same bytes
at the same SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import re
import sys
import time
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NAME, SUMMARY = "signin-kit", "A sign-in broker, imitations of Google and GitHub, a demo, and a conformance runner"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def oldest_glibc(program):
    """The minor version of the oldest glibc 2 that the program starts with."""
    return max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", program))


def metadata(version, readme):
    fields = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version}",
        f"Summary: {SUMMARY}",
        "License-Expression: MIT OR Apache-2.0",
        *(f"License-File: {licence}" for licence in LICENCES),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(fields) + "\n\n" + readme


def write_wheel(path, files, record):
    """Writes files, and at last the record of their digests."""
    made = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    lines = []
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:

        def write(name, content, mode):
            entry = ZipInfo(name, made)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            wheel.writestr(entry, content, ZIP_DEFLATED)

        for name, content, mode in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}")
            write(name, content, mode)
        write(record, "\n".join([*lines, f"{record},,", ""]).encode(), 0o644)


def main(program, texts, version, target, output):
    program, texts = Path(program).read_bytes(), Path(texts)
    # pip refuses a wheel on a machine whose glibc is older than its tag says.
    tag = f"py3-none-manylinux_2_{oldest_glibc(program)}_{target.split('-')[0]}"
    base = f"{NAME.replace('-', '_')}-{version}"
    about = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    info = f"{base}.dist-info"
    files = [
        (f"{base}.data/scripts/{NAME}", program, 0o755),
        (f"{info}/METADATA", metadata(version, (texts / "README.md").read_text()).encode(), 0o644),
        (f"{info}/WHEEL", about.encode(), 0o644),
        *((f"{info}/licenses/{name}", (texts / name).read_bytes(), 0o644) for name in LICENCES),
    ]
    write_wheel(Path(output) / f"{base}-{tag}.whl", files, f"{info}/RECORD")


if __name__ == "__main__":
    main(*sys.argv[1:])
