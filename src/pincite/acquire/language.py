"""Name the language of a text: by its script first, then by its most frequent small words.

Own code because it is needed for two plain things, choosing a stemmer and filtering, and both live with "unknown".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict

_SAMPLES, _SAMPLE_LENGTH = 8, 2_000  # slices, code points: long texts are sampled evenly from end to end
_DENSE_WEIGHT = 3  # a Han character or Hangul syllable says as much as about three letters

# First code point of each range, in ascending order; what lies between ranges counts for no script.
_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x0041, 0x005A, "Latin"),
    (0x0061, 0x007A, "Latin"),
    (0x00C0, 0x024F, "Latin"),
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0531, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0980, 0x09FF, "Bengali"),
    (0x0A00, 0x0A7F, "Gurmukhi"),
    (0x0A80, 0x0AFF, "Gujarati"),
    (0x0B00, 0x0B7F, "Odia"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x0C00, 0x0C7F, "Telugu"),
    (0x0C80, 0x0CFF, "Kannada"),
    (0x0D00, 0x0D7F, "Malayalam"),
    (0x0D80, 0x0DFF, "Sinhala"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x1000, 0x109F, "Myanmar"),
    (0x10A0, 0x10FF, "Georgian"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1200, 0x137F, "Ethiopic"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1E00, 0x1EFF, "Latin"),
    (0x1F00, 0x1FFF, "Greek"),
    (0x3041, 0x30FF, "Kana"),
    (0x3130, 0x318F, "Hangul"),
    (0x31F0, 0x31FF, "Kana"),
    (0x3400, 0x9FFF, "Han"),
    (0xAC00, 0xD7AF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFB50, 0xFDFF, "Arabic"),
    (0xFE70, 0xFEFC, "Arabic"),
    (0xFF66, 0xFF9F, "Kana"),
    (0x20000, 0x323AF, "Han"),
)
_STARTS = [start for start, _, _ in _RANGES]

_BY_SCRIPT = {
    "Greek": "el",
    "Armenian": "hy",
    "Hebrew": "he",
    "Bengali": "bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Odia": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Myanmar": "my",
    "Georgian": "ka",
    "Ethiopic": "am",
    "Khmer": "km",
    "Hangul": "ko",
}

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
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu "
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
_MIN_LEAD = 1.15  # over the runner-up


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


def _scripts(sample: str) -> Counter[str]:
    """Weigh the letters of each script."""
    weights: Counter[str] = Counter()
    for character, count in Counter(sample).items():
        code = ord(character)
        place = bisect_right(_STARTS, code) - 1
        if place < 0 or code > _RANGES[place][1]:
            continue
        script = _RANGES[place][2]
        if script == "Latin" and not character.isalpha():
            continue
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
    lowered = sample.replace("İ", "i").lower()
    for word, count in Counter(_WORD.findall(lowered)).items():
        voters = _VOTERS.get(word, ())
        worth = count * (_LETTER_WORTH if len(word) == 1 else 1)
        for language in voters:
            votes[language] += worth / len(voters)
        for letter in set(word):
            if letter in _LETTER_VOTES:
                votes[_LETTER_VOTES[letter]] += count * 0.5
    ranked = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    if not ranked or ranked[0][1] < _MIN_SCORE:
        return ""
    if len(ranked) > 1 and ranked[0][1] < _MIN_LEAD * ranked[1][1]:
        return ""
    return ranked[0][0]
