import pytest

from service.upstream.members import ENCODING, read_members, replace_value

ODD = b'\xef\xbb\xbf {\n"a" : "x\\u00e9\\"}" ,"model":"t\\u0065am/x", "b":[1.50,{"model":2}],"c":"\xff"}\r\n'


def test_only_the_value_changes() -> None:
    text = ODD.decode(*ENCODING)
    members = read_members(text)
    assert [member.name for member in members] == ["a", "model", "b", "c"]
    assert members[1].value == "team/x"
    assert replace_value(text, members[1], "é") == ODD.replace(b'"t\\u0065am/x"', b'"\\u00e9"')


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"}', '{"a":1 "b":2}', '{"a":1}x', '{"a":1,}', "[" * 9_999]
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        read_members(text)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_members('{"a":' + "[" * 100_000)
