"""Every requirement of the five contract documents and every ruling on them.

A line says `covered` or `planned`. `covered` means that a test carries its id, `@requirement("FR-015")`, and
`tests/test_requirements.py` holds both sides to it: no covered line without a test, no test for a line still planned.
"""

from typing import Final

from requirements.chart_tools import CHART_TOOLS
from requirements.data_model import DATA_MODEL
from requirements.guide import GUIDE
from requirements.prompts import PROMPTS
from requirements.resources import RESOURCES
from requirements.rulings import RULINGS

REQUIREMENTS: Final = (*RESOURCES, *PROMPTS, *GUIDE, *CHART_TOOLS, *DATA_MODEL, *RULINGS)
