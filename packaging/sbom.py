#!/usr/bin/env python3
"""Writes what the programs are made of, as SPDX 2.3 JSON: every Debian package that they load at run
time or were compiled with headers of, its version, and its licence, or the licences of its parts. The page
of musterd is all our own.

usage: sbom.py VERSION PROGRAM… >sbom.spdx.json
"""

import json
import os
import pathlib
import re
import subprocess
import sys

# Only headers of these are used, so that no program names them.
HEADERS_ONLY = ["nlohmann-json3-dev", "libcli11-dev", "libcpp-httplib-dev"]


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


def package_of(path):
    # The package knows the name without /usr where the system has merged the two.
    for name in (path, path.removeprefix("/usr")):
        asked = subprocess.run(["dpkg", "-S", name], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.split(": ")[0].split(",")[0].split(":")[0]
    sys.exit(f"sbom: no package owns {path}")


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
    version, programs = sys.argv[1], sys.argv[2:]
    packages = {package_of(path) for program in programs for path in libraries(program)}
    packages |= set(HEADERS_ONLY)
    described = [describe(each) for each in sorted(packages)]
    own = {"SPDXID": "SPDXRef-muster", "name": "muster", "versionInfo": version,
           "downloadLocation": "NOASSERTION", "licenseConcluded": "MIT", "licenseDeclared": "MIT"}
    relations = [{"spdxElementId": "SPDXRef-muster", "relationshipType": "DEPENDS_ON",
                  "relatedSpdxElement": each["SPDXID"]} for each in described]
    relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                      "relatedSpdxElement": "SPDXRef-muster"})
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"muster-{version}", "documentNamespace": f"urn:muster:sbom:{version}",
               "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: sbom.py"],
                                "comment": COMMENT},
               "packages": [own, *described], "relationships": relations}, sys.stdout, indent=1)
    print()


main()
