"""A page is read as a browser shows it, in the encoding that its label means to a browser."""

import pytest

from service.extraction.html import decode, read_html

PAGE = """<!doctype html><html><head><title> The  mill </title><style>p { color: red }</style></head>
<body><script>alert("no")</script><h1>The mill</h1><p>Built in <b>1820</b> by Ada&nbsp;Byrne.</p>
<table><tr><td>Wheels</td><td>two</td></tr><tr><td>Height</td><td>12 m</td></tr></table></body></html>"""


def test_a_page_is_read_as_it_is_shown() -> None:
    page = read_html(PAGE.encode())
    assert page.title == "The mill"
    assert "Built in 1820 by Ada Byrne." in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert [line.split() for line in page.text.splitlines()][-2:] == [
        ["Wheels", "two"],
        ["Height", "12", "m"],
    ]
    assert "alert" not in page.text
    assert "color" not in page.text


# Label in the page, Python's name of what the encoding standard means by it, words, and a byte that begins no character
ENCODINGS = [
    ("gb2312", "gbk", "老板是朱镕基。", b"\xff"),
    ("gbk", "gb18030", "老板是朱镕基。", b"\xff"),
    ("gb18030", "gb18030", "朱镕基与㐀", b"\xff"),
    ("big5", "big5hkscs", "館長是林秀珍。", b"\xff"),
    ("shift_jis", "cp932", "館長は髙橋①です。", b"\xff"),
    ("euc-jp", "euc_jp", "館長は山田です。", b"\xff"),
    ("euc-kr", "cp949", "관장은 김똠입니다.", b"\xff"),
    ("iso-8859-1", "cp1252", "“Zoë” costs 5 €", b"\x81"),
    ("windows-1253", "cp1253", "Ο διευθυντής", b"\xaa"),
    ("utf-8", "utf-8", "Zoë Škoda, 館長", b"\xff"),
]


@pytest.mark.parametrize(("label", "codec", "words", "bad"), ENCODINGS)
def test_a_page_is_whole_with_a_byte_that_its_encoding_does_not_have(
    label: str, codec: str, words: str, bad: bytes
) -> None:
    head = f'<html><head><meta charset="{label}"></head><body><p>'.encode()
    page = head + words.encode(codec) + b"</p><p>" + bad + b"</p><p>" + words.encode(codec) + b"</p>"
    text = read_html(page).text
    assert text.split("\n\n") == [words, "\N{REPLACEMENT CHARACTER}", words]


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        (b"caf\xe9", "", "café"),
        ("café".encode(), "", "café"),
        ('<meta charset="latin1">café'.encode(), "", '<meta charset="latin1">café'),  # a declaration by habit
        (b'<meta charset="gbk">\xc1\xaa\xcd\xa8', "", '<meta charset="gbk">联通'),  # valid UTF-8 by chance
        (b'<meta charset="utf-16">\xc3\xa9', "", '<meta charset="utf-16">é'),
        (b'<?xml version="1.0" encoding="koi8-r"?>\xc1', "", '<?xml version="1.0" encoding="koi8-r"?>а'),
        (
            b'<meta http-equiv=Content-Type content="text/html; charset=windows-1251">\xe0',
            "",
            '<meta http-equiv=Content-Type content="text/html; charset=windows-1251">а',
        ),
        (b'<meta charset="utf-8">\xe0', "windows-1251", '<meta charset="utf-8">а'),
        ("\ufeffé".encode("utf-16-le"), "windows-1251", "é"),
        ("é".encode("utf-16-le"), "utf-16", "é"),
        (b"\xe9", "no-such-encoding", "é"),
        (b'<!--><meta charset="koi8-r">\xc1', "", '<!--><meta charset="koi8-r">а'),
        (b'<!-- <meta charset="koi8-r"> -->\xe9', "", '<!-- <meta charset="koi8-r"> -->é'),
    ],
)
def test_the_first_that_names_an_encoding_counts(data: bytes, charset: str, text: str) -> None:
    assert decode(data, charset) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A ticket costs <del>5</del> <ins>7</ins> euro.", "A ticket costs 7 euro."),
        ("The director is <s>Olga Maas</s> <strike>Ida</strike> Piet Lont.", "The director is Piet Lont."),
        ("At <span style='text-decoration: line-through'>6</span> 7.", "At 7."),
        ("<p hidden>at 6<p style='display: none'>at 3<p>at 9", "at 9"),
        ("at 9<template><p>at 6</template><noscript>at 3</noscript><dialog>at 1</dialog>", "at 9"),
        ("<dialog open>Shut today.</dialog>", "Shut today."),
        ("<dl><dt>Wheels<dd>two<dt>Height<dd>12 m</dl>", "Wheels\ntwo\nHeight\n12 m"),
        ("<select><option>Monday<option selected>Tuesday</select>", "Monday\nTuesday"),
        (
            "<details><summary>Where it is</summary>In Canal Street.</details>",
            "Where it is\nIn Canal Street.",
        ),
        ("<section>One.</section><section>Two.</section>", "One.\nTwo."),
        ("<label>Height</label><label>Width</label>", "Height\nWidth"),
        ("Built in 1911<sup>2</sup> with 14<sup>1</sup> workers", "Built in 1911² with 14¹ workers"),
        ("Burnt in 1932<sup class=reference><a href='#n3'>[3]</a></sup>.", "Burnt in 1932."),
        ("Burnt in 1932<a role=doc-noteref href='notes.html#3'>3</a>.", "Burnt in 1932."),
        ("120 m<sup>2</sup>, 10<sup>-3</sup>, H<sub>2</sub>O, 19<sup>th</sup>", "120 m², 10⁻³, H₂O, 19th"),
        ("1911<sup><b>2</b></sup>, 1912<sup><!-- n -->2</sup>, CO<sub><b>2</b></sub>", "1911², 1912², CO₂"),
        ("1911<sup><a name=r2>2</a></sup>, 1912<sup>1,2</sup>, 14<sup>1–3</sup>", "1911², 1912¹,², 14¹–³"),
        ("10<sup>−3</sup>, 1911<sup>2a</sup>, 1912<sup><i>٢</i></sup>", "10⁻³, 1911 2a, 1912 ٢"),
        (
            "1911<a class=footnote-reference href=#n>2</a>, 1912<a epub:type=noteref href=n>2</a>",
            "1911, 1912",
        ),
        ("1911<span style='vertical-align: super'>2</span>", "1911²"),
        ("<p>A</p></body></html>tail <p>after</p></BODY ><p>last", "A\n\ntail\n\nafter\n\nlast"),
        ("Donau&shy;dampf&shy;schiff, 10&nbsp;000, of&#xfb01;ce", "Donaudampfschiff, 10 000, office"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        ("<p>45 m<sup>²</sup>, CO<sub>2e</sub>, PM<sub>2.5</sub></p>", "45 m², CO2e, PM2.5"),
        ("<div style='vertical-align: super'><p>1990</p><p>12</p></div>", "1990\n\n12"),
        ("<p>a</p><!-- old </body --><p>b</p>", "a\n\nb"),
    ],
)
def test_text_is_what_a_page_shows(source: str, text: str) -> None:
    assert read_html(f"<!doctype html><meta charset=utf-8><body>{source}".encode()).text == text
