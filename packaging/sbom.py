#!/usr/bin/env python3
"""Writes what is shipped and what it is made of, as SPDX 2.3 JSON: our packages with their programs, and for each
every Debian package that its programs load at run time (DYNAMIC_LINK) or whose headers are compiled into them
(STATIC_LINK), its version, and its licence, or the licences of its parts. The page of musterd is all our own.

usage: sbom.py VERSION PROGRAM… >sbom.spdx.json
"""

import json
import os
import pathlib
import re
import subprocess
import sys

# Only headers of these are used, so that no program names them.
HEADERS_ONLY = ["nlohmann-json3-dev", "libcli11-dev"]


# What we ship, and which of the programs are in it. Of the library only our own code is shipped; what it links
# is what the packages beside it link.
SHIPPED = {
    "muster": ("the command muster, and the guardian of its commands", ["muster", "muster-guardian"]),
    "musterd": ("the server musterd, with its page", ["musterd"]),
    "libmuster0": ("the shared library", ["libmuster.so.0"]),
    "libmuster-dev": ("headers, the static libraries and the wire contract", []),
}

# By source package, where the copyright file is prose and not a list: the licence of the libraries in it,
# as read there.
LICENCES = {
    "c-ares": "MIT",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "krb5": "BSD-2-Clause",
    "libtasn1-6": "LGPL-2.1-or-later",
    "rtmpdump": "LGPL-2.1-or-later",
}
COMMENT = ("A Debian package whose copyright file lists the licences of its files has that list in licenseComments "
           "and NOASSERTION in licenseDeclared, because nobody has judged which of them hold for the library; "
           "where the file is prose, licenseDeclared is the library's licence as read there.")


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries(program):
    for line in run("ldd", program).splitlines():
        found = re.search(r"=> (/\S+)", line)
        if found:
            yield os.path.realpath(found.group(1))


def packages_of(paths):
    """The package of each; asked together, since dpkg reads all its lists each time."""
    # The package knows the name without /usr where the system has merged the two.
    names = {name: path for path in paths for name in (path, path.removeprefix("/usr"))}
    said = subprocess.run(["dpkg", "-S", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout
    found = {}
    for line in said.splitlines():
        owners, _, name = line.partition(": ")
        if name in names:
            found[names[name]] = owners.split(",")[0].split(":")[0]
    for path in paths - found.keys():
        sys.exit(f"sbom: no package owns {path}")
    return set(found.values())


def licences(package, source):
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    named = sorted({each.strip() for each in re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)})
    if named:
        return {"licenseDeclared": "NOASSERTION",
                "licenseComments": "named in its copyright file: " + "; ".join(named)}
    known = LICENCES.get(re.sub(r"^gcc-\d+$", "gcc", source))
    if known:
        return {"licenseDeclared": known, "licenseComments": f"as read in {path}"}
    print(f"sbom: {path} has no list of licences, and LICENCES does not know {source}", file=sys.stderr)
    return {"licenseDeclared": "NOASSERTION", "licenseComments": f"nobody has read {path}"}


def describe(package):
    version, source = run("dpkg-query", "-W", "-f", "${Version}\t${source:Package}", package).split("\t")
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package),
        "name": package,
        "versionInfo": version,
        "sourceInfo": f"Debian source package {source}",
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": "NOASSERTION",
        **licences(package, source),
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{package}@{version}"}],
    }


def main():
    version, programs = sys.argv[1], {os.path.basename(path): path for path in sys.argv[2:]}
    packages, loads = set(HEADERS_ONLY), {}
    for name, (_, inside) in SHIPPED.items():
        missing = set(inside) - set(programs)
        if missing:
            sys.exit(f"sbom: {', '.join(sorted(missing))} of the package {name} is not given")
        loads[name] = packages_of({path for program in inside for path in libraries(programs[program])})
        packages |= loads[name]
    if len(programs) != sum(len(inside) for _, inside in SHIPPED.values()):
        sys.exit("sbom: a program is given that is in no package; add it to SHIPPED")
    described = [describe(each) for each in sorted(packages)]
    ids = {each["name"]: each["SPDXID"] for each in described}
    own, relations = [], []
    for name, (what, inside) in SHIPPED.items():
        own.append({"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "summary": what,
                    "comment": "programs: " + (", ".join(inside) or "none"),
                    "downloadLocation": "NOASSERTION", "licenseConcluded": "MIT", "licenseDeclared": "MIT"})
        links = [("STATIC_LINK", each) for each in HEADERS_ONLY] if inside else []
        links += [("DYNAMIC_LINK", each) for each in sorted(loads[name])]
        relations += [{"spdxElementId": f"SPDXRef-{name}", "relationshipType": kind,
                       "relatedSpdxElement": ids[each]} for kind, each in links]
        relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                          "relatedSpdxElement": f"SPDXRef-{name}"})
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"muster-{version}", "documentNamespace": f"urn:muster:sbom:{version}",
               "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: sbom.py"],
                                "comment": COMMENT},
               "packages": [*own, *described], "relationships": relations}, sys.stdout, indent=1)
    print()


main()
