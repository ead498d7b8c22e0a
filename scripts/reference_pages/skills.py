"""Write the plugin's skills from the playbooks: `scripts/skills [FOLDER]`."""

import json
import sys
from itertools import groupby
from pathlib import Path

from mcp_binance_server.guide.config import CONTENT
from mcp_binance_server.guide.document import read_text

PLAYBOOKS, ORDERS = "binance-playbooks", "place-orders"
ORDERS_PAGE = "trading/first-order.md"
GUIDE = "guide://document/"
INTRODUCTION = f"""# Playbooks for Binance

Read the one page that fits the question. They are also resources of the server: `{GUIDE}market/order-book.md` is
`references/market/order-book.md` here, and `search_guides` finds a page by words.

Before an order, read `references/{ORDERS_PAGE}`.
"""


def skill_files() -> dict[str, str]:
    """Return the text of every generated file by its path in the plugin's folder of skills."""
    pages = {
        path.relative_to(CONTENT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(CONTENT.glob("*/*.md"))
    }
    facts = {name: read_text(name, text) for name, text in pages.items()}
    index = [INTRODUCTION]
    for topic, names in groupby(pages, lambda name: name.partition("/")[0]):
        rows = (f"- [{facts[name][0].title}](references/{name}): {facts[name][0].description}" for name in names)
        index.append("\n".join([f"## {topic.capitalize()}\n", *rows, ""]))
    orders, body = facts[ORDERS_PAGE]
    description = (
        "Playbooks for Binance through its MCP server: API keys, errors, charts, order books, order flow, "
        "position sizes, portfolio review, order types and freshness of data."
    )
    return {
        f"{PLAYBOOKS}/SKILL.md": _skill(PLAYBOOKS, description, "\n".join(index)),
        f"{ORDERS}/SKILL.md": _skill(ORDERS, orders.description, body),
        **{f"{PLAYBOOKS}/references/{name}": text for name, text in pages.items()},
    }


def _skill(name: str, description: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n{body.strip()}\n"


def main() -> None:
    """Write every file, and remove generated files that have no playbook any more."""
    folder = Path(sys.argv[1])
    files = skill_files()
    for old in (folder / PLAYBOOKS).rglob("*.md"):
        if old.relative_to(folder).as_posix() not in files:
            old.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
