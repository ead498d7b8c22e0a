"""What some systems do not have, and tests of it are left out there for."""

import sys

import pytest

MODES = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")
MOVED_WHILE_OPEN = pytest.mark.skipif(sys.platform == "win32", reason="Windows moves no file that is open")
