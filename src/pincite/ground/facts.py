"""Read the facts a sentence commits to: numbers with units, dates, names, negation, quantifiers, opposites.

Reading is by rule and errs towards finding a fact: a checker must rather ask than wave through. Numbers and names work
in any script; units and dates are read in English, German, French, Spanish, Italian, Portuguese and Dutch, opposites
and quantifiers in English.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal

import regex

from pincite.find.stopwords import NEGATIONS, STOP_WORDS

# Each group is one unit, in the languages that search knows best; its first spelling names it.
_UNITS = (
    "% percent pct percentage prozent pourcent percento|$ dollar dollars usd|€ euro euros eur|£ pound pounds gbp|¥ "
    "yen jpy yuan|km kilometre kilometres kilometer kilometers kilomètre kilomètres kilómetros chilometri "
    "quilómetros|m metre metres meter meters mètre mètres metros metri|cm centimetre centimetres centimeter "
    "centimeters|mm millimetre millimetres millimeter millimeters|mi mile miles|ft foot feet|kg kilogram kilograms "
    "kilogramme kilogrammes kilogramm|g gram grams gramme grammes|mg milligram milligrams|t ton tons tonne tonnes|l "
    "litre litres liter liters|ms millisecond milliseconds|s sec secs second seconds sekunde sekunden secondes "
    "segundos|min mins minute minutes minuten minutos minuti|h hr hrs hour hours stunde stunden heure heures hora "
    "horas|day days tage tagen jour jours días dias giorni dagen|week weeks woche wochen semaine semaines semanas "
    "settimane weken|month months monat monate monaten mois meses mesi maanden|year years yr yrs jahr jahre jahren "
    "ans années años anni anos jaar|°c celsius|°f fahrenheit|kb kilobyte kilobytes|mb megabyte megabytes|gb gigabyte "
    "gigabytes|tb terabyte terabytes|w watt watts|kw kilowatt kilowatts|mw megawatt megawatts|v volt volts|hz hertz"
)
_UNIT_OF = {alias: group.split()[0] for group in _UNITS.split("|") for alias in group.split()}
_SCALES = {"hundred": 10**2} | dict.fromkeys(("thousand", "k"), 10**3) | dict.fromkeys(("million", "mn"), 10**6)
_SCALES |= dict.fromkeys(("billion", "bn"), 10**9) | {"trillion": 10**12}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_WORDS = (
    {word: value for value, word in enumerate(_ONES.split())}
    | {word: 20 + 10 * index for index, word in enumerate(_TENS.split())}
    | {word: 1 + index for index, word in enumerate(_ORDINALS.split())}
)
_VAGUE = {"one", "first", "second", "third"}  # also pronouns and connectives: they confirm a number, they claim none
_NUMBER = regex.compile(
    r"(?P<currency>[$€£¥])?\s?(?P<digits>(?<![\p{L}\d])\d+(?:[.,]\d+)*)(?P<fraction>[¼½¾])?(?:st|nd|rd|th)?"
    r"(?![\p{L}&&[^kmgtsdhclvwb]])"  # a unit may follow at once, another letter makes it part of a name
    r"|\b(?P<word>" + "|".join(_WORDS) + r")\b(?:-(?P<unit_word>" + "|".join(_ONES.split()[1:10]) + r")\b)?",
    regex.IGNORECASE | regex.V1,
)
_AFTER = regex.compile(r"[\s-]{0,2}(?P<word>%|per cent|°?\p{L}+)", regex.IGNORECASE)
_FRACTIONS = {"¼": Decimal("0.25"), "½": Decimal("0.5"), "¾": Decimal("0.75")}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written, its possible values, and its unit where it has a known one."""

    text: str
    values: frozenset[Decimal]  # "1.234" may be 1234 elsewhere in the world
    unit: str
    start: int
    vague: bool = False


def quantities(text: str) -> list[Quantity]:
    """Read the numbers in a text, in order."""
    return [_quantity(text, found) for found in _NUMBER.finditer(text)]


def numbers(text: str) -> list[Quantity]:
    """Read the numbers that a text claims, in order: none that is vague, or part of a date."""
    dated = dates(text)
    return [
        number
        for number in quantities(text)
        if not number.vague and not any(date.start <= number.start < date.end for date in dated)
    ]


