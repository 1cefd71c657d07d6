"""Reference text that the site generates from the program: options, commands, formats.

A page asks for such text by a comment:

- ``<!-- settings: kgreason.anonymize -->``: keyword arguments of a function, as a list;
- ``<!-- options: people pckga -->``: options of a method, as a table; ``<!-- options -->``: those of all methods;
- ``<!-- commands -->``: all commands with their arguments and options;
- ``<!-- formats -->``: all formats of data, and the options of sources by format;
- ``<!-- diagnostics -->``: all codes of findings, with links to their pages;
- ``<!-- rules -->``: the files of the rule library, by the comments on top of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from importlib import import_module
from inspect import Parameter, cleandoc, getdoc, signature
from pathlib import Path
from typing import Any, get_args

PLACE = re.compile(r"<!-- (settings|options|commands|formats|diagnostics|rules)(?:: ([^>]+?))? -->\n?")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put generated text in the place of the comments that ask for it."""
    texts: dict[str, Callable[..., str]] = {
        "settings": arguments,
        "options": options,
        "commands": commands,
        "formats": formats,
        "diagnostics": diagnostics,
        "rules": rules,
    }
    return PLACE.sub(lambda found: texts[found[1]](*(found[2] or "").split()) + "\n\n", markdown)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Markdown of a table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(text: str) -> str:
    """Text of a cell, in which nothing is read as Markdown or HTML but code."""
    text = re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split()))
    parts = re.split(r"(`[^`]*`)", text.replace("|", "&#124;"))
    return "".join(p if p.startswith("`") else re.sub(r"([*_<])", r"\\\1", p) for p in parts)


def code(text: str) -> str:
    """Text of a cell as code, if there is any."""
    return f"<code>{text.replace('&', '&amp;').replace('<', '&lt;').replace('|', '&#124;')}</code>" * bool(
        text
    )


# --- settings ---


def arguments(function: str) -> str:
    """Keyword arguments of a function, which are the fields of its settings, as a list."""
    module, _, name = function.rpartition(".")
    call = getattr(import_module(module), name)
    _, _, section = str(call.__doc__).partition("    Parameters\n    ----------\n")
    texts = dict(re.findall(r"^    (\w+)\n        ([^\n]+)$", section.partition("\n\n    Raises")[0], re.M))
    lines = [
        f"`{name}{annotated(parameter)}`: {texts[name]}"
        for name, parameter in list(signature(call).parameters.items())[1:]
        if name in texts
    ]
    return "\n".join(["Arguments:", "", *(f"- {line}" for line in lines)])


def annotated(parameter: Parameter) -> str:
    """Type and default of a parameter."""
    shows = parameter.default is not Parameter.empty and parameter.name != "progress"
    return f": {parameter.annotation}" + f" = {parameter.default!r}" * shows


METHODS = {
    "isomorphism": ("kguard", "klone", "k-iso"),
    "people": ("pckga", "ckga", "cdga", "ctkga", "k-degree"),
    "links": ("links",),
}
"""Methods by family."""


def options(family: str = "", method: str = "") -> str:
    """Options of a method, read from its settings; those of all methods if none is named."""
    if not family:
        named = [(family, method) for family, methods in METHODS.items() for method in methods]
        parts = [f"## {m}\n\n[Page of the method](../methods/{m}.md)\n\n{options(f, m)}" for f, m in named]
        return "\n\n".join(parts)
    settings = settings_of(family, method)
    from kgreason.base.setting_fields import documentation, ordered, types

    texts, kinds = documentation(settings), types(settings)
    rows = [
        (
            code(flags(each)) or "Python only",
            code(each.name),
            cell(default(each)),
            cell(texts[each.name] + values(each, kinds.get(each.name), texts[each.name])),
        )
        for each in ordered(settings)
    ]
    head = ("Command line", "Python", "Default", "Meaning")
    return table(head, rows) + without_meaning(family, method, {each.name for each in fields(settings)})


def settings_of(family: str, method: str) -> Any:
    """Settings of a method."""
    module = import_module(f"kgreason.{family}.settings")
    return getattr(
        module, {"k-iso": "KIso", "k-degree": "KDegree", "links": "Settings"}.get(method, method.title())
    )


def flags(each: Any) -> str:
    """Option of the command line that sets a field; empty: there is none."""
    option = each.metadata["option"]
    words = [f"--{each.name.replace('_', '-')}"] if option is None else str(option).split()
    return ", ".join(dict.fromkeys(words)) + f" {each.metadata['metavar']}" * bool(
        words and each.metadata["metavar"]
    )


