"""Text becomes a program, or an error that says where and what was expected."""

import pytest

from models.attention.rules.parse import parse
from models.attention.rules.syntax import Position, RuleError, Transformation

ATTENTION = """
# Attention of the article, one rule a line.
w(I,J)  <= dk, k(J)[Wk].T, q(I), hidden.e(I,J)  | product, softmax[J]   # e only constrains
att(I)  <= w(I,J), v(J)                         | product, sum

mlp(I)[W2] <= att(I)[W1] | relu
mlp/1 | norm
"""


def test_a_program_is_read_as_it_is_written() -> None:
    program = parse(ATTENTION)
    assert list(map(str, program.rules)) == [
        "w(I, J) <= dk, k(J)[Wk].T, q(I), hidden.e(I, J)",
        "att(I) <= w(I, J), v(J)",
        "mlp(I)[W2] <= att(I)[W1]",
    ]
    assert program.rules[0].at == Position(3, 1)
    assert program.rules[0].body[1].at == Position(3, 16)
    assert program.transformations == {"mlp": Transformation("norm")}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a(I) <= b(I)\na(I <= b", 2, 5, r"'<=' is unexpected; expected \) or ,"),
        ("a(I) <= ", 1, 6, "expected a name that begins with a small letter or hidden."),
        ("a(I) <= b(I)) ", 1, 13, r"'\)' is unexpected"),
        ("a(I) <= $", 1, 9, r"'\$' is unexpected; expected a name"),
        ("A(I) <= b(I)", 1, 1, "'A' is unexpected; expected a name that begins with a small letter"),
        ("a(I) <= b(I) | softmax", 1, 16, r"softmax needs its variables, as in softmax\[J\]"),
        ("a(I) <= b(I) | sum[J]", 1, 16, "only softmax takes variables"),
        ("a(I) <= b(I) | slice(3, 3)", 1, 16, r"slice needs its first row .* as in slice\(0, 4\)"),
        ("a(I) <= b(I) | tahn", 1, 16, "tahn is no option; the options are sum, product"),
        ("a(I) <= b(I) | relu, product", 1, 22, "the order is combination, transformation, aggregation"),
        ("a(I) <= b(I)\nb/1 | norm", 2, 1, "no rule has the head b with 1 terms"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(RuleError, match=message) as info:
        parse(text)
    assert (info.value.line, info.value.column) == (line, column)
    assert str(info.value).startswith(f"line {line}, column {column}: ")


def test_a_rule_is_never_run_as_python() -> None:
    with pytest.raises(RuleError, match="unexpected"):
        parse('a(I) <= __import__("os").system("true")')