def _quantity(text: str, found: regex.Match[str]) -> Quantity:
    """Read one number with the scale and unit that follow it."""
    word = (found["word"] or "").casefold()  # as the pattern does: "ﬁrst" is "first"
    if word:
        ones = (found["unit_word"] or "").casefold()
        values = {Decimal(_WORDS[word] + (_WORDS[ones] if ones else 0))}
    else:
        values = {value + _FRACTIONS.get(found["fraction"] or "", 0) for value in _values(found["digits"])}
    unit = found["currency"] or ""
    end = found.end()
    for _ in range(2):  # a scale, then a unit
        after = _AFTER.match(text, end)
        following = after["word"].lower() if after else ""
        if following in _SCALES:
            values = {value * _SCALES[following] for value in values}
            end = after.end()
        elif following == "per cent" or following in _UNIT_OF:
            unit = unit or _UNIT_OF.get(following, "%")
            break
    start = found.end() - len(found[0].lstrip())
    return Quantity(found[0].strip(), frozenset(values), unit, start, word in _VAGUE and not unit)


def _values(digits: str) -> set[Decimal]:
    """Read digits with separators in every way that makes sense."""
    plain = "".join(str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char for char in digits)
    readings = {plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}
    if "," not in plain or "." not in plain:
        readings.add(plain.replace(",", ".") if plain.count(",") == 1 else plain.replace(",", ""))
    return {Decimal(reading) for reading in readings if reading.count(".") <= 1}


_MONTHS = "january february march april may june july august september october november december"
_MONTH_OF = {name[:3]: index + 1 for index, name in enumerate(_MONTHS.split())}
# German, French, Spanish, Italian, Portuguese, Dutch; only after a day, since some are other words elsewhere.
_MONTHS_ELSEWHERE = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_MONTH_OF |= {name: index + 1 for names_ in _MONTHS_ELSEWHERE for index, name in enumerate(names_.split())}
_ELSEWHERE = "|".join(sorted({name for names_ in _MONTHS_ELSEWHERE for name in names_.split()}))
_MONTH = r"(?P<month>(?:Jan|Febr?|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)|(?:"
_MONTH += "|".join(name.title() for name in _MONTHS.split()) + r"))\b\.?"
_DATES = [
    regex.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
    regex.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})\b)?"),
    regex.compile(
        rf"\b(?P<day>\d{{1,2}})(?:\.|er|º)?\s+(?:de\s+)?(?P<month>{_ELSEWHERE})\b(?:\s+(?:de\s+)?(?P<year>\d{{4}})\b)?",
        regex.IGNORECASE,
    ),
    regex.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>\d{{4}})\b)?"),
    regex.compile(rf"\b{_MONTH},?\s+(?P<year>\d{{4}})\b"),
]


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it is given."""

    text: str
    month: int
    day: int | None
    year: int | None
    start: int
    end: int


def dates(text: str) -> list[Date]:
    """Read the dates that name a month; a bare year is a number."""
    found: list[Date] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if all(match.end() <= other.start or match.start() >= other.end for other in found):
                found.append(_date(match))
    return sorted(found, key=lambda date: date.start)


def _date(match: regex.Match[str]) -> Date:
    """Read one date."""
    parts = match.groupdict()
    name = (parts.get("month") or "").lower()  # or an English short form
    month = int(parts["number"]) if parts.get("number") else _MONTH_OF.get(name) or _MONTH_OF[name[:3]]
    day, year = (int(parts[name]) if parts.get(name) else None for name in ("day", "year"))
    return Date(match[0].strip(), month, day, year, match.start(), match.end())


_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’.&-][\p{L}\p{N}]+)*")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}]+)*")
_POSSESSIVE = regex.compile(r"['’]s$")
_OPENING_WORDS = (
    "yesterday today tomorrow now later earlier although despite unlike however moreover thus hence therefore also "
    "former according since many most several every whether within without yet even still"
)
_OPENERS = STOP_WORDS["en"] | frozenset(_OPENING_WORDS.split())
_NO_NAMES = frozenset(
    f"{_MONTHS} {' '.join(_MONTHS_ELSEWHERE)} monday tuesday wednesday thursday friday saturday sunday "
    "i mr mrs ms dr".split()
)


def names(text: str) -> list[str]:
    """Give capitalised words, in order; the first word only when a capital inside it or right after it tells a name."""
    found = list(_NAME.finditer(text))
    kept = []
    for index, match in enumerate(found):
        follows = index + 1 < len(found) and found[index + 1].start() == match.end() + 1
        inner = match[0][1:] != match[0][1:].lower()
        if match.start() > _first(text) or inner or (follows and plain(match[0]) not in _OPENERS):
            kept.append(_POSSESSIVE.sub("", match[0]))
    return list(dict.fromkeys(name for name in kept if plain(name) not in _NO_NAMES))


def opening(text: str) -> str:
    """Give the first word when it is capitalised and may or may not be a name, else the empty string."""
    match = _NAME.match(text, _first(text))
    return match[0] if match and plain(match[0]) not in _OPENERS | _NO_NAMES else ""


def hard(text: str) -> list[str]:
    """Give the numbers and the names in a text, as written: what a claim must not get wrong."""
    return [*names(text), *(quantity.text for quantity in quantities(text) if not quantity.vague)]


def _first(text: str) -> int:
    """Give where the first word starts."""
    return len(text) - len(text.lstrip("\"'“‘«([*- "))


def plain(word: str) -> str:
    """Fold case and accents."""
    parts = unicodedata.normalize("NFKD", word).casefold()
    return "".join(char for char in parts if not unicodedata.combining(char))


def words(text: str) -> list[str]:
    """Give the folded words of a text, in order."""
    return [plain(_POSSESSIVE.sub("", word)) for word in _WORD.findall(text)]


def initials(text: str) -> set[str]:
    """Give the acronyms that runs of capitalised words in a text would have."""
    runs = regex.findall(r"\p{Lu}[\p{L}\p{M}]+(?:\s+(?:of|the|and|for|de)?\s*\p{Lu}[\p{L}\p{M}]+)+", text)
    return {"".join(word[0] for word in regex.findall(r"\p{Lu}\w*", run)).casefold() for run in runs}


_SCOPE_WORDS = 5
_CLAUSE_END = regex.compile(r"[.,](?!\d)|[;:!?()]|\b(?:but|however|although|because|aber|mais|pero)\b")


def negated(text: str) -> list[str]:
    """Give what each negation in a text covers: the up to five words that follow it in its clause."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0].casefold().replace("’", "'")
        if word in NEGATIONS or word.endswith("n't"):
            rest = _CLAUSE_END.split(text[match.end() :], maxsplit=1)[0]
            found.append(" ".join(rest.split()[:_SCOPE_WORDS]))
    return found


