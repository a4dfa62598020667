"""Files of many formats, made for tests: whole ones, broken ones and hostile ones."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from email.message import EmailMessage
from typing import Any

_WORDS = (
    *(
        "pressure",
        "valve",
        "turbine",
        "bearing",
        "sensor",
        "controller",
        "estimation",
        "failure",
        "repeated",
        "with",
    ),
    *("measurement", "calibration", "under", "steady", "load", "temperature", "vibration", "the", "of", "and"),
)


def prose(count: int, seed: int) -> str:
    """A sentence of so many words."""
    chosen = random.Random(seed)
    return " ".join(chosen.choice(_WORDS) for _ in range(count)).capitalize() + "."


# PDF, written by hand: what no library would write


def raw_pdf(
    pages: Sequence[bytes],
    *,
    info: Mapping[str, bytes] | None = None,
    to_unicode: Mapping[int, int] | None = None,
    rotate: int = 0,
    catalog: bytes = b"",
) -> bytes:
    """A PDF with these content streams, font F1 (Helvetica). ``to_unicode`` maps codes of the font to UTF-16
    units; ``info`` has the values as PDF writes them, for example ``b"(Title)"``."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    def stream(content: bytes) -> bytes:
        return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)

    tree = add(b"")
    root = add(b"<< /Type /Catalog /Pages %d 0 R %s >>" % (tree, catalog))
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica"
    if to_unicode:
        lines = b"".join(b"<%02x> <%04x>\n" % pair for pair in to_unicode.items())
        cmap = (
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange <00> <ff> "
            b"endcodespacerange\n%d beginbfchar\n%sendbfchar\nendcmap end end" % (len(to_unicode), lines)
        )
        font += b" /ToUnicode %d 0 R" % add(stream(cmap))
    font_number = add(font + b" >>")
    numbers = []
    for content in pages:
        body = add(stream(content))
        numbers.append(
            add(
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Rotate %d /Contents %d 0 R "
                b"/Resources << /Font << /F1 %d 0 R >> >> >>" % (tree, rotate, body, font_number)
            )
        )
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects[tree - 1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(numbers))
    trailer = b"/Root %d 0 R" % root
    if info:
        values = b" ".join(b"/%s %s" % (name.encode(), value) for name, value in info.items())
        trailer += b" /Info %d 0 R" % add(b"<< %s >>" % values)
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start)
    return bytes(out)


def text_at(x: float, y: float, text: str, size: float = 10) -> bytes:
    """Text of a content stream; y counts upwards from the bottom of the page."""
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return b"BT /F1 %.1f Tf 1 0 0 1 %.1f %.1f Tm (%s) Tj ET\n" % (size, x, y, escaped.encode("latin-1"))


def page_of(lines: Iterable[str], *, x: float = 72, top: float = 720, size: float = 10, step: float = 12) -> bytes:
    """A content stream with one line below the other."""
    return b"".join(text_at(x, top - step * number, line, size) for number, line in enumerate(lines))


def utf16(text: str) -> bytes:
    """A string of a PDF in UTF-16, lone surrogates included."""
    return b"<feff" + text.encode("utf-16-be", "surrogatepass").hex().encode() + b">"


