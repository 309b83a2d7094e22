"""Print the bill of materials of requirements.lock, as CycloneDX 1.6 in JSON.

``python .ci/sbom.py > sbom.cdx.json``. The same lock gives the same bytes: it has no date and no
serial number.
"""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)")


def component(block: str) -> dict[str, object]:
    """Return a package of the lock; its digests are those of all files that may be installed."""
    found = _PIN.match(block)
    assert found is not None, block
    name, version = found[1].lower().replace("_", "-"), found[2]
    digests = sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "properties": [{"name": "pip:file:sha256", "value": each} for each in digests],
    }


def bill() -> dict[str, object]:
    """Return the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE))
    ours = {
        "type": "application",
        "bom-ref": project["name"],
        "name": project["name"],
        "version": project["version"],
        "licenses": [{"license": {"id": project["license"]}}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": [component(block) for block in blocks if block.strip()],
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=1))
