"""A folder of files as people have them, and of files as they should not have them: every format that is read, in
several languages and encodings; broken ones, and hostile ones.

:data:`FILES` says of each what an ingest has to make of it: the keys under which it can be found, a query that
finds it with the page it stands on, or the reason in its dead letter. :func:`make_special` adds what has no
content of its own: links, pipes, sockets, files that may not be read.
"""

from __future__ import annotations

import io
import json
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import documents


@dataclass(frozen=True)
class Found:
    """A query that has to find a document, and where: the number of the page, and the passage's section."""

    query: str
    page: int | None = None
    section: str | None = None


@dataclass(frozen=True)
class File:
    """A file by its name, with what is made of it: documents by their keys, dead letters by theirs with a part of
    the reason, and keys of documents that hold no text."""

    name: str
    content: bytes | Callable[[], bytes]
    found: Mapping[str, Found] = field(default_factory=dict)
    dead: Mapping[str, str] = field(default_factory=dict)
    empty: tuple[str, ...] = ()

    def bytes(self) -> bytes:
        """The content."""
        return self.content if isinstance(self.content, bytes) else self.content()


def good(
    name: str,
    content: bytes | Callable[[], bytes],
    query: str,
    page: int | None = None,
    section: str | None = None,
) -> File:
    """A file that is one document."""
    return File(name, content, {name: Found(query, page, section)})


def bad(name: str, content: bytes | Callable[[], bytes], reason: str) -> File:
    """A file that is a dead letter."""
    return File(name, content, dead={name: reason})


RUSSIAN = (
    "Насос подаёт воду в верхний бассейн станции. Давление в трубопроводе измеряется каждую минуту, и оператор "
    "записывает показания манометра в журнал. При падении давления насос останавливается автоматически."
)
JAPANESE = (
    "ポンプは水を上の貯水池へ送ります。配管の圧力は毎分測定され、運転員は圧力計の値を日誌に記録します。圧力が下がると、"
    "ポンプは自動的に停止します。点検は毎年春に行われます。"
)
CHINESE = (
    "水泵把水送到上面的水库。管道的压力每分钟测量一次，操作员把压力表的读数记在日志里。压力下降时，水泵自动停止。"
    "每年春天进行检修，更换磨损的轴承和密封件。"
)
ARABIC = "تضخ المضخة الماء إلى الخزان العلوي، ويسجل المشغل قراءة مقياس الضغط كل دقيقة في السجل."
HEBREW = "המשאבה מעלה מים אל המאגר העליון, והמפעיל רושם את קריאת מד הלחץ ביומן."
KOREAN = "펌프는 물을 위쪽 저수지로 보내고 운전원은 압력계의 값을 일지에 기록한다."
GREEK = "Η αντλία στέλνει νερό στην επάνω δεξαμενή και ο χειριστής γράφει την πίεση στο ημερολόγιο."

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)


def office_with(
    whole: bytes, files: Mapping[str, bytes | str], replaced: Mapping[bytes, bytes] | None = None
) -> bytes:
    """An office file in which some parts are others, or have something replaced."""
    parts: dict[str, bytes | str] = {}
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        for entry in archive.infolist():
            content = archive.read(entry)
            for old, new in (replaced or {}).items():
                content = content.replace(old, new)
            parts[entry.filename] = content
    return documents.zip_file(parts | dict(files))