_QUANTIFIERS = {
    "all": r"all|every|each|always|everyone|everything|entire(?:ly)?|whole|completely",
    "only": r"only|solely|exclusively|sole|just",
    "most": r"most|majority|mostly|mainly|primarily|largely",
    "at least": r"at least|more than|over|above|exceed(?:s|ed|ing)?|minimum(?: of)?|greater than",
    "at most": r"at most|less than|fewer than|under|below|up to|maximum(?: of)?|within",
}


def _any_of(words: str) -> regex.Pattern[str]:
    """Make a pattern for whole words, whatever their case."""
    return regex.compile(rf"\b(?:{words})\b", regex.IGNORECASE)


_QUANTIFIER = {name: _any_of(words) for name, words in _QUANTIFIERS.items()}
_BOUNDS = ("at least", "at most")


def quantifiers(text: str) -> dict[str, str]:
    """Give the kinds of quantifier in a text, each with the word that says it; bounds only before a number."""
    found = {}
    for kind, pattern in _QUANTIFIER.items():
        for match in pattern.finditer(text):
            if kind not in _BOUNDS or regex.match(
                r"\s+[$€£¥]?(?:a |an |the )?(?:\d|\p{L}+\s\d|" + "|".join(_WORDS) + ")", text[match.end() :]
            ):
                found[kind] = match[0]
                break
    return found


_OPPOSITES = [
    (
        r"increas\w*|ris(?:e|es|en|ing)|rose|grew|grow\w*|gain\w*",
        r"decreas\w*|fall(?:s|en|ing)?|fell|declin\w*|drop\w*|reduc\w*|los(?:t|s|es)",
    ),
    (r"higher|more|larger|greater|bigger", r"lower|less|smaller|fewer"),
    (r"before|earlier|prior", r"after|later"),
    (r"first|earliest", r"last|latest|final"),
    (r"north\w*", r"south\w*"),
    (r"east\w*", r"west\w*"),
    (r"allow\w*|permit\w*", r"forbid\w*|prohibit\w*|prevent\w*|ban(?:s|ned)?"),
    (r"accept\w*|approv\w*", r"reject\w*|refus\w*|den(?:y|ies|ied)"),
    (r"positive\w*", r"negative\w*"),
    (r"maximum|maximal|highest|largest", r"minimum|minimal|lowest|smallest"),
    (r"activat\w*|promot\w*|induc\w*|stimulat\w*|enhanc\w*", r"inhibit\w*|suppress\w*|block\w*|impair\w*"),
    (r"win|wins|won|victor\w*", r"lose|loses|lost|defeat"),
    (r"open(?:s|ed|ing)?", r"clos(?:e|es|ed|ing)"),
    (r"true|correct", r"false|incorrect|wrong"),
]
_OPPOSITE = [
    (_any_of(left), _any_of(right)) for one, other in _OPPOSITES for left, right in ((one, other), (other, one))
]


def opposites(claim: str, source: str) -> list[tuple[str, str]]:
    """Give pairs (word of the claim, its opposite in the source) where neither side has both words."""
    found = []
    for mine, theirs in _OPPOSITE:
        said, opposite = mine.search(claim), theirs.search(source)
        if said and opposite and not mine.search(source) and not theirs.search(claim):
            found.append((said[0], opposite[0]))
    return found
