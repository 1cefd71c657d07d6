"""Files of another format than their names say."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from kgreason.base.errors import DataError
from kgreason.data.format_list import FUNCTIONS, read_table
from kgreason.data.sources import SourceSpec, parse_file

STATEMENTS = [
    {"statementId": "s1", "recordId": "a", "recordType": "entity", "recordDetails": {"name": "A"}},
    {"statementID": "s1", "statementType": "entityStatement"},
]


def failed(text: str) -> str:
    with pytest.raises(DataError) as caught:
        read_table(parse_file(text))
    return f"{Path(caught.value.file).name}: {caught.value.message}\n{caught.value.hint}"


@pytest.mark.parametrize("kind", sorted({*FUNCTIONS} - {"postgresql", "sqlite", "duckdb"}))
def test_zip_files(tmp_path: Path, kind: str) -> None:
    if kind == "rdf":
        pytest.importorskip("pyoxigraph")
    with zipfile.ZipFile(tmp_path / "own.dat", "w") as packed:
        packed.writestr("own.csv", "a,b,0.5\n")
    assert failed(f"{tmp_path}/own.dat?format={kind}") == (
        "own.dat: this is a zip file\nunpack it first, and name the file in it"
    )


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("name", ["own.json", "own.jsonl", "own.json.gz"])
def test_statements_in_a_json_file(tmp_path: Path, name: str, statement: dict[str, object]) -> None:
    text = json.dumps(statement).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert failed(f"{tmp_path}/{name}") == (
        f"{name}: these are statements of BODS, not rows\nsay format=bods; format=json reads them unchanged"
    )
    assert len(read_table(parse_file(f"{tmp_path}/{name}?format=json"))) == 1
    assert read_table(parse_file(f"{tmp_path}/{name}?format=bods")).vertices is not None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('<?xml version="1.0"?>\n<!-- x -->\n<graphml xmlns="x"></graphml>', "say format=graphml"),
        ('<rdf:RDF xmlns:rdf="x"></rdf:RDF>', "say format=rdf"),
        ("<gexf></gexf>", "save it as GraphML"),
    ],
)
def test_other_xml(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "a.xml").write_text(text)
    assert failed(f"{tmp_path}/a.xml").endswith(f", not records of GLEIF\n{hint}")


def test_parquet_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"PAR1....")
    assert failed(f"{tmp_path}/a.csv") == "a.csv: this is a Parquet file\nsay format=parquet"


def test_words_of_statements_in_a_table_are_no_statements(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": "statementType", "statementType2": 1}\n')
    assert len(read_table(SourceSpec(tmp_path / "a.json"))) == 1
