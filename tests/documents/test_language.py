"""The language of a document's running text, and of nothing else."""

import pytest

from lib.documents.folder import language_of
from lib.documents.markdown import parse

TEXTS = {
    "en": "The pump is switched off by the controller when the pressure in the line falls below "
    "two bar. It can only be started again after the valve has been opened by hand.",
    "de": "Die Pumpe wird von der Steuerung abgeschaltet, wenn der Druck in der Leitung unter zwei "
    "Bar fällt. Sie kann erst wieder gestartet werden, wenn das Ventil mit der Hand "
    "geöffnet ist.",
    "fr": "La pompe est arrêtée par la commande quand la pression dans la conduite est trop "
    "basse. Elle ne peut être remise en marche que si la vanne est ouverte à la main par un "
    "technicien.",
    "ja": "配管の圧力が２バールを下回ると、ポンプはコントローラによって停止します。"
    "再起動するには、手でバルブを開ける必要があります。",
    "ru": "Насос отключается контроллером, если давление в линии падает ниже двух бар. Его можно "
    "снова запустить только после того, как клапан будет открыт вручную. Перед обслуживанием "
    "отключите питание и подождите десять минут.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_is_in_its_language(language):
    assert language_of(parse(TEXTS[language])) == language


@pytest.mark.parametrize("language", TEXTS)
def test_code_tables_links_and_tags_do_not_count(language):
    english = " ".join(TEXTS["en"].split()[:30])
    noise = (
        f"```\n{english}\n{english}\n```\n\n"
        f"| {english} | b |\n|---|---|\n| {english} | 2 |\n\n<div>{english}</div>\n\n"
        "[x](https://example.org/the-and-of) `if it is not in the`\n"
    )
    assert language_of(parse(f"{TEXTS[language]}\n\n{noise}")) == language


def test_most_of_the_text_decides():
    assert language_of(parse(f"{TEXTS['ja']}\n\nPump R-9 and Valve\n\n{TEXTS['ja']}")) == "ja"
    assert language_of(parse(f"# 仕様\n\n{TEXTS['en']}\n\n- 圧力\n\n{TEXTS['en']}")) == "en"


def test_too_few_words_have_no_language_and_strange_ones_an_unknown_one():
    table = "| Flow | 5 l/min |\n|---|---|\n| Mass | 2 kg |\n"
    assert language_of(parse(f"# Orsa R-9\n\n{table}")) == ""
    assert language_of(parse("kuva lepo satu mira tano welu poka rima " * 6)) == "und"
