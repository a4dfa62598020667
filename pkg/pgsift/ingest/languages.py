"""The language a document is in: what it says itself as a BCP 47 tag, else what its text looks like.

Detection is py3langid's (``pip install 'pgsift[language]'``; BSD-3-Clause, its model is part of the package). It
is asked for the languages that have a code of two letters, about up to three parts of a text, and believed where
most of these parts are of one language with a probability of :data:`THRESHOLD` at least. So a text in several
languages is of the one that most of it is in, or of none; and what is too short, a table of numbers, or code is of
none.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from pgsift.ingest.chunker import Block

#: Least probability of a language, in a part of a text.
THRESHOLD = 0.7
#: Least letters of a text; one of a script without spaces between words counts as four.
LETTERS = 16
#: Characters of a part of a text, and how many parts are looked at.
SAMPLE = 100
PARTS = 3

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
)
# What is no language: addresses, and words with digits in them.
_NOISE = re.compile(r"https?://[!-~]+|[!-~]+@[!-~]+\.[!-~]+|[!-~]*\d[!-~]*")
_NO_TEXT = frozenset({"code", "table", "skip"})
_NONE = frozenset({"und", "mul", "zxx", "mis", "root", "c"})

# Codes of three letters, and old ones, where there is one of two (ISO 639-2 in both forms, 639-1 as withdrawn).
_CODES = dict(
    pair.split("=")
    for pair in """
    afr=af alb=sq sqi=sq amh=am ara=ar arg=an arm=hy hye=hy asm=as aze=az baq=eu eus=eu bel=be ben=bn bos=bs bre=br
    bul=bg bur=my mya=my cat=ca chi=zh zho=zh cmn=zh cor=kw cos=co cze=cs ces=cs dan=da div=dv dut=nl nld=nl eng=en
    epo=eo est=et fao=fo fin=fi fre=fr fra=fr fry=fy geo=ka kat=ka ger=de deu=de gla=gd gle=ga glg=gl gre=el ell=el
    guj=gu hat=ht hau=ha heb=he iw=he hin=hi hrv=hr hun=hu ice=is isl=is ido=io ina=ia ind=id in=id ita=it jav=jv
    jw=jv jpn=ja kan=kn kas=ks kaz=kk khm=km kin=rw kir=ky kor=ko kur=ku lao=lo lat=la lav=lv lin=ln lit=lt ltz=lb
    mac=mk mkd=mk mal=ml mao=mi mri=mi mar=mr may=ms msa=ms mlg=mg mlt=mt mon=mn nep=ne nno=nn nob=nb nor=no oci=oc
    ori=or oss=os pan=pa per=fa fas=fa pol=pl por=pt pus=ps que=qu roh=rm rum=ro ron=ro mo=ro rus=ru san=sa sin=si
    slo=sk slk=sk slv=sl sna=sn snd=sd som=so spa=es srd=sc srp=sr sun=su swa=sw swe=sv tam=ta tat=tt tel=te tgk=tg
    tgl=tl tha=th tib=bo bod=bo tuk=tk tur=tr uig=ug ukr=uk urd=ur uzb=uz vie=vi wel=cy cym=cy wol=wo xho=xh yid=yi
    ji=yi yor=yo zul=zu
    """.split()  # noqa: SIM905
)
# Names: in English, in the language itself, and as babel and BibLaTeX have them.
_NAMES = dict(
    pair.split("=")
    for pair in """
    english=en american=en-US usenglish=en-US british=en-GB ukenglish=en-GB canadian=en-CA australian=en-AU
    newzealand=en-NZ german=de ngerman=de deutsch=de austrian=de-AT naustrian=de-AT swissgerman=de-CH
    nswissgerman=de-CH french=fr francais=fr français=fr acadian=fr-CA canadien=fr-CA spanish=es español=es
    espanol=es castilian=es catalan=ca català=ca portuguese=pt português=pt portuges=pt brazilian=pt-BR
    brazil=pt-BR italian=it italiano=it dutch=nl nederlands=nl flemish=nl-BE afrikaans=af danish=da dansk=da
    swedish=sv svenska=sv norwegian=no norsk=no bokmål=nb nynorsk=nn finnish=fi suomi=fi icelandic=is estonian=et
    latvian=lv lithuanian=lt polish=pl polski=pl czech=cs čeština=cs slovak=sk slovene=sl slovenian=sl croatian=hr
    hrvatski=hr serbian=sr bosnian=bs macedonian=mk bulgarian=bg romanian=ro română=ro hungarian=hu magyar=hu
    greek=el ελληνικά=el albanian=sq turkish=tr türkçe=tr russian=ru русский=ru ukrainian=uk українська=uk
    belarusian=be georgian=ka armenian=hy azerbaijani=az kazakh=kk uzbek=uz persian=fa farsi=fa فارسی=fa arabic=ar
    العربية=ar hebrew=he עברית=he urdu=ur اردو=ur hindi=hi हिन्दी=hi हिंदी=hi bengali=bn bangla=bn marathi=mr
    gujarati=gu punjabi=pa tamil=ta telugu=te kannada=kn malayalam=ml sinhala=si nepali=ne sanskrit=sa thai=th
    lao=lo khmer=km burmese=my vietnamese=vi indonesian=id malay=ms tagalog=tl filipino=tl chinese=zh mandarin=zh
    中文=zh 汉语=zh 漢語=zh japanese=ja 日本語=ja korean=ko 한국어=ko mongolian=mn tibetan=bo swahili=sw amharic=am
    somali=so hausa=ha yoruba=yo igbo=ig zulu=zu xhosa=xh latin=la esperanto=eo irish=ga gaeilge=ga scottish=gd
    welsh=cy cymraeg=cy breton=br basque=eu euskara=eu galician=gl occitan=oc luxembourgish=lb
    maltese=mt yiddish=yi
    """.split()  # noqa: SIM905
)


def normalized(value: object) -> str | None:
    """A language as a BCP 47 tag, from a tag in any case and with ``_``, a code of three letters, or a name:
    ``en_US.UTF-8`` is ``en-US``, ``deu`` and ``ngerman`` are ``de``. ``None`` for what names no language."""
    if not isinstance(value, str):
        return None
    text = value.strip().casefold()
    if text in _NAMES:
        return _NAMES[text]
    tag = text.partition(".")[0].partition("@")[0].replace("_", "-").strip()
    if not _TAG.fullmatch(tag) or not tag.isascii():
        return None
    first, *others = tag.split("-")
    first = _CODES.get(first, first)
    if first in _NONE:
        return None
    parts = [first]
    for number, part in enumerate(others):
        if len(part) == 1:  # extensions and private use are kept as they are
            parts += others[number:]
            break
        parts.append(
            part.title() if len(part) == 4 and part.isalpha() else part.upper() if len(part) == 2 else part
        )
    return "-".join(parts)


def iso_639_2(code: str) -> str | None:
    """The code of three letters (ISO 639-2/T) of one of two letters; ``None`` where it is not known."""
    # Of two codes the terminological one comes second.
    return {short: long for long, short in _CODES.items() if len(long) == 3}.get(code)


@cache
def _classifier() -> Callable[[str], tuple[str, float]] | None:
    """What tells the language of a text and its probability; ``None`` without the extra."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([label for label in identifier.labels if len(label) == 2 or label == "zxx"])
    lock = threading.Lock()

    def classify(text: str) -> tuple[str, float]:
        with lock:
            language, probability = identifier.classify(text)
        return str(language), float(probability)

    return classify