def simple_pdf(*pages: str, **options: Any) -> bytes:
    """A PDF with a paragraph on each page, lines of 12 words."""
    streams = []
    for text in pages:
        words = text.split()
        streams.append(page_of([" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]))
    return raw_pdf(streams, **options)


def image_pdf(pages: int = 1) -> bytes:
    """Pages that show a rectangle and no text."""
    return raw_pdf([b"0.5 g 100 100 300 400 re f\n"] * pages)


def two_column_pdf(pages: int = 4) -> bytes:
    """A paper as printed: title across, two justified columns with headings, running heads, numbers of pages."""
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.set_title("Two columns")
    pdf.set_author("Ada Lovelace; Charles Babbage")
    pdf.set_lang("en-GB")
    pdf.set_auto_page_break(False)
    for page in range(pages):
        pdf.add_page()
        pdf.set_font("Times", size=8)
        pdf.set_xy(20, 8)
        pdf.cell(170, 5, f"Journal of Pumps {page + 1}")
        pdf.set_xy(20, 285)
        pdf.cell(170, 5, str(page + 1), align="C")
        top = 30
        if page == 0:
            pdf.set_font("Times", "B", 18)
            pdf.set_xy(20, 20)
            pdf.multi_cell(170, 9, "Two columns of prose about pumps and valves", align="C")
            top = 45
        pdf.set_font("Times", "B", 12)
        pdf.set_xy(20, top)
        pdf.multi_cell(80, 6, f"{page + 1} Section {page + 1}")
        pdf.set_font("Times", size=10)
        pdf.set_xy(20, top + 8)
        pdf.multi_cell(80, 4.5, f"LEFT{page} {prose(250, 2 * page)} ENDLEFT{page}", align="J")
        pdf.set_xy(110, top)
        pdf.multi_cell(80, 4.5, f"RIGHT{page} {prose(250, 2 * page + 1)} ENDRIGHT{page}", align="J")
    return bytes(pdf.output())


def encrypted_pdf() -> bytes:
    """A PDF that a password opens."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_encryption(owner_password="owner", user_password="user")
    pdf.add_page()
    pdf.set_font("Times", size=10)
    pdf.cell(0, 5, "secret")
    return bytes(pdf.output())


def slow_pdf() -> bytes:
    """A small PDF with more than a million characters on a page."""
    content = b"BT /F1 1 Tf 10 10 Td (%s) Tj ET\n" % (b"ab " * 50_000)
    packed = zlib.compress(content * 10, 9)
    whole = raw_pdf([b"@"])
    return whole.replace(
        b"<< /Length 1 >>\nstream\n@\nendstream",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
    )


# Office


def docx_file() -> bytes:
    """A Word document with headings, a list, a table, a note and tracked changes."""
    import docx
    from docx.oxml import parse_xml

    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author, properties.language = "Pump report", "Ada Lovelace", "en-GB"
    document.add_heading("Pump report", 0)
    document.add_heading("Methods", 1)
    document.add_paragraph("We measured the pressure of each pump.")
    document.add_paragraph("first sensor", style="List Bullet")
    document.add_paragraph("second sensor", style="List Bullet")
    table = document.add_table(3, 3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"r{row}c{column}" if (row, column) != (2, 2) else "a|b"
    document.add_heading("Results", 2)
    changed = document.add_paragraph("Kept")
    namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    changed._p.append(parse_xml(f"<w:del {namespace}><w:r><w:delText> gone</w:delText></w:r></w:del>"))
    changed._p.append(parse_xml(f"<w:ins {namespace}><w:r><w:t> added</w:t></w:r></w:ins>"))
    return _saved(document)


def pptx_file() -> bytes:
    """A presentation of two slides with a list, notes and a table."""
    import pptx

    presentation = pptx.Presentation()
    presentation.core_properties.title = "Pumps in practice"
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Overview"
    slide.placeholders[1].text = "Why pumps fail\nHow to notice"
    slide.notes_slide.notes_text_frame.text = "Mention the cavitation."
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Numbers"
    table = slide.shapes.add_table(2, 2, 0, 2_000_000, 3_000_000, 1_000_000).table
    for row, values in enumerate((("pump", "bar"), ("P1", "3.5"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    return _saved(presentation)


def xlsx_file() -> bytes:
    """A workbook of two sheets."""
    import openpyxl

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Pumps"
    for row in (["pump", "bar", "checked"], ["P1", 3.5, True], ["P2", 4, False]):
        sheet.append(row)
    sheet.append([])
    sheet.append(["Measured at noon"])
    workbook.create_sheet("Valves").append(["valve", "state"])
    workbook["Valves"].append(["V1", "open"])
    return _saved(workbook)


def _saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zip_file(files: Mapping[str, bytes | str], *, stored: Iterable[str] = ()) -> bytes:
    """A ZIP archive; those named in ``stored`` are not compressed."""
    kept = set(stored)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(
                name, content, compress_type=zipfile.ZIP_STORED if name in kept else zipfile.ZIP_DEFLATED
            )
    return buffer.getvalue()


ODT_TYPE = "application/vnd.oasis.opendocument.text"
_ODT_NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def odt_content(body: str) -> str:
    """The part with the text of an OpenDocument text."""
    return (
        f"<office:document-content {_ODT_NAMES}><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )


def odt_file(body: str | None = None) -> bytes:
    """An OpenDocument text."""
    if body is None:
        body = (
            '<text:h text:outline-level="1">Methods</text:h><text:p>We measured<text:s text:c="2"/>the pump.'
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Twice.</text:p>"
            "</text:note-body></text:note></text:p>"
            "<text:list><text:list-item><text:p>first</text:p></text:list-item>"
            "<text:list-item><text:p>second</text:p></text:list-item></text:list>"
            "<table:table><table:table-row><table:table-cell><text:p>pump</text:p></table:table-cell>"
            "<table:table-cell><text:p>bar</text:p></table:table-cell></table:table-row>"
            "<table:table-row><table:table-cell><text:p>P1</text:p></table:table-cell>"
            '<table:table-cell table:number-columns-repeated="99999999"/></table:table-row></table:table>'
        )
    meta = (
        f"<office:document-meta {_ODT_NAMES}><office:meta><dc:title>Pump notes</dc:title>"
        "<meta:initial-creator>Ada Lovelace</meta:initial-creator><dc:language>de-DE</dc:language>"
        "</office:meta></office:document-meta>"
    )
    return zip_file(
        {"mimetype": ODT_TYPE, "content.xml": odt_content(body), "meta.xml": meta},
        stored=["mimetype"],
    )


def epub_file() -> bytes:
    """A book of two chapters."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>A book of pumps</dc:title><dc:creator>Ada Lovelace</dc:creator><dc:language>en</dc:language>"
        "<dc:date>1843-09-01</dc:date><dc:identifier>doi:10.1234/pumps.1</dc:identifier></metadata><manifest>"
        '<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="sub/two%20.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        '<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    one = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>The first chapter</h1>'
        "<p>Pumps <em>move</em> water&#160;fast.</p><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>"
        "</body></html>"
    )
    two = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>The second chapter</h1><pre>x = 1\n  y = 2</pre>'
        "<table><tr><th>pump</th><th>bar</th></tr><tr><td>P1</td><td>3</td></tr></table></body></html>"
    )
    return zip_file(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OEBPS/book.opf": package,
            "OEBPS/one.xhtml": one,
            "OEBPS/sub/two .xhtml": two,
            "OEBPS/nav.xhtml": "<html><body>NAVIGATION</body></html>",
        },
        stored=["mimetype"],
    )


