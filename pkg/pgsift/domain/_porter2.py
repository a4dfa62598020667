"""The English (Porter2) stemmer as tables of rules and a small interpreter of them.

The algorithm is the one published as "The English (Porter2) stemming algorithm" by the Snowball project, in
the revision of Snowball 3.1. It is kept here, and not taken from a package, because a stem is stored: a
stemmer that changes with an upgrade would silently stop finding what was indexed before.
``tools/generate_analyzer.py`` writes the twin in SQL from the same tables.

A word is a case-folded run of Latin letters. Letters outside a to z count as consonants; apostrophes do not
occur.
"""

from __future__ import annotations

import re

REVISION = "snowball-3.1"

VOWELS = "aeiouy"

# Words whose stem no rule yields.
IRREGULAR = {
    "andes": "andes",
    "atlas": "atlas",
    "bias": "bias",
    "cosmos": "cosmos",
    "early": "earli",
    "gently": "gentl",
    "howe": "howe",
    "idly": "idl",
    "news": "news",
    "only": "onli",
    "singly": "singl",
    "skies": "sky",
    "skis": "ski",
    "sky": "sky",
    "ugly": "ugli",
}

# Beginnings after which the region R1 starts at once.
R1_PREFIXES = ("arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers")

# Step 1b: where -eed stays, and where -ing stays, because the rest is a word of its own.
KEEP_EED_AFTER = ("exc", "proc", "succ")
KEEP_ING_AFTER = ("cann", "earr", "even", "herr", "inn", "out")
RESTORE_E_AFTER = ("at", "bl", "iz")
DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")

# Step 2, in R1: suffix and its replacement. "li" and "ogi" have conditions of their own.
STEP2 = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "fulli": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogist": "og",
    "ogi": "og",
    "lessli": "less",
    "li": "",
}
OGI_AFTER = "l"
LI_AFTER = "cdeghkmnrt"

# Step 3, in R1; "ative" goes only in R2.
STEP3 = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",
}
STEP3_R2 = "ative"

# Step 4, in R2; "ion" goes only after s or t.
STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti",
    "ous", "ive", "ize", "ion",
)  # fmt: skip
ION_AFTER = "st"

# Patterns that both sides use; their syntax means the same to Python and to PostgreSQL.
REGION = f"^[^{VOWELS}]*[{VOWELS}]+[^{VOWELS}]"
SHORT_SYLLABLE = f"[^{VOWELS}][{VOWELS}][^{VOWELS}wxY]$|^[{VOWELS}][^{VOWELS}]$|past$"
Y_AFTER_VOWEL = f"([{VOWELS}])y"
PLURAL = f"[{VOWELS}].+s$"
VERB_SUFFIX = "(?:eedly|ingly|edly|eed|ing|ed)$"
LYING = f"^[^{VOWELS}]y$"
KEPT_DOUBLE = "^[aeo]..$"
FINAL_Y = f".[^{VOWELS}][yY]$"


def any_of(suffixes: tuple[str, ...] | dict[str, str]) -> str:
    """A pattern for the longest of the suffixes at the end of a word (leftmost match, so longest)."""
    return f"(?:{'|'.join(suffixes)})$"


_prefix = re.compile(f"^(?:{'|'.join(R1_PREFIXES)})")
_region = re.compile(REGION)
_short_syllable = re.compile(SHORT_SYLLABLE)
_y_after_vowel = re.compile(Y_AFTER_VOWEL)
_plural = re.compile(PLURAL)
_verb_suffix = re.compile(VERB_SUFFIX)
_vowel = re.compile(f"[{VOWELS}]")
_kept_double = re.compile(KEPT_DOUBLE)
_lying = re.compile(LYING)
_final_y = re.compile(FINAL_Y)
_step2 = re.compile(any_of(STEP2))
_step3 = re.compile(any_of(STEP3))
_step4 = re.compile(any_of(STEP4))


def _end_of_region(word: str) -> int:
    match = _region.search(word)
    return match.end() if match else len(word)


def _step1b(word: str, r1: int) -> str:
    match = _verb_suffix.search(word)
    if match is None:
        return word
    suffix, rest = match[0], word[: match.start()]
    if suffix.startswith("eed"):
        return rest + "ee" if r1 <= len(rest) and rest not in KEEP_EED_AFTER else word
    if suffix == "ing":
        if _lying.search(rest):
            return rest[0] + "ie"
        if rest in KEEP_ING_AFTER:
            return word
    if not _vowel.search(rest):
        return word
    if rest.endswith(RESTORE_E_AFTER):
        return rest + "e"
    if rest.endswith(DOUBLES):
        return rest if _kept_double.search(rest) else rest[:-1]
    return rest + "e" if len(rest) == r1 and _short_syllable.search(rest) else rest


def stem(word: str) -> str:
    """The stem of one case-folded word; never empty for a word that is not."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 3:
        return word
    if "y" in word:  # a y that is a consonant is written Y until the end
        if word[0] == "y":
            word = "Y" + word[1:]
        word = _y_after_vowel.sub(r"\1Y", word)

    match = _prefix.search(word)
    r1 = match.end() if match else _end_of_region(word)
    r2 = r1 + _end_of_region(word[r1:])

    # Step 1a: plurals.
    if word.endswith("sses"):
        word = word[:-2]
    elif word.endswith(("ied", "ies")):
        word = word[:-1] if len(word) <= 4 else word[:-2]
    elif word.endswith(("us", "ss")):
        pass
    elif _plural.search(word):
        word = word[:-1]

    word = _step1b(word, r1)

    if _final_y.search(word):
        word = word[:-1] + "i"

    match = _step2.search(word)
    if match and r1 <= match.start():
        suffix, before = match[0], word[match.start() - 1 : match.start()]
        if (suffix != "li" or before in LI_AFTER) and (suffix != "ogi" or before in OGI_AFTER):
            word = word[: match.start()] + STEP2[suffix]

    match = _step3.search(word)
    if match and (r2 if match[0] == STEP3_R2 else r1) <= match.start():
        word = word[: match.start()] + STEP3[match[0]]

    match = _step4.search(word)
    if match and r2 <= match.start():
        before = word[match.start() - 1 : match.start()]
        if match[0] != "ion" or before in ION_AFTER:
            word = word[: match.start()]

    # Step 5: a final e, a final double l.
    rest = word[:-1]
    if (
        word.endswith("e") and (r2 <= len(rest) or (r1 <= len(rest) and not _short_syllable.search(rest)))
    ) or (word.endswith("ll") and r2 <= len(rest)):
        word = rest
    return word.replace("Y", "y")
