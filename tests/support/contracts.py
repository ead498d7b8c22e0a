"""The contract documents beside the checkout; a test that reads them is marked as needing them."""

from support.fixtures import CONTRACT_DOCUMENTS, UNPUBLISHED

DOCUMENTS = {"resources": "000_*", "prompts": "001_*", "guide": "002_*", "chart tools": "003_*", "data model": "004_*"}


def read_contract(subject: str) -> str:
    """Return the text of a contract document."""
    (path,) = UNPUBLISHED[CONTRACT_DOCUMENTS].path.glob(DOCUMENTS[subject])
    return path.read_text(encoding="utf-8")