RST_FILE = b"""=====
Guide
=====
:author: Ada Lovelace
:date: 2024-05-01

Intro text with ``code`` and :ref:`a link <x>`.

Section
=======

- one
- two

.. code-block:: python
   :linenos:

   x = 1

.. include:: /etc/passwd

Sub
---

Text [1]_ here.

.. unknownthing:: argument
   :option: x

   Inner content.

.. [1] A note.
"""

LATEX_FILE = rb"""\documentclass{article}
\usepackage[ngerman,english]{babel}
\title{On \emph{Pumps}}
\author{Ada Lovelace \and Charles Babbage}
\date{May 2021}
\begin{document}
\maketitle
\section{Introduction}\label{sec:i}
Pumps~\cite{a,b} are \textbf{fast}; see $x^2 + y$. M\"uller said so.\footnote{He did.} % not this

Second paragraph -- with a dash.
\begin{equation}
 E = mc^2
\end{equation}
\begin{itemize}
\item one
\item two
\end{itemize}
\begin{tabular}{ll}
pump & bar \\
P1 & 3 \\
\end{tabular}
\begin{verbatim}
x = {1}
\end{verbatim}
\input{/etc/passwd}
\begin{thebibliography}{9}
\bibitem{a} A. Author. A title.
\end{thebibliography}
\end{document}
"""


def mail(subject: str = "Pumps", body: str = "The pump leaks.", *, number: int = 1) -> EmailMessage:
    """A message with an id."""
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Ada Lovelace <ada@example.org>"
    message["To"] = "charles@example.org"
    message["Date"] = "Mon, 30 Nov 2026 12:00:00 +0000"
    message["Message-ID"] = f"<m{number}@example.org>"
    message.set_content(body)
    return message


def eml_file() -> bytes:
    """A message with a PDF, an image and a message attached."""
    message = mail("Grüße")
    message.add_attachment(
        simple_pdf("The attached report names the valve."),
        maintype="application",
        subtype="pdf",
        filename="report.pdf",
    )
    message.add_attachment(b"\x89PNG\r\n", maintype="image", subtype="png", filename="photo.png")
    message.add_attachment(mail("Inner", "An older message.", number=2))
    return message.as_bytes()


def mbox_file() -> bytes:
    """A mailbox of two messages; one has a line that looks like a beginning."""
    one = mail("One", "The first.\n>From the pump room.").as_bytes()
    two = mail("Two", "The second.", number=2).as_bytes()
    line = b"From ada@example.org Mon Nov 30 12:00:00 2026\n"
    return line + one + b"\n" + line + two + b"\n"


# Hostile archives


def bomb(size: int = 300 * 1024 * 1024) -> bytes:
    """A small archive with a file of zeros."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("zeros.txt", "w", force_zip64=False) as file,
    ):
        block = bytes(1024 * 1024)
        for _ in range(size // len(block)):
            file.write(block)
    return buffer.getvalue()


def lying_bomb(size: int = 50 * 1024 * 1024) -> bytes:
    """An archive whose directory says that its file has 10 bytes."""
    content = bytearray(bomb(size))
    at = content.rfind(b"PK\x01\x02")
    struct.pack_into("<I", content, at + 24, 10)
    struct.pack_into("<I", content, 22, 10)
    return bytes(content)


def docx_bomb(paragraphs: int = 50 * 1024 * 1024) -> bytes:
    """A Word document whose text unpacks to 300 MB."""
    start = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    body = start + b"<w:p/>" * paragraphs + b"</w:body></w:document>"
    with zipfile.ZipFile(io.BytesIO(docx_file())) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    return zip_file({**files, "word/document.xml": body})


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
ENCRYPTED_OFFICE = OLE + "EncryptedPackage".encode("utf-16-le") + bytes(100)
OLD_WORD = OLE + "WordDocument".encode("utf-16-le") + bytes(100)