def default(each: Any) -> str:
    """Default of a field."""
    if each.metadata["shown"]:
        return str(each.metadata["shown"])
    if each.default is MISSING:
        return "required"
    if each.default is None or isinstance(each.default, bool):
        return "on" if each.default else "off" if each.default is False else "none"
    return str(each.default)


def values(each: Any, kind: Any, text: str) -> str:
    """Values that a field may have, where its type or its range says so."""
    parts = [kind, *get_args(kind)]
    names = [str(name) for part in parts for name in get_args(part) if isinstance(name, str)]
    least, most = each.metadata["least"], each.metadata["most"]
    if names:
        return f" One of {', '.join(names)}."
    if most is not None:
        return f" From {least:g} to {most:g}."
    stated = least is None or least < 1 or f"{least:g} or more" in text
    return "" if stated else f" At least {least:g}."


def without_meaning(family: str, method: str, own: set[str]) -> str:
    """Options of a method for people that its own clustering and partition leave without effect."""
    if family != "people":
        return ""
    unused = import_module("kgreason.people.settings").Settings(method=method).unused()
    named = [f"`--{name.replace('_', '-')}`" for name in unused if name in own]
    return (
        f"\n\nWithout effect in the default mode and clustering, and then refused: {', '.join(named)}."
        * bool(named)
    )


# --- commands ---


def commands() -> str:
    """All commands, with the options that every command has first."""
    from kgreason.cli import app

    start = app.context_class(app, info_name="kgreason")
    common = [p for p in app.params if "--help" not in p.opts]
    parts = ["## Options of every command", parameters(common, start)]
    shared = {flag for each in common for flag in each.opts}
    for name, command in app.commands.items():
        parts += described(name, command, start, shared)
    return "\n\n".join(parts)


def described(name: str, command: Any, parent: Any, shared: set[str]) -> list[str]:
    """Sections of a command, or of the commands of a group."""
    context = command.context_class(command, info_name=name, parent=parent)
    level = "##" if context.command_path.count(" ") == 1 else "###"
    if hasattr(command, "commands"):
        found = [f"{level} {context.command_path}", paragraphed(str(command.help))]
        for one, each in command.commands.items():
            found += described(one, each, context, shared)
        return found
    usage = " ".join(command.collect_usage_pieces(context))
    given = [p for p in command.params if not shared.intersection(p.opts) and "--help" not in p.opts]
    return [
        f"{level} {context.command_path}",
        paragraphed(str(command.help)),
        f"```text\n{context.command_path} {usage}\n```",
        parameters(given, context),
    ]


def paragraphed(text: str) -> str:
    """Help of a command, paragraph by paragraph."""
    return "\n\n".join(cell(part) for part in text.split("\n\n"))


def parameters(given: list[Any], context: Any) -> str:
    """Table of arguments and options."""
    rows = []
    for each in given:
        record = each.get_help_record(context)
        if record is not None:
            named, text = record
            text = re.sub(r"default: \((.*?)\)(?=[;\]])", r"default: \1", text)
            rows.append((code(re.sub(r" <list\[\w+\]>| <\w+>$", "", named)), cell(text)))
    return table(("Argument or option", "Meaning"), rows)


# --- formats ---


def formats() -> str:
    """Formats of data, and options of their sources and outputs."""
    from kgreason.data import targets
    from kgreason.data.format_list import FUNCTIONS, function_of
    from kgreason.language.vocabulary import EXTENSIONS

    writing = tables_of(targets, lambda names: isinstance(names, tuple))
    rows, notes = [], []
    for name, functions in FUNCTIONS.items():
        endings = [f".{ending}" for ending, of in EXTENSIONS.items() if of == name]
        reading = paragraphs(function_of(functions.read))
        written = paragraphs(function_of(functions.write)) if functions.write else ["not written"]
        files = code(" ".join(SPECIAL.get(name, endings)))
        rows.append(
            (code(name), files, cell(reading[0]), cell(written[0]), code(" ".join(writing.get(name, ()))))
        )
        more = [
            f"{verb} {cell(each)}"
            for verb, of in (("*Reading.*", reading), ("*Writing.*", written))
            for each in of[1:]
        ]
        if more:
            notes += [f"### {name}", *more]
    head = ("Format", "Files", "Reading", "Writing", "Options for writing")
    parts = [
        "## Formats",
        table(head, rows),
        "## Options for reading",
        source_options(),
        "## Notes by format",
        *notes,
    ]
    return "\n\n".join(parts)


SPECIAL = {
    "konect": ["out.NAME"],
    "neo4j": [".csv"],
    "bods": [".bods.json", ".bods.jsonl"],
    "gleif": [".xml"],
    "postgresql": ["postgresql://..."],
    "rdf": [".nt", ".ttl", ".rdf"],
}
"""Files of formats whose extensions do not say it."""