def locked_zip() -> bytes:
    """An archive whose files say that a password is needed."""
    content = bytearray(documents.zip_file({"a.txt": "secret text"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(mark) + at
        struct.pack_into("<H", content, place, struct.unpack_from("<H", content, place)[0] | 1)
    return bytes(content)


def raw_zip(entries: list[tuple[str, bytes, int]]) -> bytes:
    """An archive with entries as they come: names twice, and modes (of a link, of a device)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content, mode in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    return buffer.getvalue()


def twice_zip() -> bytes:
    """An archive with one name twice."""
    whole = raw_zip(
        [("a.txt", b"The first of the twins qtwinone.", 0o644), ("b.txt", b"The second qtwintwo.", 0o644)]
    )
    return whole.replace(b"b.txt", b"a.txt")


def nested_zip(depth: int) -> bytes:
    """An archive in an archive in an archive…, with a text in the innermost."""
    content = documents.zip_file({"deep.txt": "The innermost text."})
    for number in range(depth):
        content = documents.zip_file({f"level{number}.zip": content})
    return content


def nested_mail(depth: int) -> bytes:
    """A message forwarded in a message forwarded in a message…"""
    head = "".join(
        f'Subject: Fwd {n}\nContent-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\nContent-Type: text/plain\n\n'
        f"See below, qfwd{n}.\n--b{n}\nContent-Type: message/rfc822\n\n"
        for n in range(depth, 0, -1)
    )
    tail = "".join(f"\n--b{n}--\n" for n in range(1, depth + 1))
    return f"From: a@example.org\n{head}Subject: Innermost\n\nThe oldest of all, qoldest.\n{tail}".encode()


def huge_sheet() -> bytes:
    """A workbook that says it has 16,384 columns and 1,048,576 rows, with a cell at each end."""
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension '
        'ref="A1:XFD1048576"/>'
        '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>near qsheetnear</t></is></c></row><row r="1048576">'
        '<c r="XFD1048576" t="inlineStr"><is><t>far qsheetfar</t></is></c></row></sheetData></worksheet>'
    )
    return office_with(documents.xlsx_file(), {"xl/worksheets/sheet1.xml": sheet})


def docx_of(*paragraphs: str) -> bytes:
    """A Word document with these paragraphs."""
    import docx

    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def long_pdf(pages: int = 600) -> bytes:
    """A report of many pages; page n says ``qlong<n>``."""
    return documents.simple_pdf(
        *(
            f"{documents.prose(30, n)} On day {n} qlong{n} was read. {documents.prose(30, -n)}"
            for n in range(1, pages + 1)
        )
    )


def many_rows() -> bytes:
    """A table of 5,000 rows."""
    rows = "".join(f"r{n},Reading {n},The gauge showed {n} on day {n % 365} qrow{n}\n" for n in range(5000))
    return ("id,title,text\n" + rows).encode()


def partly_scanned() -> bytes:
    """Two pages of images around one with text."""
    image = b"0.5 g 100 100 300 400 re f\n"
    return documents.raw_pdf([image, documents.page_of(["Between two scans stands qbetween as text."]), image])


def bad_names_pdf() -> bytes:
    """NUL characters and halves of pairs in text, title, author and producer."""
    return documents.raw_pdf(
        [documents.page_of(["A pump with \x03 half a pair and sur\x04 rogate qhalfpair"])],
        info={
            "Title": documents.utf16("Ti\0tle \ud800 x"),
            "Producer": documents.utf16("Pro\0ducer \udc00"),
            "Author": documents.utf16("A\0da"),
        },
        to_unicode={3: 0xD800, 4: 0xDFFF, **{code: code for code in range(32, 127)}},
    )


def _lines() -> bytes:
    deep = '{"id": "deep", "text": ' + "[" * 100_000 + "]" * 100_000 + "}"
    good_one = {"id": "a", "text": "A record about qjsonlines.", "title": "Record"}
    cleaned = '{"id": "nul", "text": "half \\ud800 and \\u0000 qjsonnul", "title": "n\\u0000ul \\udfff"}'
    lines = [
        json.dumps(good_one),
        "{broken",
        deep,
        '{"text": "no id"}',
        cleaned,
        '{"id": "b", "text": "x", "Acl": []}',
    ]
    return "\n".join(lines).encode()


def _mail_in_japanese() -> bytes:
    message = documents.mail("x", "y")
    message.replace_header("Subject", "点検のお知らせ")
    message.set_content(JAPANESE, charset="iso-2022-jp", cte="7bit")
    return message.as_bytes()


def _deep_page(depth: int) -> bytes:
    return b"<html><body>" + b"<div>" * depth + b"<p>At the bottom qdeephtml of it.</p>" + b"</div>" * depth


def _noise(seed: int, count: int) -> bytes:
    return random.Random(seed).randbytes(count)


# What lies in an archive, by key.
_IN_ZIP = {
    "all.zip#a/report.docx": Found("second sensor"),
    "all.zip#mail.eml": Found("pump leaks"),
    "all.zip#mail.eml#report.pdf": Found("attached report valve", 1),
    "all.zip#mail.eml#message 1.eml": Found("older message"),
    "all.zip#inner.zip#deep.txt": Found("qdeepinside"),
}

FILES: tuple[File, ...] = (
    # Text, in encodings
    good("text/plain.txt", b"The keeper of the lighthouse wrote qplain into the book.", "qplain"),
    good("text/no-end.log", b"12:00 started\r\n12:01 qlogline seen\r12:02 old line ends", "qlogline"),
    good("text/bom.txt", "\ufeffUTF-8 with a mark, qbom.".encode(), "qbom"),
    good("text/utf16-le.txt", b"\xff\xfe" + "Zwölf Boxkämpfer qutfle".encode("utf-16-le"), "Boxkämpfer qutfle"),
    good("text/utf16-be.txt", b"\xfe\xff" + "Zwölf Boxkämpfer qutfbe".encode("utf-16-be"), "qutfbe"),
    good("text/utf32.txt", b"\xff\xfe\0\0" + "Straße qutfwide".encode("utf-32-le"), "qutfwide"),
    good("text/declared.txt", "# coding: latin-1\nDie Größe der Öse qlatin".encode("latin-1"), "Größe qlatin"),
    good(
        "text/german.txt",
        "Größere Pumpen fördern mehr Wasser, außer bei Überdruck in der Leitung.".encode("cp1252"),
        "Überdruck",
    ),
    good("text/russian.txt", RUSSIAN.encode("cp1251"), "манометра"),
    good("text/russian-koi8.txt", RUSSIAN.replace("манометра", "барометра").encode("koi8-r"), "барометра"),
    good("text/japanese.txt", JAPANESE.encode("cp932"), "貯水池"),
    good("text/chinese.txt", CHINESE.encode("gb18030"), "密封件"),
    good("text/arabic.txt", ARABIC.encode(), "المضخة"),
    good("text/hebrew.txt", ("\u202b" + HEBREW + "\u202c").encode(), "המשאבה"),
    good("text/korean.txt", KOREAN.encode(), "저수지로"),
    good("text/greek.txt", GREEK.encode("cp1253"), "αντλία"),
    good("text/emoji.txt", "Launch 🚀 day 👩‍🚀🏳️‍🌈 qemoji 🇨🇭".encode(), "qemoji"),
    good("text/combining.txt", "Cafe\u0301 on the pier, qcombining".encode(), "café qcombining"),
    good("text/nul.txt", b"before\0after qnultext", "qnultext"),
    good("text/long-word.txt", b"In front qlongword " + b"A" * 300_000 + b" behind", "qlongword"),
    good(
        "text/long-address.txt", b"See https://example.org/" + b"path/" * 1000 + b" qlongaddress", "qlongaddress"
    ),
    bad("text/short.txt", "Öl".encode("cp1252"), "too short to tell which encoding"),
    bad("text/half-a-pair.txt", b"\xed\xa0\x80 lone", "too short to tell which encoding"),
    bad("text/noise.txt", _noise(1, 5000), "it looks like binary data"),
    bad("text/cut-utf16.txt", b"\xff\xfea\0b", "not utf-16, though its byte order mark says so"),
    bad("text/packed.txt", b"\x1f\x8b\x08\0" + bytes(30), "the content is a gzip archive"),
    bad("text/empty.txt", b"", "the file has no bytes"),
    File("text/blank.txt", b" \n\t\n ", empty=("text/blank.txt",)),
    # Markdown
    good(
        "markdown/notes.md",
        b"---\ntitle: Notes\n---\n# Notes\n\n## Pumps\n\nThey hum qmark.\n",
        "qmark",
        None,
        "Pumps",
    ),
    good("markdown/table.md", b"| pump | bar |\n|---|---|\n| P1 | qtable |\n", "qtable"),
    good("markdown/deep.md", b">" * 3000 + b" quoted qdeepquote\n", "qdeepquote"),
    good("markdown/brackets.md", b"[" * 5000 + b" qbrackets " + b"]" * 5000, "qbrackets"),
    bad("markdown/access.md", b"---\nacl: [group:hr]\n---\nOpen?\n", "the front matter says who may see the file"),
    # Web pages
    good("html/page.html", b"<html><body><h1>Pumps</h1><p>Water qpage.</p></body></html>", "qpage"),
    good(
        "html/declared.html",
        (
            '<html><head><meta charset="windows-1251"></head><body><p>Станция qcyrpage закрыта</p></body></html>'
        ).encode("cp1251"),
        "станция qcyrpage",
    ),
    good("html/deep.html", lambda: _deep_page(1000), "qdeephtml"),
    bad("html/bottomless.html", lambda: _deep_page(5000), "the page cannot be read to its end"),
    good(
        "html/laughs.xhtml",
        (LAUGHS + '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>qlaughs &a9;</p></body></html>').encode(),
        "qlaughs",
    ),
    good("html/no-body.html", b"<title>Short</title><main><p>qnobody</p></main>tail", "qnobody"),
    good("html/unclosed.htm", b"<html><body><table><tr><td>one<td>qunclosed<tr><p>more", "qunclosed"),
    # reStructuredText and LaTeX
    good("rst/guide.rst", documents.RST_FILE, "inner content"),
    good(
        "rst/broken.rst", b"Title\n==\n\n.. figure::\n\n*unclosed **both qbrokenrst\n\n.. _x: `y\n", "qbrokenrst"
    ),
    good("latex/paper.tex", documents.LATEX_FILE, "Müller", None, "Introduction"),
    good("latex/deep.tex", b"\\section{One}\n" + b"{" * 50 + b" qdeeplatex " + b"}" * 50, "qdeeplatex"),
    bad("latex/bottomless.tex", b"\\section{One}\n" + b"{" * 3000 + b"x" + b"}" * 3000, "nested too deeply"),
    good(
        "latex/latin.tex",
        "\\documentclass{article}\\usepackage[latin1]{inputenc}\\begin{document}Größe "
        "qlatintex.\\end{document}".encode("latin-1"),
        "Größe qlatintex",
    ),
    # PDF
    good("pdf/two-columns.pdf", lambda: documents.two_column_pdf(3), "RIGHT2", 3, "3 Section 3"),
    good(
        "pdf/rotated.pdf",
        documents.simple_pdf("First page.", "Turned by a quarter qrotated.", rotate=90),
        "qrotated",
        2,
    ),
    good("pdf/upside-down.pdf", documents.simple_pdf("Turned by a half qupside.", rotate=180), "qupside", 1),
    good("pdf/long.pdf", long_pdf, "qlong437", 437),
    good(
        "pdf/labels.pdf",
        documents.simple_pdf(*(f"Label {n} of the store room qlabel" for n in range(1, 9))),
        "store room qlabel",
        1,
    ),
    good("pdf/partly-scanned.pdf", partly_scanned, "qbetween", 2),
    good("pdf/names \\xff.pdf", bad_names_pdf, "qhalfpair", 1),
    good("pdf/really-a-page.pdf", b"<!doctype html><html><body><p>qnotfound here</p></body></html>", "qnotfound"),
    good("pdf/really-a-text.pdf", b"Somebody renamed a text qrenamed.", "qrenamed"),
    bad("pdf/encrypted.pdf", documents.encrypted_pdf, "opens with a password only"),
    bad("pdf/scanned.pdf", documents.image_pdf(2), "the PDF has no text layer: none of its 2 pages has text"),
    bad("pdf/empty.pdf", b"", "the file has no bytes"),
    bad("pdf/cut.pdf", lambda: documents.two_column_pdf(1)[:400], "the PDF is broken"),
    bad("pdf/head-only.pdf", b"%PDF-1.7 no more", "the PDF is broken"),
    bad("pdf/noise.pdf", bytes(range(256)) * 20, "neither that nor anything known"),
    bad("pdf/photo.pdf", b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG image, which is not read"),
    # Office
    good("office/report.docx", documents.docx_file, "first sensor"),
    good(
        "office/macro.docm",
        lambda: office_with(
            docx_of("Said with macros qmacro."),
            {},
            {
                b"openxmlformats-officedocument.wordprocessingml.document.main+": (
                    b"ms-word.document.macroEnabled.main+"
                )
            },
        ),
        "qmacro",
    ),
    good(
        "office/late-type.odt",
        documents.zip_file(
            {"content.xml": documents.odt_content("<text:p>qlatetype</text:p>"), "mimetype": documents.ODT_TYPE}
        ),
        "qlatetype",
    ),
    good("office/really-a-pdf.docx", documents.simple_pdf("Wrong extension qwrongext."), "qwrongext", 1),
    good("office/really-a-docx.pdf", lambda: docx_of("Word inside qwordinside."), "qwordinside"),
    good("office/slides.pptx", documents.pptx_file, "P1 bar", 2),
    good("office/numbers.xlsx", documents.xlsx_file, "valve V1", 2),
    good("office/huge-sheet.xlsx", huge_sheet, "qsheetnear", 1),
    good("office/notes.odt", documents.odt_file, "measured twice"),
    bad("office/locked.docx", documents.ENCRYPTED_OFFICE, "opens with a password only"),
    bad("office/locked.xlsx", documents.ENCRYPTED_OFFICE, "opens with a password only"),
    bad("office/old.docx", documents.OLD_WORD, "a Word document of the old binary kind"),
    bad("office/bomb.docx", lambda: documents.docx_bomb(5_000_000), "decompression bomb"),
    bad("office/empty.pptx", b"", "the file has no bytes"),
    bad("office/cut.docx", lambda: documents.docx_file()[:2000], "is broken"),
    bad("office/cut.xlsx", documents.zip_file({"xl/workbook.xml": "<workbook"}), "the workbook"),
    bad(
        "office/laughs.docx",
        lambda: office_with(
            documents.docx_file(),
            {
                "word/document.xml": LAUGHS
                + '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
                "<w:t>&a9;</w:t></w:r></w:p></w:body></w:document>"
            },
        ),
        "the Word document",
    ),
    bad(
        "office/deep.odt",
        documents.odt_file("<text:span>" * 3000 + "</text:span>" * 3000),
        "is not well-formed XML",
    ),
    bad(
        "office/sheet.odt",
        documents.zip_file({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, stored=["mimetype"]),
        "the content is a file of the kind ODS",
    ),
    bad("office/rich.docx", b"{\\rtf1 hello}", "an RTF document"),
    # Books
    good("epub/book.epub", documents.epub_file, "inner water", 1),
    good("epub/second.epub", lambda: documents.epub_file().replace(b"Lovelace", b"Lovelacf"), "second", 2),
    bad("epub/nothing.epub", documents.zip_file({"META-INF/container.xml": "<x/>"}), "the EPUB"),
    # Tables
    File("csv/rows.csv", many_rows, {f"csv/rows.csv#r{n}": Found(f"qrow{n}") for n in (0, 1234, 4999)}),
    File(
        "csv/semicolons.csv",
        'id;title;text\n7;Ventil;"Ein Ventil\nleckt qsemikolon";zu viel\n8;Öse;Größe qzeile\n'.encode("cp1252"),
        {"csv/semicolons.csv#8": Found("Größe qzeile")},
        {"csv/semicolons.csv#1": "the row has 4 fields, and 3 columns have names"},
    ),
    File("csv/tabs.tsv", b"name\tstate\nV1\topen qtabs\n", {"csv/tabs.tsv#1": Found("qtabs")}),
    bad("csv/header.csv", b"a,b\n", "the names of columns and no row"),
    File("csv/open.csv", b"id,text,acl\n1,secret,everyone\n", dead={"csv/open.csv#1": "acl must be a list"}),
    # JSON lines
    File(
        "lines/records.jsonl",
        _lines,
        {"lines/records.jsonl#a": Found("qjsonlines"), "lines/records.jsonl#nul": Found("qjsonnul")},
        {
            "lines/records.jsonl:2": "the line is not JSON",
            "lines/records.jsonl:3": "the line is not JSON: maximum recursion depth",
            "lines/records.jsonl:4": "the line has no id",
            "lines/records.jsonl:6": "unknown member 'Acl'",
        },
    ),
    # Mail
    File(
        "mail/report.eml",
        documents.eml_file,
        {
            "mail/report.eml": Found("Grüße"),
            "mail/report.eml#report.pdf": Found("attached report names", 1),
            "mail/report.eml#message 1.eml": Found("older message"),
        },
    ),
    File("mail/japanese.eml", _mail_in_japanese, {"mail/japanese.eml": Found("圧力計")}),
    File(
        "mail/forwarded.eml",
        lambda: nested_mail(8),
        {
            "mail/forwarded.eml": Found("qfwd8"),
            **{
                "mail/forwarded.eml#" + "/".join(["message 1.eml"] * n): Found(
                    f"qfwd{8 - n}" if n < 8 else "qoldest"
                )
                for n in range(1, 9)
            },
        },
    ),
    bad("mail/bottomless.eml", lambda: nested_mail(3000), "nested too deeply"),
    bad("mail/no-mail.eml", b"\n\njust text\n", "the mail has no header"),
    bad("mail/no-mail.mbox", b"just text\n", "holds no message"),
    File(
        "mail/box.mbox",
        documents.mbox_file,
        {"mail/box.mbox#m1@example.org": Found("pump room"), "mail/box.mbox#m2@example.org": Found("second")},
    ),
    # Archives
    File(
        "all.zip",
        lambda: documents.zip_file(
            {
                "a/report.docx": documents.docx_file(),
                "mail.eml": documents.eml_file(),
                "inner.zip": documents.zip_file({"deep.txt": "A word from deep inside qdeepinside."}),
                "../../escape.txt": "out",
                "/etc/absolute.txt": "out",
                "C:\\windows.txt": "out",
                ".hidden.txt": "no",
                "photo.png": b"\x89PNG",
                "broken.pdf": b"%PDF-1.4",
            }
        ),
        _IN_ZIP,
        {
            "all.zip#../../escape.txt": "the name of the file leads out of the archive",
            "all.zip#/etc/absolute.txt": "the name of the file leads out of the archive",
            "all.zip#C:/windows.txt": "the name of the file leads out of the archive",
            "all.zip#broken.pdf": "the PDF is broken",
        },
    ),
    File(
        "zip/odd.zip",
        lambda: raw_zip(
            [
                ("CON.txt", b"Named like a device qdevice.", 0o644),
                ("nul\0byte.txt", b"Cut names qnulname.", 0o644),
                ("link.txt", b"/etc/passwd", 0o120777),
            ]
        ),
        {"zip/odd.zip#CON.txt": Found("qdevice")},
        {"zip/odd.zip#link.txt": "a link"},
    ),
    File(
        "zip/twice.zip",
        twice_zip,
        {"zip/twice.zip#a.txt": Found("qtwinone")},
        {"zip/twice.zip#a.txt": "twice"},
    ),
    bad("zip/photos.zip", documents.zip_file({"a.png": "x", "b.jpg": "y"}), "holds 2 files, and none of a format"),
    bad("zip/locked.zip", locked_zip, "opens with a password only"),
    bad("zip/bomb.zip", lambda: documents.bomb(40 * 1024 * 1024), "decompression bomb"),
    File(
        "zip/lying.zip",
        lambda: documents.lying_bomb(20 * 1024 * 1024),
        dead={"zip/lying.zip#zeros.txt": "the file in the archive is broken"},
    ),
    bad("zip/cut.zip", documents.zip_file({"a.txt": "text " * 500})[:-30], "is broken"),
    bad("zip/empty.zip", b"", "the file has no bytes"),
    File(
        "zip/nested.zip",
        lambda: nested_zip(9),
        dead={
            "zip/nested.zip#level8.zip#level7.zip#level6.zip#level5.zip": "archives and mails lie more than 3 deep"
        },
    ),
)


def make(root: Path) -> None:
    """Write :data:`FILES` into a folder."""
    for file in FILES:
        path = root / os.fsdecode(file.name.encode().replace(b"\\xff", b"\xff"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.bytes())


def make_special(root: Path) -> dict[str, Any]:
    """Links, pipes and the like; the reasons of their dead letters by key."""
    special = root / "special"
    special.mkdir()
    dead: dict[str, Any] = {}
    (special / "circle").symlink_to(special, target_is_directory=True)
    (special / "out.txt").symlink_to("/etc/hostname")
    (special / "zero.txt").symlink_to("/dev/zero")
    (special / "nowhere.txt").symlink_to(special / "absent.txt")
    dead["special/nowhere.txt"] = "a link that leads nowhere"
    (special / "itself.txt").symlink_to(special / "itself.txt")
    dead["special/itself.txt"] = ""
    for name in ("pipe.txt", "pipe.jsonl", "pipe.pdf"):
        os.mkfifo(special / name)
        dead[f"special/{name}"] = "not a regular file"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(special / "socket.txt"))
    dead["special/socket.txt"] = "not a regular file"
    (special / "folder.pdf").mkdir()
    if os.geteuid() != 0:
        (special / "locked.txt").write_text("closed")
        (special / "locked.txt").chmod(0)
        dead["special/locked.txt"] = "the file cannot be read"
    return dead
