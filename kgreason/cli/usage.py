"""Errors on the command line itself, told as all others are: what is wrong, and the next step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from kgreason.cli.run import running
from kgreason.lang.names import suggest
from kgreason.passwords import hidden

UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
"""Base of all errors of the command line, whichever library Typer has it from."""

_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_NUMBERS = (
    (re.compile(r"valid integer|parse string as an integer"), "it must be a whole number"),
    (re.compile(r"valid number|valid float|parse string as a number"), "it must be a number"),
)
_CHOICE = re.compile(r"'(.*?)' is not one of (.*?)\.?$", re.DOTALL)


def explained(error: Any) -> str:
    """Write an error of the command line with what to do next."""
    what, hint = _told(error)
    return hidden(f"error: {what}\n  help: {hint}")


def _told(error: Any) -> tuple[str, str]:
    context = getattr(error, "ctx", None)
    name = context.command_path if context is not None else "kgreason"
    help = f"{name} --help"
    kind = type(error).__name__
    if kind == "NoSuchOption":
        flags = [f for p in context.command.params for f in p.opts] if context is not None else []
        near = suggest(error.option_name, flags)
        if error.option_name in _GIVEN and "--data" in flags:
            return (
                f"{name} has no option {error.option_name}",
                "the graph that is given goes by --data PRED=FILE",
            )
        if error.option_name == "--data" and context is not None:
            takes = [p.metavar for p in context.command.params if p.param_type_name == "argument"]
            if takes and takes[0]:
                return f"{name} has no option --data", f"it takes files alone: {name} {takes[0].strip('[].')}"
        elsewhere = _elsewhere(error.option_name, context)
        return f"{name} has no option {error.option_name}", (
            elsewhere or _means(near) + f"{help} lists its options"
        )
    if kind == "MissingParameter" and error.param is not None:
        return _missing(error.param, context, help)
    if kind in ("BadParameter", "MissingParameter"):
        return _bad(error, context, help)
    message = _plain(error.format_message())
    if message.startswith("No such command"):
        return _no_command(message.split("'")[1], context, name, help)
    if found := _EXTRA.search(message):
        what = f"{name} has no use for {found[1]}"
        flags = [f for p in context.command.params for f in p.opts] if context is not None else []
        alone = _alone(context) if context is not None else []
        if "--rules" in flags and (rules := _rules_of(alone)):
            return what, f"rules go by an option: --rules {rules}"
        if "--data" in flags and (file := original_of(alone)):
            return what, _as_data(file, "--rules" in flags)
        return what, f"is an option missing before it? {help} shows what belongs where"
    if kind == "BadOptionUsage":
        words = running().words
        help = " ".join(["kgreason", *(w for w in words[:1] if not w.startswith("-")), "--help"])
        return (
            f"{error.option_name}: a value is missing",
            f"write it behind the option; {help} says what it is",
        )
    return f"{name}: {_lower(message)}", f"{help} shows what belongs where"


_GIVEN = frozenset({"--truth", "--original", "--graph", "--input", "--file"})


def _is_file(word: str) -> bool:
    """Whether a word names a file, perhaps with options, or a table of a server."""
    return "://" in word or Path(word.partition("?")[0]).is_file()


def _alone(context: Any) -> list[str]:
    """Words behind the command that are neither options nor their values."""
    words = list(running().words)
    name = context.command_path.split()[-1]
    words = words[words.index(name) + 1 :] if name in words else []
    alone = {
        flag for param in context.command.params if getattr(param, "is_flag", False) for flag in param.opts
    }
    before = ["", *words]
    return [
        word
        for last, word in zip(before, words, strict=False)
        if not word.startswith("-") and (not last.startswith("-") or last in alone or "=" in last)
    ]


def _rules_of(words: Sequence[str]) -> str | None:
    return next((word for word in words if word.endswith(".vada")), None)


def original_of(words: Sequence[str]) -> str | None:
    """The given graph among words that stand alone, as FILE or PRED=FILE: the first file in no folder of a release."""
    from kgreason.release.contents import README

    files = [file for word in words for file in (word, word.partition("=")[2]) if _is_file(file)]
    return min(files, key=lambda file: (Path(file).parent / README).is_file(), default=None)


def _as_data(file: str, rules: bool) -> str:
    """How a file is named that stands alone."""
    if not rules:
        return f"data go by an option: --data {file}"
    if any(word == "--rules" or word.startswith("--rules=") for word in running().words):
        return f"facts go by an option: --data PRED={file}, for instance --data own={file}"
    return f"to begin with it, kgreason init {file} writes rules; data go by an option, --data [PRED=]{file}"


def _elsewhere(flag: str, context: Any) -> str | None:
    """Where an option belongs that stands on the wrong side of the command."""
    if context is None:
        return None
    top = context.find_root()
    if context is not top and any(flag in p.opts for p in top.command.params):
        return (
            f"it stands before the command: kgreason {flag} ... {' '.join(context.command_path.split()[1:])}"
        )
    command = next((top.command.commands[w] for w in running().words if w in top.command.commands), None)
    if context is top and command is not None and any(flag in p.opts for p in command.params):
        return f"it stands behind the command: kgreason {command.name} ... {flag}"
    return None


def _missing(param: Any, context: Any, help: str) -> tuple[str, str]:
    metavar = param.metavar or "VALUE"
    if param.param_type_name == "argument":
        return f"{metavar.strip('[].')} is not said", f"name it behind the options; {help} shows where"
    flag = max(param.opts, key=len)
    what = f"{flag} is not said"
    if flag == "--rules" and context is not None:
        words = _alone(context)
        if rules := _rules_of(words):
            return what, f"say --rules {rules}"
        if file := original_of(words):
            return what, f"kgreason init {file} writes rules, and --rules FILE takes them"
    return what, f"say {flag} {metavar}; {help} tells what it is"


def _bad(error: Any, context: typer.Context | None, help: str) -> tuple[str, str]:
    """An option whose value is none of those it can have."""
    param = error.param
    flag = str(error.param_hint or (max(param.opts, key=len) if param is not None else "")).strip("'")
    if param is not None and param.param_type_name == "argument":
        flag = (param.metavar or param.name).strip("[].")
    message = _lower(_plain(error.message))
    where = None
    if context is not None and param is not None and running().config is not None:
        where = running().config.line_of(context, param.name)  # type: ignore[union-attr]
    place = f"{where}: " if where else ""
    if found := _CHOICE.search(message):
        choices = re.findall(r"'(.*?)'", found[2])
        near = suggest(found[1], choices)
        return f"{place}{flag} cannot be {found[1]!r}", _means(near) + f"one of {', '.join(choices)}"
    return f"{place}{flag}: {_number(message)}", f"{help} tells what {flag} takes"


def _number(message: str) -> str:
    """What libraries say of numbers, in the words of the other messages."""
    for pattern, words in _NUMBERS:
        if pattern.search(message):
            return words
    return message.replace("input should be", "it must be")


def _no_command(word: str, context: Any, name: str, help: str) -> tuple[str, str]:
    near = suggest(word, context.command.commands)
    what = f"there is no command {' '.join([*name.split()[1:], word])!r}"
    if near is None and Path(word).is_file():
        first = "check" if word.endswith(".vada") else "init"
        return what, f"to begin with this file, say: kgreason {first} {word}"
    return what, _means(near) + f"{help} lists the commands"


def _means(near: str | None) -> str:
    return f"did you mean {near}? " if near else ""


def _plain(message: str) -> str:
    return " ".join(message.split()).replace("Value error, ", "")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:].rstrip(".")
