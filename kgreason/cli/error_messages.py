"""How errors are printed: those of the command line with the next step, and all of them as JSON if it is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from kgreason.base.errors import Diagnostic, KgreasonError, ProgramError, Span
from kgreason.base.printable import hidden
from kgreason.cli.run import all_letters, aloud, complain, running
from kgreason.language.vocabulary import suggest

_EXTRA = re.compile(r"unexpected extra argument(?:s|\(s\))? \((.*)\)")
_NO_COMMAND = re.compile(r"No such command '(.*?)'")
_CHOICE = re.compile(r"'(.*?)' is not one of (.*)", re.DOTALL)

Kind = Literal["usage", "input", "file", "memory", "interrupted", "defect"]


def fail(text: str, kind: Kind, code: int, error: BaseException | None = None) -> int:
    """Tell an error: on standard error as text and, if JSON is asked for, on standard output as an object.

    `code` is the exit code, which is returned; `error` is where more is to be known.
    """
    complain(text)
    give_json(text, kind, code, error)
    return code


def give_json(text: str, kind: Kind, code: int, error: BaseException | None = None) -> None:
    """Print the error as an object, if JSON is asked for and no result has been printed."""
    run = running()
    if not run.wants_json() or run.answered:
        return
    run.answered = True
    answer = {"format": 1, "error": {"kind": kind, **_parts(error, text), "text": hidden(text)}, "exit": code}
    with suppress(OSError), aloud():  # its reader may have ended
        print(json.dumps(answer, indent=2, ensure_ascii=not all_letters()), flush=True)


def _parts(error: BaseException | None, text: str) -> Mapping[str, Any]:
    """Message, hint, and place of an error; findings are those of a rule file."""
    first, _, rest = text.partition("\n")
    _, _, hint = rest.partition("help: ")
    parts: dict[str, Any] = {
        "message": hidden(first.removeprefix("error: ")),
        "hint": hint or None,
        "file": None,
        "line": None,
        "column": None,
        "findings": [],
    }
    if isinstance(error, ProgramError):
        parts["findings"] = [finding(d) for d in error.diagnostics]
        parts |= {key: parts["findings"][0][key] for key in ("message", "hint", "file", "line", "column")}
    elif isinstance(error, KgreasonError):
        span = getattr(error, "span", None)
        if isinstance(span, Span):
            parts |= {"file": span.file, "line": span.line, "column": span.column}
        known = {key: getattr(error, key) for key in parts if getattr(error, key, None) is not None}
        parts |= {key: hidden(value) if isinstance(value, str) else value for key, value in known.items()}
    return parts


def finding(one: Diagnostic) -> dict[str, Any]:
    """A finding on a rule file, for JSON."""
    place = {name: getattr(one.span, name, None) for name in ("file", "line", "column")}
    texts = {name: getattr(one, name) for name in ("message", "note", "hint")}
    return {"code": one.code, "severity": one.severity, **place, **texts}


# --- on the command line itself ---


def explained(error: Any) -> str:
    """Text of an error of the command line: command, place in kgreason.toml, message, and the next step."""
    context = getattr(error, "ctx", None)
    words = [word for word in running().words[:1] if not word.startswith("-")]
    name = command = " ".join(["kgreason", *words]) if context is None else context.command_path
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message[:1].lower() + message[1:]
    param, config = getattr(error, "param", None), running().config
    if context is not None and param is not None and config is not None:
        line = config.line_of(context, param.name)
        name = f"{line}: {name}" if line else name
    step = _next_step(error, context)
    return hidden(f"error: {name}: {message}\n  help: {step or f'{command} --help lists its options'}")


def _next_step(error: Any, context: Any) -> str | None:
    """What to type instead, where that is known."""
    if found := _CHOICE.search(error.message):
        near = suggest(found[1], re.findall(r"'(.*?)'", found[2]))
        return _of_another_family(error, found[1]) or (near and f"did you mean {near}?")
    if found := _NO_COMMAND.search(error.message):
        first = "check" if found[1].endswith(".vada") else "init"
        return f"to begin with this file, say: kgreason {first} {found[1]}" if _is_file(found[1]) else None
    if context is None:
        return None
    flags = {flag for param in context.command.params for flag in param.opts}
    if flag := getattr(error, "option_name", None):
        return _side_of_command(flag, context)
    if found := _EXTRA.search(error.message):
        named = [
            context.params.get(p.name) for p in context.command.params if p.param_type_name == "argument"
        ]
        words = [*found[1].split(), *map(str, named)]
        one = "one release is judged: name the original by --data" if context.info_name == "verify" else None
        return _family_of(words, context) or _option_of(words, flags) or one
    param = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and param is not None and param.opts[0].startswith("--"):
        known = None
        if "--rules" in param.opts:
            typed = running().words
            alone = [w for before, w in pairwise(["", *typed]) if not before.startswith("-") or "=" in before]
            words = [word for word in (*alone, *context.args) if not word.startswith("-")]
            known = _family_of(words, context) or _option_of(words, {"--rules"})
        return known or (f"say {param.opts[0]} {param.metavar}" if param.metavar else None)
    return None


def _family_of(words: Sequence[str], context: Any) -> str | None:
    """The command for a schema or a release of another family, or the rules of a release."""
    command = context.info_name
    for word in words:
        place = Path(word)
        if place.suffix == ".toml" and place.is_file() and command == "anonymize":
            return (
                f"this is a schema: say kgreason people anonymize {word}, or kgreason links anonymize {word}"
            )
        commands = {"people": ("verify", "attack", "score"), "links": ("verify", "attack")}
        for family, known in commands.items():
            if (place / f"{family}.toml").is_file():
                say = f": say kgreason {family} {command} {word}"
                takes = say if command in known else f", which kgreason {family} takes"
                return f"{word} is a release of {family}{takes}"
        alone = not {"--data", "--mapping"} & {each.partition("=")[0] for each in running().words}
        if alone and (place / "rules.vada").is_file():
            return f"say --rules {place / 'rules.vada'}"
    return None


def _of_another_family(error: Any, value: str) -> str | None:
    """The command of a method, or of a model, that is of people or links."""
    from kgreason.isomorphism.settings import Method, Model
    from kgreason.people.settings import PeopleMethod, PeopleModel

    name = getattr(getattr(error, "param", None), "name", None)
    if value == "links" and name in ("method", "model"):
        return (
            "say kgreason links anonymize FILE" if name == "method" else "say kgreason links verify RELEASE"
        )
    if name == "method" and value in get_args(PeopleMethod):
        return f"say kgreason people anonymize FILE --method {value}"
    if name == "model" and value in get_args(PeopleModel):
        return f"say kgreason people verify RELEASE --model {value}"
    if name == "method" and value in get_args(Method):
        return f"say kgreason anonymize --rules FILE --method {value}"
    if name == "model" and value in get_args(Model):
        return f"say kgreason verify RELEASE --rules FILE --model {value}"
    return None


def _side_of_command(flag: str, context: Any) -> str | None:
    """Where an option belongs that stands on the wrong side of the command."""
    top = context.find_root()
    if context is not top and any(flag in p.opts for p in top.command.params):
        return f"it goes before the command: kgreason {flag} ... {context.info_name}"
    command: Any = top.command
    path: list[str] = []
    for word in running().words:
        if word in getattr(command, "commands", ()):
            command, path = command.commands[word], [*path, word]
    if context.command is not command and any(flag in p.opts for p in command.params):
        return f"it goes after the command: kgreason {' '.join(path)} ... {flag}"
    return None


def _option_of(words: Sequence[str], flags: set[str]) -> str | None:
    """The option that a bare file name on the command line was probably meant for."""
    if "--rules" in flags and (rules := next((w for w in words if w.endswith(".vada")), None)):
        return f"rules go by an option: --rules {rules}"
    if (file := original_of(words)) is None:
        return None
    if "--data" not in flags:
        return (
            f"kgreason init {file} writes rules, and --rules FILE takes them" if "--rules" in flags else None
        )
    if "--rules" not in flags:
        return f"data go by an option: --data {file}"
    ruled = any(word.partition("=")[0] == "--rules" for word in running().words)
    init = "" if ruled else f"; kgreason init {file} writes rules for it"
    return f"data go by an option: --data [PRED=]{file}{init}"


def _is_file(word: str) -> bool:
    """Whether a word names a file, perhaps with options, or a table of a server."""
    return "://" in word or Path(word.partition("?")[0]).is_file()


def original_of(words: Sequence[str]) -> str | None:
    """The given graph among words that stand alone, as FILE or PRED=FILE: the first file in no folder of a release."""
    from kgreason.release.table_layout import README

    files = [file for word in words for file in (word, word.partition("=")[2]) if _is_file(file)]
    return min(files, key=lambda file: (Path(file).parent / README).is_file(), default=None)
