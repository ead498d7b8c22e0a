"""Write the reference pages into a folder: `scripts/reference [FOLDER]`. Requires the extra grpc."""

import sys
from pathlib import Path

from reference_pages.pages import PAGES


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in PAGES.items():
        (folder / name).write_text(write(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
