"""What only a session or a request may know: in memory, unprintable, and gone when it is wiped."""

from typing import Generic, TypeVar

HeldT = TypeVar("HeldT")


class Vault(Generic[HeldT]):
    """Holds one thing until it is wiped; neither prints it nor lets it be copied."""

    __slots__ = ("_held",)

    def __init__(self, held: HeldT | None = None) -> None:
        self._held = held

    def read(self) -> HeldT | None:
        """Return what is held; None once it is wiped."""
        return self._held

    def wipe(self) -> None:
        """Let go of it: Python cannot overwrite a string, so the reference is all there is to drop."""
        self._held = None

    def __repr__(self) -> str:
        return f"Vault({'empty' if self._held is None else '****'})"

    def __reduce__(self) -> str:
        """Refuse to be pickled or copied: both make a second secret that nobody would wipe."""
        raise TypeError("a Vault cannot be pickled or copied")
