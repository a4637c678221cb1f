"""The locked packages: `python -m bench.packages audit` or `sbom`.

`audit` asks pip-audit for known vulnerabilities. `sbom` writes the software bill of materials of a release.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from bench.server import ROOT

LOCK, DEV_LOCK = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
ENTRY = re.compile(r"^([\w.-]+)==(\S+)(?: ; ([^\\\n]+))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
LICENCE_CLASSIFIER = "License :: OSI Approved :: "
MAX_LICENCE_NAME = 60  # a longer one is the text of the licence
NO_DATA = "Not audited: the data on vulnerabilities could not be had"


@dataclass(frozen=True)
class Package:
    """One entry of a lock file. marker: the systems that need it; hashes: SHA-256 of the version's files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def locked(text: str) -> list[Package]:
    """The entries of a lock file."""
    return [
        Package(canonicalize_name(name), version, marker.strip(), tuple(re.findall(r"sha256:(\w+)", hashes)))
        for name, version, marker, hashes in ENTRY.findall(text)
    ]


def licence_of(name: str) -> str | None:
    """The licence in an installed package's metadata, an SPDX expression or a name; None if it is not installed."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = [line.removeprefix(LICENCE_CLASSIFIER) for line in about.get_all("Classifier") or ()]
    names = [*(about.get_all("License-Expression") or ()), *(about.get_all("License") or ())]
    names += [line for line in classifiers if not line.startswith(("License", "Programming")) and "License" in line]
    return next((licence for licence in names if licence and len(licence) <= MAX_LICENCE_NAME), None)


def bill_of_materials() -> dict[str, Any]:
    """CycloneDX 1.6: every locked package of the app with its licence and the hashes of its files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    app = {
        "type": "application",
        "bom-ref": "triptych",
        "name": project["name"],
        "version": project["version"],
        "licenses": [{"license": {"id": project["license"]}}],
    }
    packages = locked(LOCK.read_text(encoding="utf-8"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": app},
        "components": [_component(package) for package in packages],
    }


def _component(package: Package) -> dict[str, Any]:
    address = f"pkg:pypi/{package.name}@{package.version}"
    licence = licence_of(package.name)
    return {
        "type": "library",
        "bom-ref": address,
        "purl": address,
        "name": package.name,
        "version": package.version,
        "licenses": [{"license": {"name": licence}}] if licence else [],
        # a component's hash is of a single file, so each file is a separate reference
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"{address}#sha256:{sha256}",
                "hashes": [{"alg": "SHA-256", "content": sha256}],
            }
            for sha256 in package.hashes
        ],
    }


def audit(command: Sequence[str | Path] = (sys.executable, "-m", "pip_audit")) -> int:
    """Print the known vulnerabilities of the locked packages; returns 0 for none, 1 for some, 3 if nothing was checked.

    pip-audit itself returns 0 and "No known vulnerabilities" if it got no data about any package.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "audit.json"
        options = ["--require-hashes", "--disable-pip", "-r", str(DEV_LOCK), "-f", "json", "-o", str(answer)]
        ended = subprocess.run([*command, *options], capture_output=True, text=True)
        packages = json.loads(answer.read_text(encoding="utf-8"))["dependencies"] if answer.exists() else []
    audited = [package for package in packages if "vulns" in package]
    if not audited:
        reason = packages[0]["skip_reason"] if packages else (ended.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"{NO_DATA} ({reason}).")
        return 3
    vulnerable = [(package, flaw) for package in audited for flaw in package["vulns"]]
    for package, flaw in vulnerable:
        remedy = f"fixed in {', '.join(flaw['fix_versions'])}" if flaw["fix_versions"] else "no version without it"
        print(f"{package['name']} {package['version']}: {flaw['id']}, {remedy}")
    skipped = [package["name"] for package in packages if "vulns" not in package]
    if skipped:
        print(f"Not audited: {', '.join(skipped)}.")
    print(f"{len(audited)} packages audited, {len(vulnerable)} known vulnerabilities.")
    return 1 if vulnerable else 3 if skipped else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.packages", description=__doc__)
    parser.add_argument("task", choices=["audit", "sbom"])
    if parser.parse_args().task == "audit":
        return audit()
    bill = bill_of_materials()
    path = ROOT / "dist" / f"triptych-{bill['metadata']['component']['version']}.cdx.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    without = [part["name"] for part in bill["components"] if not part["licenses"]]
    unknown = f"; no licence known of {', '.join(without)}" if without else ", each with its licence"
    print(f"{path.relative_to(ROOT)}: {len(bill['components'])} packages{unknown}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
