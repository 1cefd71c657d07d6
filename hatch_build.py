"""Build hook: compiles the kernels while a wheel is made, so that the first run need not."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags


class MachineCode(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the machine code of the kernels to the wheel and tags the wheel for the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile kernels that have changed; without a compiler for the platform, the wheel has no machine code."""
        del version
        sys.path.insert(0, self.root)
        try:
            from kgreason.base.kernel_builds import build
        except ImportError as error:
            self.app.display_warning(f"kernels will be compiled at their first use: {error}")
            return
        for file in build():
            build_data["force_include"][str(file)] = f"kgreason/_machine_code/{file.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"


def _platform() -> str:
    """Platform of the wheel: machine code of kernels is bound to no version of Python or of the C library."""
    known = list(platform_tags())
    return next((tag for tag in known if tag.startswith("manylinux2014_")), known[0])
