"""Write the files of demo/library: one of each kind that is read, about the island station of the demonstration.

    python tools/demo_files.py            # needs pgsift[documents] and fpdf2; the files are committed

Run it where a text here changes. The formats are written by libraries that writers of such files use.
"""

from __future__ import annotations

import datetime
import io
import mailbox
import tempfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent / "demo" / "library"
WHEN = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.UTC)


def annual_report() -> bytes:
    from fpdf import FPDF

    class Report(FPDF):
        def header(self) -> None:
            self.set_font("Helvetica", size=8)
            self.cell(0, 6, "Tidewell Station: annual report 2025", new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("Helvetica", size=8)
            self.cell(0, 6, str(self.page_no()), align="C")

    pdf = Report(format="A4")
    pdf.set_title("Annual report 2025")
    pdf.set_author("Station council of Tidewell")
    pdf.set_lang("en-GB")
    pdf.set_creation_date(WHEN)

    def heading(text: str) -> None:
        pdf.ln(4)
        pdf.set_font("Helvetica", "B", 14)
        pdf.multi_cell(0, 8, text, new_x="LMARGIN", new_y="NEXT")

    def paragraph(text: str) -> None:
        pdf.set_font("Helvetica", size=10.5)
        pdf.multi_cell(0, 5.5, text, align="J", new_x="LMARGIN", new_y="NEXT")
        pdf.ln(2)

    pdf.add_page()
    heading("1 The year in short")
    paragraph(
        "The turbine in the narrows ran for 8,114 hours and delivered 3.2 gigawatt hours, a tenth more than "
        "in the "
        "year before. It stood still for eleven days in February, when a fishing net wrapped itself around "
        "the hub and "
        "divers had to wait for slack water twice a day to cut it free."
    )
    paragraph(
        "Nobody was hurt on the pier. The two winches were overhauled in May and have carried a second brake "
        "since. "
        "The station had 41 guests, the guest house was full from June to August, and the library got a new roof."
    )
    pdf.add_page()
    heading("2 Power and water")
    paragraph("Monthly figures, as read from the meter at the landfall of the cable:")
    pdf.set_font("Helvetica", size=10)
    for row in (
        ("Quarter", "Hours", "Energy MWh", "Stops"),
        ("Winter", "1,802", "790", "4"),
        ("Spring", "2,105", "842", "1"),
        ("Summer", "2,160", "811", "0"),
        ("Autumn", "2,047", "757", "2"),
    ):
        for value in row:
            pdf.cell(38, 6, value)
        pdf.ln(6)
    paragraph(
        "The desalination plant was switched off in September: the new cistern under the boat shed holds the "
        "rain of "
        "six weeks. Its overflow feeds the pond behind the clinic."
    )
    pdf.add_page()
    heading("3 Nature")
    paragraph(
        "The eelgrass meadow in the lee of the pier has grown to 2.4 hectares. Anchors are no longer dropped "
        "there; "
        "three mooring buoys stand at its edge. Pipefish were seen again for the first time since 1991."
    )
    paragraph(
        "The grey seals counted 212 pups, the most since the count began. Boats keep 200 metres from the skerries "
        "until the end of January."
    )
    return bytes(pdf.output())


def timetable() -> bytes:
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.set_title("Ferry timetable, summer 2026")
    pdf.set_creation_date(WHEN)
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    for line in (
        "From 1 May the ferry leaves Harbrook at 7:40 and 16:10, and Tidewell at 9:05 and 17:35.",
        "On Sundays the morning crossing is left out. With wind from the north-west above seven",
        "Beaufort no crossing is made; the harbour radio says so an hour before, on channel 12.",
    ):
        pdf.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def maintenance_plan() -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title = "Maintenance plan for the winches"
    document.core_properties.author = "R. Okafor"
    document.core_properties.created = WHEN.replace(tzinfo=None)
    document.add_heading("Maintenance plan for the winches", 0)
    document.add_heading("Every month", 1)
    document.add_paragraph(
        "Grease the drum bearings until clean grease comes out at the seal.", style="List Bullet"
    )
    document.add_paragraph("Look for broken strands over the whole length of the rope.", style="List Bullet")
    document.add_heading("Every year", 1)
    document.add_paragraph(
        "The second brake is tested with the dead weight of 4 tonnes that lies behind the shed. The drum may "
        "creep by "
        "no more than a hand's breadth in ten minutes; otherwise the linings are replaced in pairs."
    )
    table = document.add_table(3, 3)
    for row, values in enumerate(
        (
            ("part", "interval", "spare on shelf"),
            ("brake lining", "2 years", "B4"),
            ("rope, 16 mm", "4 years", "C1"),
        )
    ):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    return _saved(document)


def safety_briefing() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    presentation.core_properties.title = "Safety briefing for new arrivals"
    for title, lines, notes in (
        ("Welcome to Tidewell", "Who is who\nWhere the radios are", "Five minutes, at the boat shed."),
        (
            "Muster points",
            "North: the flagpole at the library\nSouth: the cistern under the boat shed",
            "Walk the path to the flagpole with everybody once.",
        ),
        (
            "When the siren sounds",
            "Three long tones: leave the pier\nOne tone: drill",
            "The siren is tested on Mondays.",
        ),
    ):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = lines
        slide.notes_slide.notes_text_frame.text = notes
    return _saved(presentation)


def spare_parts() -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Shelf B"
    for row in (
        ["part", "number", "stock", "supplier"],
        ["hydraulic hose 3/8", "HH-38-120", 6, "Norsk Slange"],
        ["brake lining pair", "BL-0417", 2, "Harbrook Friction"],
        ["sacrificial anode, zinc", "ZN-2200", 14, "Kystmetall"],
    ):
        sheet.append(row)
    other = workbook.create_sheet("Shelf C")
    for row in (
        ["part", "number", "stock"],
        ["wire rope 16 mm, metre", "WR-16", 180],
        ["swivel hook", "SH-5T", 3],
    ):
        other.append(row)
    return _saved(workbook)


def guest_house() -> bytes:
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    body = (
        '<text:h text:outline-level="1">House rules of the guest house</text:h>'
        "<text:p>The stove in the common room burns driftwood only. Salt eats the flue: it is swept every "
        "eight weeks, and "
        "whoever smells smoke opens the skylight and tells the warden.</text:p>"
        '<text:h text:outline-level="2">Drying room</text:h>'
        "<text:p>Wet suits hang on the left, oilskins on the right. Nothing dries on the radiators.</text:p>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "mimetype", "application/vnd.oasis.opendocument.text", stored=True)
        _add(
            archive,
            "content.xml",
            f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        )
        _add(
            archive,
            "meta.xml",
            f"<office:document-meta {names}><office:meta><dc:title>House "
            f"rules</dc:title><dc:language>en</dc:language>"
            "</office:meta></office:document-meta>",
        )
        _add(
            archive,
            "META-INF/manifest.xml",
            f'<manifest:manifest {names}><manifest:file-entry manifest:full-path="/" '
            'manifest:media-type="application/vnd.oasis.opendocument.text"/></manifest:manifest>',
        )
    return buffer.getvalue()


def field_guide() -> bytes:
    chapters = {
        "one.xhtml": (
            "Birds of the skerries",
            "The storm petrel comes ashore only at night, to burrows under the turf of the northern skerry. "
            "Its call from "
            "below the ground is a purr that ends in a hiccup.",
        ),
        "two.xhtml": (
            "Plants between the tides",
            "Channelled wrack stands highest of all seaweeds and may dry for eight days. Sheep eat it in hard "
            "winters.",
        ),
    }
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier '
        'id="id">tidewell-guide</dc:identifier>'
        "<dc:title>A field guide to Tidewell</dc:title><dc:creator>Mei Lindqvist</dc:creator>"
        f"<dc:language>en</dc:language><dc:date>2024</dc:date></metadata><manifest>{items}</manifest>"
        f"<spine>{spine}</spine></package>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "mimetype", "application/epub+zip", stored=True)
        _add(archive, "META-INF/container.xml", container)
        _add(archive, "book.opf", package)
        for name, (title, text) in chapters.items():
            _add(
                archive,
                name,
                f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title></head><body><h1>{title}</h1>'
                f"<p>{text}</p></body></html>",
            )
    return buffer.getvalue()


TELEMETRY = """\
Telemetry of the turbine
========================

:author: R. Okafor
:date: 2025-10-11

The hub sends a frame of 24 bytes every second.

Checksums
---------

A frame whose checksum is wrong is dropped, never repaired. More than ten in a minute raise
``WARN_FRAME_LOSS`` [1]_.

.. code-block:: python

   checksum = sum(frame[:-1]) & 0xFF

.. [1] Seen in 2023, when water had crept into the connector of the slip ring.
"""

TIDE_MODEL = r"""\documentclass{article}
\title{A tide model of the narrows}
\author{Mei Lindqvist}
\date{2025}
\begin{document}
\maketitle
\section{Harmonics}
The height at the gauge is the sum of seven harmonics,
\begin{equation}
h(t) = h_0 + \sum_{i=1}^{7} A_i \cos(\omega_i t + \varphi_i),
\end{equation}
of which the lunar semidiurnal one has an amplitude of 1.42 metres.
\section{What the model misses}
The seiche of the sound, which comes with a change of air pressure
and lifts the water by a hand every twenty minutes.
\end{document}
"""

SEALS = """\
date,place,adults,pups,remark
2025-11-04,North skerry,88,61,first count after the storm
2025-11-18,North skerry,102,97,two yearlings with a yellow flipper tag
2025-11-18,Long ledge,54,48,
2025-12-02,Long ledge,61,115,drone grounded by hail
"""

LOGBOOK = """\
Logbuch der Station, Herbst 1998

12. Oktober. Sturm aus Südwest, Böen bis elf. Das Beiboot schlug über die Mole und liegt kieloben im Hafen.
13. Oktober. Wellenhöhe noch fünf Meter. Die Köchin bäckt Brot für drei Tage; der Rundfunkempfänger ist durchnässt.
14. Oktober. Windstille. Zwölf Tordalken auf dem Dach des Bootshauses gezählt, sie übernachten dort zum ersten Mal.
"""


def letter() -> bytes:
    message = _mail(
        "Ferry and the new pontoon",
        "Dear all,\n\nthe pontoon is being towed over on 28 April. Until it is moored, the ferry berths at "
        "the old steps; "
        "mind the kelp, they are slippery.\n\nThe timetable is attached.\n\nThe harbour master\n",
        "ferry-1@tidewell.example",
    )
    message.add_attachment(timetable(), maintype="application", subtype="pdf", filename="timetable.pdf")
    return message.as_bytes()


def bookings() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        box = mailbox.mbox(str(Path(folder) / "box"), create=True)
        for number, (subject, text) in enumerate(
            (
                (
                    "Bunk for two weeks in June",
                    "I study lichens and need a bunk, and a desk that does not wobble.",
                ),
                ("Re: Bunk for two weeks in June", "You have bunk 4. The desk is steady; bring your own lamp."),
            )
        ):
            message = mailbox.mboxMessage(_mail(subject, text + "\n", f"bunk-{number}@tidewell.example"))
            message.set_from("warden@tidewell.example Mon Mar  2 09:00:00 2026")
            box.add(message)
        box.flush()
        box.close()
        return (Path(folder) / "box").read_bytes()


def clinic_1974() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Inventory of the clinic, 1974", 1)
    document.add_paragraph(
        "One decompression chamber for two, second hand, with a dent in the hatch that does not leak."
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(
            archive, "readme.txt", "Papers of the clinic's first year, scanned and typed by volunteers in 2019.\n"
        )
        _add(archive, "1974/inventory.docx", _saved(document))
    return buffer.getvalue()


def _mail(subject: str, text: str, number: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Harbour master <harbour@tidewell.example>"
    message["To"] = "all@tidewell.example"
    message["Date"] = WHEN
    message["Message-ID"] = f"<{number}>"
    message.set_content(text)
    return message


def _add(archive: zipfile.ZipFile, name: str, content: str | bytes, *, stored: bool = False) -> None:
    entry = zipfile.ZipInfo(name, WHEN.timetuple()[:6])
    archive.writestr(entry, content, zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED)


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def main() -> None:
    """Write them all."""
    LIBRARY.mkdir(exist_ok=True)
    files: dict[str, bytes] = {
        "annual-report-2025.pdf": annual_report(),
        "winch-maintenance.docx": maintenance_plan(),
        "safety-briefing.pptx": safety_briefing(),
        "spare-parts.xlsx": spare_parts(),
        "house-rules.odt": guest_house(),
        "field-guide.epub": field_guide(),
        "telemetry.rst": TELEMETRY.encode(),
        "tide-model.tex": TIDE_MODEL.encode(),
        "seal-count.csv": SEALS.encode(),
        "logbuch-1998.txt": LOGBOOK.encode("cp1252"),
        "ferry.eml": letter(),
        "bookings.mbox": bookings(),
        "clinic-1974.zip": clinic_1974(),
    }
    for name, content in files.items():
        (LIBRARY / name).write_bytes(content)
        print(f"{len(content):8,}  {name}")


if __name__ == "__main__":
    main()
