"""Write the generated pages of docs/ anew: ``python scripts/write_docs.py``."""

from pathlib import Path

from yacht_env import RULESETS
from yacht_env.files import write_atomically
from yacht_env.odds import odds_page
from yacht_env.strategy import strategy_page, weigh_advice

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[str, str]:
    """The pages by file name."""
    return {
        "odds.md": odds_page(RULESETS) + "\n",
        "strategy.md": strategy_page(weigh_advice()) + "\n",
    }


if __name__ == "__main__":
    for name, text in pages().items():
        write_atomically(DOCS / name, text)
        print(f"docs/{name}")