def tables_of(module: Any, fits: Callable[[object], bool]) -> dict[str, Any]:
    """Entries of the dictionaries of a module whose values all fit, together."""
    tables = [
        each for each in vars(module).values() if isinstance(each, dict) and all(map(fits, each.values()))
    ]
    return {str(name): value for each in tables for name, value in each.items()}


def paragraphs(function: Any) -> list[str]:
    """Paragraphs of the docstring of a function before its sections."""
    text = re.split(r"\n\n\w+\n---", getdoc(function) or "")[0]
    text = re.sub(r"(; see|, as) `kgreason[\w.]+`", "", text)
    return text.replace(" written at `place`", "").replace("`category`", "`class`").split("\n\n")


def source_options() -> str:
    """Options of sources, from the declarations that read them."""
    from kgreason.data.source_options import FORMATS, Options
    from kgreason.language.check import file_access

    texts = attributes(Options)
    rows = [
        (code("format"), "", cell("Name of the format; default: by the extension, also before `.gz`."), "all")
    ]
    for each in fields(Options):
        option = each.metadata.get("option")
        if option is not None:
            known = "all" if set(option.formats) == set(FORMATS) else ", ".join(option.formats)
            allowed = code(", ".join(option.values or ()))
            unset = "default:" if each.default is None else "none:"
            text = cell(texts[each.name].replace("`None`:", unset))
            rows.append((code(option.spelling or each.name), allowed, text, known))
    connection = ", ".join(code(name) for name in file_access.OPTIONS)
    rows += [
        (connection, "", "Connection, as libpq", "postgresql"),
        (code("selectedColumns"), "", cell("As Vadalog, columns from 0: `[0:2;4;'share']`"), "all"),
        (
            code("recordSeparator, quoteMode"),
            "",
            "Accepted as in Vadalog, without effect on reading",
            "csv, tsv",
        ),
    ]
    return table(("Option", "Values", "Meaning", "Formats"), rows)


def attributes(kind: type) -> dict[str, str]:
    """Texts of the section *Attributes* of a docstring, by name."""
    section = cleandoc(kind.__doc__ or "").partition("Attributes\n----------\n")[2]
    found = re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", section, re.M)
    return {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}


# --- diagnostics ---


def diagnostics() -> str:
    """Codes of findings and titles of their pages."""
    pages = sorted((Path(__file__).parents[1] / "diagnostics").glob("[EW]*.md"))
    titles = [page.read_text(encoding="utf-8").partition("\n")[0].partition(": ")[2] for page in pages]
    rows = [(f"[{p.stem}]({p.name})", title) for p, title in zip(pages, titles, strict=True)]
    return table(("Code", "What is wrong"), rows)


# --- rule library ---


def rules() -> str:
    """Files of the rule library: the comment on top, and what the outputs mean."""
    files = sorted((Path(__file__).parents[2] / "rules").glob("*.vada"))
    return "\n\n".join(part for file in files for part in rule_file(file))


def rule_file(file: Path) -> list[str]:
    """Sections of a rule file."""
    text = file.read_text(encoding="utf-8")
    comment = re.match(r"(%%.*\n)+", text)
    lines = [
        line.removeprefix("%%").removeprefix(" ") for line in (comment[0] if comment else "").splitlines()
    ]
    title, *paragraphs_ = "\n".join(lines).strip().split("\n\n")
    found = [f"### {file.stem}", f"{cell(title)} File: [rules/{file.name}](../rules/{file.name})"]
    for each in paragraphs_:
        told = each.startswith(" ") or re.match(r"\w+\([A-Z]", each)
        found.append(f"```text\n{cleandoc(each)}\n```" if told else cell(each))
    rows = derived(file, outputs(text))
    return [*found, table(("Derived", "Meaning"), rows)] if rows else found


def derived(file: Path, names: list[str]) -> list[tuple[str, str]]:
    """Predicates of a rule file, with what the comments above their rules say."""
    import kgreason

    rows = []
    for name in names:
        own = [rule for rule in kgreason.load(file).rules if rule.head.predicate == name]
        texts = dict.fromkeys(rule.documentation for rule in own if rule.documentation)
        if texts:
            head = max((str(rule.head) for rule in own), key=lambda text: len(set(text)))
            rows.append((f"`{head}`", cell(" ".join(texts))))
    return rows


def outputs(text: str) -> list[str]:
    """Outputs of a rule file, or its queries."""
    return list(dict.fromkeys(re.findall(r'^@(?:output|derived|query)\("(\w+)"\)', text, re.M)))
