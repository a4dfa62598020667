#!/usr/bin/env python3
"""Make a judged collection of long documents with known answers from questions in SQuAD's format.

    python tools/long_collection.py xquad.en.json FOLDER --articles 4

SQuAD and XQuAD have short paragraphs, some to an article, and questions with the words of a paragraph that answer
them. Here so many articles, in the order of the file, become one document in Markdown, with a heading for each
article; its paragraphs follow each other. Written are corpus.jsonl, queries.jsonl, qrels.tsv (the document that a
question was asked of) and answers.jsonl, as pgsift evaluate --chunker reads them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def convert(source: Path, folder: Path, articles: int) -> None:
    """Write the collection."""
    given: list[dict[str, Any]] = json.loads(source.read_text(encoding="utf-8"))["data"]
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        name: (folder / name).open("w", encoding="utf-8", newline="\n")
        for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv", "answers.jsonl")
    }
    try:
        for number, start in enumerate(range(0, len(given), articles), start=1):
            part = given[start : start + articles]
            key = f"d{number}"
            text = ""
            for article in part:
                # Underscores are Wikipedia's blanks.
                text += f"## {article['title'].replace('_', ' ')}\n\n"
                for paragraph in article["paragraphs"]:
                    text += " ".join(paragraph["context"].split()) + "\n\n"
                    for question in paragraph["qas"]:
                        answers = sorted({" ".join(answer["text"].split()) for answer in question["answers"]})
                        write(files["queries.jsonl"], {"id": question["id"], "text": question["question"]})
                        files["qrels.tsv"].write(f"{question['id']}\t{key}\t1\n")
                        write(files["answers.jsonl"], {"query": question["id"], "answers": answers, "key": key})
            write(
                files["corpus.jsonl"],
                {"id": key, "title": f"Volume {number}", "text": text, "format": "markdown"},
            )
    finally:
        for file in files.values():
            file.close()


def write(file: Any, row: dict[str, Any]) -> None:
    file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--articles", type=int, default=4)
    told = parser.parse_args()
    convert(told.source, told.folder, told.articles)
