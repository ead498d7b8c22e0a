"""Put the page of the live chart into what is built: it holds code of others, so no checkout has it.

From a checkout it is made, with Node. A source distribution and a bundle bring it along, so building them needs none.
Without Node an installation has no live chart and says so; with CHART_PAGE=required, as for a release, it fails.
"""

import os
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("mcp_binance_server", "surface", "apps", "chart.html")
WITHOUT = (
    "The live chart was not built, so charts are pictures: {}. To have it, install again where Node 18 and npm are"
)


class ChartPage(BuildHookInterface[Any]):
    """The hook that hatchling finds here."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the page, or take the one that is there, and have it included."""
        self._place = TemporaryDirectory(prefix="chart-page-")
        root, is_editable = Path(self.root), version == "editable"
        page, builder, problem = root / "src" / PAGE, root / "web" / "build.py", ""
        if builder.is_file() and not (root / "PKG-INFO").is_file():
            page = page if is_editable else Path(self._place.name) / PAGE.name
            problem = _problem_with(builder, page)
        elif not page.is_file():
            problem = "these sources have neither its page nor what makes it"
        if problem and os.environ.get("CHART_PAGE") == "required":  # noqa: TID251 - of the build, not of the product
            raise RuntimeError(f"CHART_PAGE=required: {problem}")
        if problem:
            self.app.display_warning(WITHOUT.format(problem))
        elif not is_editable:  # which is a path to the sources, where the page now is
            build_data["force_include"][str(page)] = (PAGE if self.target_name == "wheel" else "src" / PAGE).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was made for this build."""
        self._place.cleanup()


def _problem_with(builder: Path, page: Path) -> str:
    made = runpy.run_path(str(builder))
    try:
        made["build_page"](page)
    except made["PageNotBuilt"] as problem:
        return str(problem)
    return ""
