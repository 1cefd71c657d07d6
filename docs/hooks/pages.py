"""Pages that stand outside of docs/: the README is the home page, the change log a page, rules and examples are files.

Links are written for readers of the repository. The hook turns them to where the same thing stands on the site, and
leaves those that lead nowhere as they are, so that `mkdocs build --strict` names them.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers import LEXERS

HOMES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "rules": "rules.md",
    "examples": "notebooks/company_ownership.md",
}
PUBLISHED = ("rules", "examples")
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
COMMENT = re.compile(r"<!--.*?-->\n?", re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Colour rules by kgreason's own lexer, also where the package is not installed."""
    LEXERS["VadalogLexer"] = (
        "kgreason.language.highlighter",
        "Vadalog",
        ("vadalog", "vada"),
        ("*.vada",),
        (),
    )
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that stand outside of docs/."""
    root = Path(config.config_file_path).parent
    for source, page in HOMES.items():
        if source.endswith(".md"):
            content = (root / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=content))
    for folder in PUBLISHED:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix not in {".py", ".pyc", ".ipynb"}:
                name = path.relative_to(root).as_posix()
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Turn the links of a page, and drop its comments: they are for the test that runs its code."""
    root = Path(config.config_file_path).parent
    here = page.file.src_uri
    source = next((PurePosixPath(s) for s, p in HOMES.items() if p == here and s.endswith(".md")), None)
    source = source or PurePosixPath("docs", here)
    text = LINK.sub(lambda link: moved(link[1], source, here, root), markdown)
    return COMMENT.sub("", text)


def moved(target: str, source: PurePosixPath, page: str, root: Path) -> str:
    """Link from `page` of the site to what `target` is for a reader of the file `source`."""
    place = os.path.normpath(source.parent / target)
    place = HOMES.get(place, place.removeprefix("docs/"))
    place = re.sub(r"^examples/(\w+)\.ipynb$", r"notebooks/\1.md", place)
    if not (root / source.parent / target).exists():
        return target
    return os.path.relpath(place, PurePosixPath(page).parent)
