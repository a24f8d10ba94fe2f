"""Text becomes a rule, or an error that says where and what was expected; a rule comes to every binding of its body."""

import pytest

from models.rules.check import check
from models.rules.facts import Facts
from models.rules.ground import ground
from models.rules.parse import parse
from models.rules.syntax import Constant, Position, RuleError, Variable

ARITIES = {"e": 2, "s": 2}
FACTS = Facts({"e": [(0, 1), (1, 2), (2, 2)], "s": [(0, "red"), (1, "Kim")]}, ARITIES)


def solve(body: str, names: str) -> list[list[int]]:
    """Return the values of variables for each binding of a body."""
    rule = parse(f"h({','.join(names)}) <= {body}")
    check(rule, ARITIES)
    columns = ground(rule, FACTS).columns
    return sorted(map(list, zip(*(columns[name].tolist() for name in names), strict=True)))


@pytest.mark.parametrize(
    ("body", "names", "expected"),
    [
        ("e(I,J)", "IJ", [[0, 1], [1, 2], [2, 2]]),
        ("e(I,K), e(K,J)", "IJ", [[0, 2], [1, 2], [2, 2]]),
        ("e(I,I)", "I", [[2]]),
        ("e(I,2), neq(I,2)", "I", [[1]]),
        ("e(I,J), s(I,red)", "J", [[1]]),
        ('e(I,J), s(I,C), neq(C,"red")', "J", [[2]]),
        ('e(I,J), s(I,"unheard of")', "J", []),
        ("lt(I,J), e(I,J)", "IJ", [[0, 1], [1, 2]]),
        ("e(I,J), sub(J,I,D)", "D", [[0], [1], [1]]),
        ("e(I,J), next(N,J), mod(J,2,0)", "IN", [[1, 1], [2, 1]]),
        ("e(I,J), in(I,0,2)", "I", [[0], [2]]),
        ("e(I,J), alldiff(I,J)", "I", [[0], [1]]),
        ("e(I,J), maxcard(1,I,J)", "I", [[2]]),
        ("e(I,J), true", "I", [[0], [1], [2]]),
        ("e(I,J), false", "I", []),
    ],
)
def test_a_body_comes_to_every_binding(body: str, names: str, expected: list[list[int]]) -> None:
    assert solve(body, names) == expected


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("eg(I,J)", 11, "unknown relation eg: .*; there are e, s"),
        ("hidden.e(I,J,J)", 11, "e takes 2 terms, not 3"),
        ("leq(I)", 11, "leq takes 2 terms, not 1"),
        ("in(I)", 11, "in takes 2 terms or more, not 1"),
        ("e(I,J), leq(J,K)", 25, r"unbound variable K in leq\(J, K\)"),
        ("e(I,I)", 5, r"unbound variable J in h\(I, J\)"),
        ("e(I,J), leq(I,paris)", 25, "leq compares numbers, and paris is none"),
        ("e(I,J), s(I,C), lt(C,J)", 27, r"lt\(C, J\) compares numbers, and one of its terms is a symbol"),
        ("e(I,J), mod(I,0,J)", 25, "the divisor of mod has to be a positive whole number, not 0"),
        ("e(I,J), mod(I,J,0)", 25, "the divisor of mod has to be a positive whole number, not J"),
    ],
)
def test_an_error_names_the_place(body: str, column: int, message: str) -> None:
    with pytest.raises(RuleError, match=f"^line 1, column {column}: {message}"):
        solve(body, "IJ")


def test_terms_are_variables_numbers_names_and_quoted_texts() -> None:
    rule = parse('a(X) <= hidden.b(X, -3, paris, "New York", "I")')
    (literal,) = rule.body
    assert isinstance(literal.terms[0], Variable)
    values = [term.value for term in literal.terms[1:] if isinstance(term, Constant)]
    assert values == [-3, "paris", "New York", "I"]
    assert str(literal) == 'b(X, -3, paris, "New York", "I")'
    assert (rule.head.at, literal.at) == (Position(1, 1), Position(1, 9))


def test_what_rules_of_attention_say_of_values_is_left_out() -> None:
    attention = """
    # Attention of the article.
    w(I,J)[W2] <= dk, k(J)[Wk].T, q(I)[-0.5], hidden.e(I,J)  | product, relu, softmax[J]   # e only constrains
    w/2 | slice(0, 4)
    """
    assert parse(attention) == parse("w(I,J) <= dk, k(J), q(I), e(I,J)")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a(I) <= b(I),\n", 1, 14, "the end of the line is unexpected; expected a name that"),
        ("a(I <= b", 1, 5, r"'<=' is unexpected; expected \) or ,"),
        ("a(I) <= ", 1, 6, "expected a name that begins with a small letter or hidden."),
        ("a(I) <= b(I)) ", 1, 13, r"'\)' is unexpected"),
        ("a(I) <= $", 1, 9, r"'\$' is unexpected; expected a name"),
        ("A(I) <= b(I)", 1, 1, "'A' is unexpected; expected a name that begins with a small letter"),
        ("# nothing", 1, 1, "write one rule, not 0"),
        ("a(I) <= b(I)\na(I) <= b(I)", 2, 1, "write one rule, not 2"),
        ('a(I) <= __import__("os").system("true")', 1, 25, "unexpected"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(RuleError, match=message) as info:
        parse(text)
    assert str(info.value).startswith(f"line {line}, column {column}: ")