def available() -> bool:
    """Whether languages are detected: whether the extra ``language`` is installed."""
    from importlib.util import find_spec

    return find_spec("py3langid") is not None


def detect(text: str, blocks: Sequence[Block] | None = None) -> str | None:
    """The language most of a text is in, as a code of two letters; ``None`` where that is not clear, and without
    the extra. Of a text with blocks code and tables do not count."""
    classify = _classifier()
    if classify is None:
        return None
    votes: Counter[str] = Counter()
    parts = _parts(text, blocks)
    for part in parts:
        language, probability = classify(part)
        if probability >= THRESHOLD and language != "zxx":
            votes[language] += 1
            if 2 * votes[language] > len(parts):  # whatever the others say; a part takes a millisecond
                return language
    if not votes:
        return None
    language, count = votes.most_common(1)[0]
    return language if 2 * count > votes.total() else None


def _parts(text: str, blocks: Sequence[Block] | None) -> list[str]:
    """Up to three parts of a text, from all over it, that have letters enough."""
    spans = [(0, len(text))] if blocks is None else [
        (block.start, block.end) for block in blocks if block.kind not in _NO_TEXT
    ]  # fmt: skip
    total = sum(end - start for start, end in spans)
    # More than is looked at, since addresses and numbers are taken out.
    size = 2 * SAMPLE
    if total <= PARTS * size:
        whole = _letters_of(" ".join(text[start:end] for start, end in spans))
        count = min(PARTS, max(1, len(whole) // SAMPLE))
        cut = -(-len(whole) // count) if whole else 1
        parts = [whole[start : start + cut][:SAMPLE] for start in range(0, len(whole), cut)]
    else:
        parts = []
        for number in range(PARTS):
            wanted, taken = number * (total - size) // (PARTS - 1), ""
            for start, end in spans:
                if wanted >= end - start:
                    wanted -= end - start
                    continue
                taken += " " + text[start + wanted : min(end, start + wanted + size - len(taken))]
                wanted = 0
                if len(taken) >= size:
                    break
            parts.append(_letters_of(taken)[:SAMPLE])
    return [part for part in parts if _weight(part) >= LETTERS]


def _letters_of(text: str) -> str:
    return " ".join(_NOISE.sub(" ", text).split())


def _weight(text: str) -> int:
    # Vowels of Indian scripts are marks.
    letters = sum(one.isalpha() or unicodedata.category(one)[0] == "M" for one in text[: 4 * LETTERS])
    return letters + 3 * len(_DENSE.findall(text[: 4 * LETTERS]))
