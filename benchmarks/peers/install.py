"""Install the peers from the registries, each into its own venv or npm folder: --into DIR [PEER ...]."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    peers = tomllib.loads((HERE / "peers.toml").read_text())
    known = [name for name, peer in peers.items() if "pip" in peer or "npm" in peer]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"any of {', '.join(known)}; default: all")
    options = parser.parse_args()
    failed: list[str] = []
    for name in options.peers or known:
        if "pip" in peers[name]:
            folder = options.into / f"venv-{name}"
            venv.create(folder, with_pip=True)
            pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            command = [*pip, "--ignore-requires-python", *peers[name]["pip"]]
        else:
            folder = options.into / f"npm-{name}"
            folder.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error"]
            command += peers[name]["npm"]
        code = subprocess.run(command, check=False).returncode
        print(f"{name}: {'installed' if code == 0 else f'failed, exit code {code}'}", flush=True)
        failed += [name] if code else []
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
