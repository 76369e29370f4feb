"""Name the language of a text: by its script first, then by its most frequent small words.

Own code because it is needed for two plain things, choosing a stemmer and filtering, and both live with "unknown".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict

_SAMPLES, _SAMPLE_LENGTH = 8, 2_000  # slices, code points: long texts are sampled evenly from end to end
_DENSE_WEIGHT = 3  # a Han character or Hangul syllable says as much as about three letters

# Code points in ascending order; what lies between ranges counts for no script.
_RANGES = (
    "0041-005A:Latin 0061-007A:Latin 00C0-00D6:Latin 00D8-00F6:Latin 00F8-024F:Latin 0370-03FF:Greek "
    "0400-052F:Cyrillic 0531-058F:Armenian 0590-05FF:Hebrew 0600-06FF:Arabic 0750-077F:Arabic "
    "0900-097F:Devanagari 0980-09FF:Bengali 0A00-0A7F:Gurmukhi "
    "0A80-0AFF:Gujarati 0B00-0B7F:Odia 0B80-0BFF:Tamil 0C00-0C7F:Telugu 0C80-0CFF:Kannada 0D00-0D7F:Malayalam "
    "0D80-0DFF:Sinhala 0E00-0E7F:Thai 0E80-0EFF:Lao 1000-109F:Myanmar 10A0-10FF:Georgian 1100-11FF:Hangul "
    "1200-137F:Ethiopic 1780-17FF:Khmer 1E00-1EFF:Latin 1F00-1FFF:Greek 3041-30FF:Kana 3130-318F:Hangul "
    "31F0-31FF:Kana 3400-9FFF:Han AC00-D7AF:Hangul F900-FAFF:Han FB50-FDFF:Arabic FE70-FEFC:Arabic FF66-FF9F:Kana "
    "20000-323AF:Han"
)
_SCRIPTS = [(int(row[0], 16), int(row[1], 16), row[2]) for row in (re.split("[-:]", row) for row in _RANGES.split())]
_STARTS = [start for start, _, _ in _SCRIPTS]
_ONE_LANGUAGE = (
    "Greek:el Armenian:hy Bengali:bn Gurmukhi:pa Gujarati:gu Odia:or Tamil:ta Telugu:te Kannada:kn Malayalam:ml "
    "Sinhala:si Thai:th Lao:lo Myanmar:my Georgian:ka Ethiopic:am Khmer:km Hangul:ko"
)
_BY_SCRIPT = dict(row.split(":") for row in _ONE_LANGUAGE.split())

# Letters that only one language of a script uses; the first that occurs often enough decides.
_LETTERS: dict[str, tuple[tuple[str, str], ...]] = {
    "Cyrillic": (
        ("uk", "іїєґ"),
        ("be", "ў"),
        ("mk", "ѓќѕ"),
        ("sr", "ђћљњџј"),
        ("kk", "әғқңөұүһ"),
        ("ru", "ыэё"),
        ("bg", "ъ"),
    ),
    "Arabic": (("ur", "ٹڈڑںے"), ("fa", "پچژگکی")),
    "Hebrew": (("yi", "װױײ"),),
}
_LETTER_DEFAULTS = {"Cyrillic": "ru", "Arabic": "ar", "Hebrew": "he"}
_LETTER_SHARE = 0.005  # of the letters of that script

_WORDS: dict[str, str] = {
    "en": "the of and to in is that for it was on are as with be by this which or from at an have not were has its "
    "but they you can been what how who when where why does do did we i my if will would there their than "
    "many into between return import class self true false none null else string print",
    "de": "der die das und ist in den von zu mit sich des auf für im dem nicht ein eine als auch es an werden aus er "
    "hat dass sie nach wird bei einer um am sind noch wie einem über so zum haben nur oder aber vor zur bis mehr durch "
    "was wer wo wann warum welche welcher welches welchem welchen ich wir war wurde wurden waren viele viel hatte "
    "ihre seine diese dieser dieses zwischen unter wenn kann können",
    "fr": "de la le et les des en un une du que est pour qui dans par au il sur ne se pas plus ce avec sont aux son "
    "cette ou sa mais comme été nous vous elle ses être ces leur où quand pourquoi quel quelle qu je",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin "
    "sobre este ya entre cuando todo esta ser son dos también fue había era muy qué cuál dónde quién cómo está el",
    "it": "di e il la che in un a è per una sono con non si da del le dei nel al come più ma ha della anche alla i gli "
    "lo delle degli dalla nella su questo questa essere ed o se perché quando dove chi cosa quale",
    "pt": "de a o que e do da em um para é com não uma no se na por mais as dos como mas foi ao ele das tem à seu "
    "sua ou ser quando muito há nos já está eu também só pelo pela até isso são onde quem qual",
    "nl": "de van het een en in is dat op te zijn met die voor niet aan er om ook als bij maar door over uit tot naar "
    "hij worden werd wordt heeft hebben ze dan nog wel geen of deze kan wat wie waar waarom hoe ik je",
    "sv": "och att det i en som på är av för med den till inte om ett han men var jag de så från vi kan man när nu "
    "hon eller sig har hade vad hur varför vem efter också",
    "da": "og at det i en er som på af for med den til ikke der de et om han men var jeg fra vi kan da hun "
    "eller sig har havde hvad hvor hvorfor hvem efter også blev",
    "no": "og at det i en er som på av for med den til ikke de et om han men var jeg fra vi kan når hun "
    "eller seg har hadde hva hvor hvorfor hvem etter også ble fra",
    "fi": "ja on ei että se hän oli mutta kun niin kuin ovat myös joka tai jos mitä tämä sen olla vain sitä ole ollut "
    "hänen mikä missä miksi kuka voi ovat",
    "hu": "a az és hogy nem is egy van volt ez de meg csak mint már ha vagy el még azt ki mi fel le között után minden "
    "pedig mert hol miért kell",
    "ro": "și de a în la cu pe care nu că o un din este pentru sunt mai ce se sau fost prin către dar ca au al lui "
    "cum unde când cine acest această",
    "tr": "ve bir bu da de için ile olarak çok daha olan gibi en kadar ne o ama değil var sonra ise her hangi nasıl "
    "nedir neden kim mi mı olduğu tarafından",
    "pl": "w i na z się do nie jest to że o a jak po od za przez co dla są ale był jego tym oraz ich może tylko ze "
    "który która które gdzie kto dlaczego kiedy czy",
    "cs": "a v se na je že s z do o i to jako za by k ve pro jsou ale po od jeho který která které byl nebo při jsem "
    "bylo také kde kdo proč když co",
    "ca": "de la i el que a en les un per amb del una els és al no es com més va o són seva però aquest aquesta "
    "també ha per què quan on qui",
    "eu": "eta da ez bat du hau zen dira ere egin baina izan dute bere dago zuen edo den zer non nor nola",
    "et": "ja on ei et see oli ta kui ka mis aga oma või nii siis kes mida kus selle olid",
    "ga": "an agus na ar is i a go le ag bhí tá do sé ní sin ach mar cad cá bhfuil air",
    "id": "yang dan di dari ini untuk dengan pada itu dalam tidak adalah ke akan juga oleh sebagai ada atau apa telah "
    "lebih dapat bagaimana mengapa siapa",
    "lt": "ir yra kad į iš su tai bet buvo kaip apie ar po už jo ne nuo prie kas kur kodėl",
    "eo": "la kaj de en estas al ne ke por kun mi li ĝi estis sed kiel pri oni ili kiu kio kie",
    "vi": "và của là có được cho không trong một người các với này để những đã khi từ về nào gì như",
}
_VOTERS: dict[str, tuple[str, ...]] = {}
for _language, _words in _WORDS.items():
    for _word in set(_words.split()):
        _VOTERS[_word] = (*_VOTERS.get(_word, ()), _language)

_LATIN_LETTERS = (
    ("de", "ß"), ("es", "ñ¿¡"), ("pt", "ãõ"), ("tr", "ğış"), ("hu", "őű"), ("pl", "łąęśźż"), ("cs", "ěřů"),
    ("ro", "țșă"), ("vi", "ơưđạảấầẩậắằặẹẻếềểệịỏốồổộớờởợụủứừửựỳỷỹ"), ("eo", "ĉĝĥĵŝŭ"), ("lt", "ėįųū"),
)  # fmt: skip
_LETTER_VOTES = {letter: language for language, letters in _LATIN_LETTERS for letter in letters}

_DEVANAGARI = {
    "hi": {"है", "के", "में", "की", "का", "और", "से"},
    "mr": {"आहे", "आणि", "च्या", "ते"},
    "ne": {"छ", "छन्", "हरू", "गर्न", "थियो"},
}
_WORD = re.compile(r"[^\W\d_]+")
_MIN_SCORE = 0.9  # votes: one word that no other language here has, or several shared ones
_LETTER_WORTH = 0.3  # of a word of one letter: in code and formulas it is a name
_MIN_SHARE = 0.08  # of all words must vote for it: in prose a third does, in a list of names a chance hit
_VOICES, _WORDS_PER_VOICE = 3, 8  # distinct words that must vote for it in a longer text
_MIN_LEAD = 1.5  # over the runner-up


def detect_language(text: str) -> str:
    """Name the main language of a text.

    Args:
        text: any length; long texts are sampled evenly.

    Returns:
        ISO 639-1, or "" when the text says too little. The same text always gives the same answer.
    """
    sample = _sample(text)
    scripts = _scripts(sample)
    if not scripts:
        return ""
    script = max(sorted(scripts), key=lambda name: scripts[name])
    if script == "Latin":
        return _latin(sample)
    if script in ("Han", "Kana"):
        return "ja" if scripts["Kana"] * 10 >= scripts["Han"] / _DENSE_WEIGHT else "zh"
    if script in _LETTERS:
        return _by_letters(sample.casefold(), script, scripts[script])
    if script == "Devanagari":
        return _devanagari(sample)
    return _BY_SCRIPT[script]


def _sample(text: str) -> str:
    """Take the text itself, or evenly spaced slices of a long one."""
    if len(text) <= _SAMPLES * _SAMPLE_LENGTH:
        return text
    step = (len(text) - _SAMPLE_LENGTH) // (_SAMPLES - 1)
    return " ".join(text[i * step : i * step + _SAMPLE_LENGTH] for i in range(_SAMPLES))


def script_of(character: str) -> str:
    """Name the script of a letter, "" if it is none of a script known here."""
    start, end, script = _SCRIPTS[max(bisect_right(_STARTS, ord(character)) - 1, 0)]
    return script if start <= ord(character) <= end else ""


def _scripts(sample: str) -> Counter[str]:
    """Weigh the letters of each script."""
    weights: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        script = script_of(character)
        if script:
            weights[script] += count * (_DENSE_WEIGHT if script in ("Han", "Hangul") else 1)
    return weights


def _by_letters(sample: str, script: str, letters: int) -> str:
    """Tell languages of one script apart by letters that the others do not use."""
    for language, own in _LETTERS[script]:
        found = sum(map(sample.count, own))
        if found > _LETTER_SHARE * letters and (found > 1 or language != "bg"):  # Russian has a rare ъ as well
            return language
    return _LETTER_DEFAULTS[script]


def _devanagari(sample: str) -> str:
    """Tell Hindi, Marathi and Nepali apart by small words; Hindi when they do not say."""
    words = Counter(sample.split())
    votes = {language: sum(words[word] for word in own) for language, own in _DEVANAGARI.items()}
    return max(_DEVANAGARI, key=lambda language: votes[language])  # the first of equals: hi


def _latin(sample: str) -> str:
    """Let small words vote, each split among the languages that have it, and letters that one language owns."""
    votes: dict[str, float] = defaultdict(float)
    voices: Counter[str] = Counter()  # distinct words: a variable named like one says nothing, however often
    words = _WORD.findall(sample.replace("İ", "i").lower())
    for word, count in Counter(words).items():
        voters = _VOTERS.get(word, ())
        worth = count * (_LETTER_WORTH if len(word) == 1 else 1)
        for language in voters:
            votes[language] += worth / len(voters)
            voices[language] += len(word) > 1
        for letter in set(word):
            if letter in _LETTER_VOTES:
                votes[_LETTER_VOTES[letter]] += count * 0.5
    ranked = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    (language, most), (_, second) = (*ranked, ("", 0.0), ("", 0.0))[:2]
    if voices[language] < min(_VOICES, len(words) // _WORDS_PER_VOICE):
        return ""
    return language if most >= max(_MIN_SCORE, _MIN_SHARE * len(words), _MIN_LEAD * second) else ""
