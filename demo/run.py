"""Ingest a sample corpus into an embedded PostgreSQL and search it in four ways, as several people.

    make demo            or, in an environment with pgsift[local,documents]:  python demo/run.py

Everything lands in .demo/ beside this folder; running it again changes nothing. What is shown is also
checked: the exit code is 1 when something is not as it should be. The corpus is that of an invented island
station: what everybody may read, and what its engineers, its personnel office and its clinic keep to
themselves; and its library, with a file of each kind that is read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path("demo/corpus")
LIBRARY = Path("demo/library")
HOME = ROOT / ".demo"

VISITOR = ["public"]
ENGINEER = ["public", "group:engineering"]
NURSE = ["public", "group:clinic"]
MS_AALBERG = ["public", "user:1042"]

failures: list[str] = []
TERMINAL = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def main() -> int:
    started = time.monotonic()
    os.chdir(ROOT)
    # The demonstration uses its own server, whatever the environment says.
    for name in ("PGSIFT_DSN", "PGSIFT_TENANT"):
        os.environ.pop(name, None)
    os.environ["PGSIFT_HOME"] = str(HOME)
    documents_in()
    of_every_kind()
    with_the_command_line()
    with_psql()
    with_python()
    in_an_application()
    the_same_everywhere()
    if failures:
        heading("Not as it should be")
        for failure in failures:
            say(f"- {failure}")
        return 1
    heading(f"Done in {time.monotonic() - started:.0f} seconds")
    say("The server of the demonstration is still running. Try:")
    say()
    say("    . .venv/bin/activate && export PGSIFT_HOME=.demo")
    say('    pgsift search "Was tun bei einem Unfall?" --as public')
    say('    pgsift search "who gets paid what" --as group:hr --filter "kind = \'table\'"')
    say("    pgsift server psql                        then: \\df sift.[a-z]*")
    say("    pgsift server stop                        rm -r .demo removes everything")
    return 0


# The parts


def documents_in() -> None:
    heading("Documents in")
    say("Five folders, three for some readers only. A second run finds nothing changed and does nothing.")
    pgsift("ingest", f"{CORPUS}/public", "--prefix", "public/")
    pgsift("ingest", str(LIBRARY), "--prefix", "library/")
    for group in ("engineering", "hr", "clinic"):
        pgsift("ingest", f"{CORPUS}/{group}", "--prefix", f"{group}/", "--acl", f"group:{group}")
    say()
    say("Two questions that psql will ask below; their vectors are kept, so that text is enough there.")
    pgsift("embed-queries", "demo/queries.txt")
    pgsift("stats")
    stats = answer("stats")
    expect(stats["documents"] == 64, f"64 documents are stored, not {stats['documents']}")
    expect(stats["vectors"].get("minilm") == stats["chunks"], "every chunk has a vector")
    expect(stats["dead_letters"] == 0, "nothing went to the dead letters")


#: Of each kind that is read: a question, the document that answers it, and the page, slide, sheet or chapter.
KINDS = (
    ("PDF", "how large is the eelgrass meadow", "library/annual-report-2025.pdf", 3),
    ("Word", "test of the second brake", "library/winch-maintenance.docx", None),
    ("slides", "muster points", "library/safety-briefing.pptx", 2),
    ("workbook", "swivel hook in stock", "library/spare-parts.xlsx", 2),
    ("OpenDocument", "what may burn in the stove", "library/house-rules.odt", None),
    ("EPUB", "seaweed that sheep eat", "library/field-guide.epub", 2),
    ("reStructuredText", "frame with a wrong checksum", "library/telemetry.rst", None),
    ("LaTeX", "seiche of the sound", "library/tide-model.tex", None),
    ("CSV", "flipper tag", "library/seal-count.csv#2", None),
    ("text, Windows-1252", "Tordalken auf dem Dach", "library/logbuch-1998.txt", None),
    ("mail", "where does the ferry berth until the pontoon is moored", "library/ferry.eml", None),
    ("PDF in a mail", "morning crossing on Sundays", "library/ferry.eml#timetable.pdf", 1),
    ("mailbox", "bunk and desk for lichens", "library/bookings.mbox#bunk-0@tidewell.example", None),
    ("Word in a ZIP", "dent in the hatch", "library/clinic-1974.zip#1974/inventory.docx", None),
    ("Markdown", "gloves with loose cuffs", "public/winch-safety.md", None),
    ("HTML", "rotor in the narrows and its gearbox", "public/turbine-explained.html", None),
)


def of_every_kind() -> None:
    heading("A file of every kind")
    say("A question for each, its best hit, and the page, slide, sheet or chapter where the answer begins:")
    say()
    from pgsift import Store

    with Store(embedder=_loaded()) as store:
        for kind, question, key, page in KINDS:
            hit = store.search("default", question, k=1, principals=VISITOR, snippet_width=200)[0]
            found = hit.page if hit.snippet_page is None else hit.snippet_page
            where = "" if found is None else f", {found}"
            say(f"  {kind:<19} {question:<55} {hit.key}{where}")
            expect(hit.key == key, f"{question!r} finds {key}, not {hit.key}")
            expect(found == page, f"{question!r} is answered on page {page}, not {found}")


def with_the_command_line() -> None:
    heading("1 of 4: the command line")
    say("A visitor, an engineer, and Ms Aalberg, who had an accident and got a letter about it:")
    pgsift("search", "winch accident", "-k", "2")
    pgsift("search", "winch accident", "-k", "2", *as_(ENGINEER))
    pgsift("search", "winch accident", "-k", "2", *as_(MS_AALBERG))
    expect(keys("winch accident", VISITOR) <= {"public", "library"}, "a visitor sees public documents only")
    expect(
        keys("winch accident", ENGINEER) == {"public", "library", "engineering"},
        "an engineer sees those of engineering too",
    )
    expect(
        "hr/letters.jsonl#letter/1042" in hits("winch accident", MS_AALBERG), "Ms Aalberg finds her letter"
    )
    expect(
        "hr/letters.jsonl#letter/1042" not in hits("winch accident", ENGINEER), "nobody else finds her letter"
    )
    say()
    say("No word in common with what is found: the vectors do that.")
    pgsift("search", "how do I warm up someone who is freezing", "-k", "1", *as_(NURSE))
    found = hits("how do I warm up someone who is freezing", NURSE, k=3)
    expect(
        any(key.startswith("clinic/") for key in found), "a nurse finds what the clinic knows about rewarming"
    )
    say()
    say("A PDF, with the page to cite:")
    pgsift("search", "how large is the eelgrass meadow", "-k", "1")
    say()
    say("Japanese, an identifier, and a table of a certain year:")
    pgsift("search", "アザラシ", "-k", "1")
    pgsift("search", "ERR_PITCH_STALL", "-k", "2", "--mode", "lexical", *as_(ENGINEER))
    condition = "kind = 'table' AND metadata.year >= 2025"
    pgsift("search", "water in the oil", "-k", "1", *as_(ENGINEER), "--filter", condition)
    expect(hits("アザラシ", VISITOR, k=1) == ["public/kengaku.md"], "a Japanese word finds the Japanese page")
    stall = hits("ERR_PITCH_STALL", ENGINEER, k=2, mode="lexical")
    expect(
        set(stall) == {"engineering/rotor-control.md", "engineering/seigyoban.md"},
        f"an identifier finds the two pages that name it, not {stall}",
    )
    table = hits("water in the oil", ENGINEER, k=1, filter=condition)
    expect(table == ["engineering/gearbox-oil.md"], f"the filter leaves the oil table, not {table}")


def with_psql() -> None:
    heading("2 of 4: SQL, from psql or any BI tool")
    shown = psql(
        "SELECT rank, round(score::numeric, 5) AS score, key, legs\n"
        "FROM sift.search('default', 'winch accident', k => 3, principals => '{public,group:clinic}')",
        "SELECT key, page, section\nFROM sift.search('default', 'eelgrass', k => 1, principals => '{public}')",
    )
    expect("annual-report-2025.pdf |    3 |" in shown, "the page of the PDF is told in SQL too")
    say()
    say("A person with a database login passes no principals: an administrator maps the login to them once.")
    psql(
        "DO $$ BEGIN CREATE ROLE anna LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        "GRANT sift_reader TO anna",
        "SELECT sift.map_role('default', 'anna', '{public,group:engineering}')",
        quiet=True,
    )
    search = "SELECT rank, key, title FROM sift.search('default', 'winch accident', k => 3)"
    shown = psql("\\connect - anna", search, quiet=True)
    expect("engineering/incident-winch-b.md" in shown, "Anna finds the report of the engineers")
    expect(
        "hr/" not in shown and "clinic/" not in shown,
        "Anna finds nothing of the personnel office and the clinic",
    )
    say()
    say("What she is not, she cannot claim to be, and the tables are closed to her:")
    refused = psql(
        "\\connect - anna",
        "SELECT key FROM sift.search('default', 'salary', principals => '{group:hr}')",
        "SELECT body FROM sift.chunks",
        quiet=True,
        fails=True,
    )
    expect("ERROR" in refused and "permission denied" in refused, "claims and tables are refused")
    expect("salary-bands" not in refused, "nothing of the personnel office came back")


def with_python() -> None:
    heading("3 of 4: Python")
    shown = run_code(
        """
        import pgsift

        with pgsift.Store() as store:  # the embedded server; Store("postgresql://…") for yours
            for person in (["public"], ["public", "group:hr"]):
                result = store.search("default", "pay after an accident", k=2, principals=person)
                print(person, [hit.key for hit in result])
            hit = result[0]
            print(hit.rank, round(hit.lexical_score, 3), hit.title, "|", hit.section)
        """
    )
    lines = shown.splitlines()
    expect(len(lines) == 3 and "hr/" not in lines[0], "the public finds nothing of the personnel office")
    expect("hr/injury-leave.md" in lines[1], "the personnel office finds its page on pay after an accident")


def in_an_application() -> None:
    heading("4 of 4: inside an application's own database and transaction")
    say("Another database, with a table of the application's own: both change in one transaction.")
    psql(
        "SELECT 'CREATE DATABASE shop'\n"
        "WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'shop') \\gexec",
        quiet=True,
    )
    from psycopg.conninfo import make_conninfo

    from pgsift import server

    dsn = make_conninfo(server.ensure_running(), dbname="shop")
    os.environ["SHOP_DSN"] = dsn
    show('pgsift db upgrade --dsn "$SHOP_DSN"')
    run(["db", "upgrade", "--dsn", dsn])
    shown = run_code(
        """
        import os

        import pgsift
        import psycopg

        with psycopg.connect(os.environ["SHOP_DSN"]) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY, note text)")
            store = pgsift.Store(connection=connection)
            store.create_tenant("shop", exist_ok=True)
            connection.commit()

            for outcome in ("roll back", "commit"):
                note = "Deliver the winch cable to pier 2"
                connection.execute("INSERT INTO orders VALUES (7, %s) ON CONFLICT (id) DO NOTHING", [note])
                store.put_documents("shop", [{"key": "orders/7", "text": note, "acl": ["user:7"]}])
                inside = store.search("shop", "cable", principals=["user:7"])
                connection.commit() if outcome == "commit" else connection.rollback()
                after = store.search("shop", "cable", principals=["user:7"])
                print(f"{outcome}: found {len(inside)} inside, {len(after)} afterwards")

            store.delete("shop", ["orders/7"])
            connection.execute("DELETE FROM orders WHERE id = 7")
        """
    )
    expect("roll back: found 1 inside, 0 afterwards" in shown, "what is rolled back is not found")
    expect("commit: found 1 inside, 1 afterwards" in shown, "what is committed is found")


def the_same_everywhere() -> None:
    heading("The same answer everywhere")
    query = "winch accident"
    by_cli = [(hit["key"], hit["score"]) for hit in answer("search", query, *as_(NURSE))["hits"]]
    from pgsift import Store

    with Store() as store:
        # No vector is passed: the database knows that of this query, as psql does.
        by_store = [(hit.key, hit.score) for hit in store.search("default", query, principals=NURSE)]
    names = "{" + ",".join(NURSE) + "}"
    sql = (
        "SELECT json_agg(json_build_array(key, score) ORDER BY rank) "
        f"FROM sift.search('default', '{query}', principals => '{names}')"
    )
    text = subprocess.run(
        command("server", "psql", "--", "-XAtc", sql), check=True, capture_output=True, text=True
    ).stdout
    by_psql = [(key, score) for key, score in json.loads(text)]
    say(f"{len(by_psql)} rows for {query!r} as {', '.join(NURSE)}; by psql, the command line and Python:")
    for position, (key, score) in enumerate(by_psql[:3], start=1):
        say(f"  {position}  {score!r}  {key}")
    expect(
        len(by_psql) > 3 and by_psql == by_cli == by_store,
        "psql, command line and Python give the same rows and scores",
    )
    say("  equal to the last bit" if by_psql == by_cli == by_store else "  NOT EQUAL")


# Showing and checking


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pgsift_cli", *arguments]


def pgsift(*arguments: str) -> None:
    """Show a command and run it; its output goes where ours goes."""
    show("pgsift " + " ".join(map(_shown, arguments)))
    run(list(arguments))


def run(arguments: list[str]) -> None:
    sys.stdout.flush()
    code = subprocess.run(command(*arguments), check=False, stdin=subprocess.DEVNULL).returncode
    expect(code == 0, f"pgsift {shlex.join(arguments)} ended with {code}")


def psql(*statements: str, quiet: bool = False, fails: bool = False) -> str:
    """Show statements, run them through "pgsift server psql" and return what was printed."""
    show(f"pgsift server psql       ({'anna' if statements[0].startswith(chr(92)) else 'the administrator'})")
    options = ["-X", "-P", "pager=off", "-v", "SHOW_CONTEXT=never", *(["-q"] if quiet else [])]
    script = ""
    for statement in statements:
        text = statement if statement.startswith("\\") or statement.endswith("\\gexec") else statement + ";"
        script += text + "\n"
        if not statement.startswith("\\connect"):
            say(textwrap.indent(text, "  "))
    result = subprocess.run(
        command("server", "psql", "--", *options), input=script, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    say(result.stdout.rstrip())
    expect(result.returncode == 0, f"psql ended with {result.returncode}")
    expect(
        fails == ("ERROR" in result.stdout),
        f"{'no error' if fails else 'an error'} from psql: {result.stdout[:300]}",
    )
    return result.stdout


def run_code(code: str) -> str:
    """Show Python code, run it, and return what it printed."""
    code = textwrap.dedent(code).strip()
    say()
    say(dim(textwrap.indent(code, "  ")))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<demo>", "exec"), {})
    say(printed.getvalue().rstrip())
    return printed.getvalue()


def answer(*arguments: str) -> dict:
    """The JSON that a command prints."""
    result = subprocess.run(command(*arguments, "--json"), check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def hits(
    query: str, principals: Sequence[str], *, k: int = 10, mode: str = "hybrid", filter: str | None = None
) -> list[str]:
    """Keys of what a person finds, by the library with the default embedder."""
    from pgsift import Store

    with Store(embedder=_loaded()) as store:
        return [
            hit.key
            for hit in store.search("default", query, k=k, principals=principals, mode=mode, filter=filter)
        ]


_embedder = None


def _loaded() -> Any:
    """The default embedder, loaded once."""
    from pgsift import load_embedder

    global _embedder
    if _embedder is None:
        _embedder = load_embedder()
    return _embedder


def keys(query: str, principals: Sequence[str]) -> set[str]:
    """The folders of what a person finds."""
    return {key.partition("/")[0] for key in hits(query, principals)}


def as_(principals: Sequence[str]) -> list[str]:
    return [part for name in principals for part in ("--as", name)]


def expect(condition: bool, what: str) -> None:
    if not condition:
        failures.append(what)


def heading(text: str) -> None:
    say()
    say(f"\x1b[1m{text}\x1b[0m" if TERMINAL else text)
    say("-" * len(text))


def show(line: str) -> None:
    say()
    say(f"\x1b[1m$ {line}\x1b[0m" if TERMINAL else f"$ {line}")


def dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m" if TERMINAL else text


def say(text: str = "") -> None:
    print(text, flush=True)


def _shown(argument: str) -> str:
    return argument if not set(argument) & set(" '\"$") else '"' + argument.replace('"', '\\"') + '"'


if __name__ == "__main__":
    sys.exit(main())
