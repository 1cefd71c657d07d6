"""Notebooks of examples/ as pages: executed while the site is built, and shown with what they say.

With `KGREASON_NOTEBOOKS=show` in the environment they are shown without being executed, for a quick look.
"""

from __future__ import annotations

import base64
import logging
import os
import time
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

log = logging.getLogger("mkdocs.hooks.notebooks")
TIMEOUT = 300
"""Seconds that a cell may take, on a machine where kernels are not compiled yet."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, its figures, and the notebook itself."""
    root = Path(config.config_file_path).parent
    import_module("matplotlib.font_manager")  # looks for fonts once, and would say so within a notebook
    for path in sorted((root / "examples").glob("*.ipynb")):
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        if os.environ.get("KGREASON_NOTEBOOKS") != "show":
            start = time.perf_counter()
            execute(notebook, path.parent)
            log.info("notebook %s: %.1f s", path.name, time.perf_counter() - start)
        text, pictures = page(notebook, path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in `folder`; an error or a warning is an exception."""
    where = {"metadata": {"path": str(folder)}}
    with TemporaryDirectory() as sockets:  # by TCP everybody on the machine could listen
        config = Config(ConnectionFileMixin={"transport": "ipc", "ip": f"{sockets}/kernel"})
        NotebookClient(notebook, config=config, timeout=TIMEOUT, resources=where).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.name == "stderr":
                raise RuntimeError(f"a cell wrote to stderr: {output.text}\n{cell.source}")


def page(notebook: NotebookNode, stem: str) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook, and its figures by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.get("outputs", ()):
            parts.append(shown(output, f"{stem}_{len(pictures) + 1}.png", pictures))
    title, rest = parts[0].partition("\n")[::2]
    where = f"The notebook: [{stem}.ipynb]({stem}.ipynb), in `examples/` of a checkout."
    return "\n\n".join([title, where, rest.strip(), *parts[1:]]) + "\n", pictures


def shown(output: NotebookNode, picture: str, pictures: dict[str, bytes]) -> str:
    """One output of a cell: its HTML, else its picture, else its text."""
    if output.output_type == "stream":
        return block(output.text)
    data = output.data
    if "text/html" in data:
        return f'<div class="output" markdown="0">\n{data["text/html"]}\n</div>'
    if "image/png" in data:
        pictures[picture] = base64.b64decode(data["image/png"])
        return f"![{data.get('text/plain', 'figure')}]({picture})"
    return block(data["text/plain"])


def block(text: str) -> str:
    """A block of text, fenced so that nothing in it is read as Markdown."""
    return f"````text\n{text.rstrip()}\n````"
