"""Languages are named by script and small words; the same text gives the same name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.language import detect_language

SENTENCES = {
    "en": "The passages that were found are shown with the place they come from.",
    "de": "Die gefundenen Abschnitte werden mit der Stelle gezeigt, aus der sie stammen.",
    "fr": "Les passages trouvés sont montrés avec le lieu dont ils viennent.",
    "es": "Los pasajes encontrados se muestran con el lugar del que proceden.",
    "it": "I passaggi trovati sono mostrati con il luogo da cui provengono.",
    "pt": "As passagens encontradas não são mostradas com o lugar de que vêm.",
    "nl": "De gevonden passages worden getoond met de plaats waar ze vandaan komen.",
    "sv": "De funna avsnitten visas med platsen som de kommer från och inte annars.",
    "fi": "Löydetyt kohdat näytetään ja niin myös paikka, josta ne ovat.",
    "hu": "A megtalált részek és az a hely, ahonnan valók, nem vesznek el.",
    "tr": "Bulunan bölümler geldikleri yer ile birlikte gösterilir ve hiçbiri gizli değildir.",
    "pl": "Znalezione fragmenty są pokazane wraz z miejscem, z którego nie da się ich usunąć.",
    "ru": "Найденные отрывки показаны вместе с местом, откуда они взяты.",
    "uk": "Знайдені уривки показано разом із місцем, звідки їх узято.",
    "bg": "Намерените откъси се показват заедно с мястото, от което са взети, и със своя ъгъл.",
    "el": "Τα αποσπάσματα που βρέθηκαν εμφανίζονται με τη θέση τους.",
    "he": "הקטעים שנמצאו מוצגים עם המקום שממנו הם באים.",
    "ar": "تظهر المقاطع التي عثر عليها مع المكان الذي جاءت منه.",
    "fa": "بخش‌های پیدا شده با جایی که از آن آمده‌اند نشان داده می‌شوند که چنین است.",
    "hi": "मिले हुए अंश उस जगह के साथ दिखाए जाते हैं जहाँ से वे आए हैं।",
    "th": "ข้อความที่พบจะแสดงพร้อมกับตำแหน่งที่มา",
    "ko": "찾은 구절은 그것이 온 자리와 함께 표시됩니다.",
    "ja": "見つかった段落は、その出典の場所とともに表示されます。",
    "zh": "找到的段落会连同其出处一起显示。",
    "ta": "கண்டுபிடிக்கப்பட்ட பகுதிகள் காட்டப்படுகின்றன.",
}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_names_a_sentence(language, text):
    assert detect_language(text) == language


@pytest.mark.parametrize(
    "text", ["", "   \n", "12345 67.8", "?!…", "\x00", "\ud800", "🎉🎉", "x = y + z", "Kubernetes"]
)
def test_says_nothing_about_too_little(text):
    assert detect_language(text) == ""


def test_takes_the_larger_part_of_a_mixture():
    assert detect_language("print('x')  # " + SENTENCES["zh"] * 4) == "zh"
    assert detect_language(SENTENCES["en"] * 4 + SENTENCES["zh"]) == "en"


def test_samples_a_long_text_from_end_to_end():
    text = "0" * 200_000 + SENTENCES["de"] * 20_000
    assert detect_language(text) == "de"


@given(st.text())
def test_never_raises_and_repeats_itself(text):
    assert detect_language(text) == detect_language(text)
