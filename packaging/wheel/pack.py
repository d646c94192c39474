#!/usr/bin/env python3
"""Packs a tree of files as a wheel, with the files that say what it is.

usage: pack.py TREE VERSION PLATFORM EPOCH README DIRECTORY
"""
import base64
import hashlib
import pathlib
import sys
import time
import zipfile


def main(tree, version, platform, epoch, readme, into):
    tree, into = pathlib.Path(tree), pathlib.Path(into)
    info = f"muster-{version}.dist-info"
    tag = f"py3-none-{platform}"
    (tree / info / "METADATA").write_text(
        "Metadata-Version: 2.1\n"
        "Name: muster\n"
        f"Version: {version}\n"
        "Summary: Leader election, fencing tokens and node discovery\n"
        "License: MIT\n"
        "License-File: LICENSE\n"
        "Requires-Python: >=3.11\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Typing :: Typed\n"
        "Description-Content-Type: text/markdown\n"
        "\n" + pathlib.Path(readme).read_text()
    )
    (tree / info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: muster {version}\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())
    # What describes the wheel comes last, as installers read from the end.
    names.sort(key=lambda name: name.startswith(info))
    record = []
    made = time.gmtime(max(int(epoch), 315532800))[:6]  # A zip knows no time before 1980.
    path = into / f"muster-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, content):
            entry = zipfile.ZipInfo(name, made)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content)

        for name in names:
            content = (tree / name).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
            add(name, content)
        add(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
