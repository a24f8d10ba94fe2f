"""Text becomes a program, or an error that says where and what was expected."""

import pytest

from models.rules.parse import parse
from models.rules.syntax import Constant, Position, RuleError, Transformation, Variable

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


def test_the_options_of_a_rule_are_combination_transformation_and_aggregation() -> None:
    weights, attention, mlp = (rule.options for rule in parse(ATTENTION).rules)
    assert (weights.combination, weights.aggregation) == ("product", "softmax")
    assert [variable.name for variable in weights.softmax_over] == ["J"]
    assert (attention.combination, attention.aggregation) == ("product", "sum")
    assert (mlp.combination, mlp.transformation.name, mlp.aggregation) == ("sum", "relu", "avg")


@pytest.mark.parametrize(
    ("text", "combination", "transformation", "aggregation"),
    [
        ("sum", "sum", "identity", "sum"),
        ("sum, avg", "sum", "identity", "avg"),
        ("concat", "sum", "identity", "concat"),
        ("concat, max", "concat", "identity", "max"),
        ("elproduct, tanh", "elproduct", "tanh", "avg"),
        ("softmax(), sum", "sum", "softmax", "sum"),
    ],
)
def test_a_word_of_two_meanings_is_a_combination_only_before_an_aggregation(
    text: str, combination: str, transformation: str, aggregation: str
) -> None:
    options = parse(f"a(I) <= b(I) | {text}").rules[0].options
    assert (options.combination, options.transformation.name) == (combination, transformation)
    assert options.aggregation == aggregation


def test_terms_are_variables_numbers_names_and_quoted_texts() -> None:
    (literal,) = parse('a(X) <= b(X, -3, paris, "New York", "I")').rules[0].body
    assert isinstance(literal.terms[0], Variable)
    values = [term.value for term in literal.terms[1:] if isinstance(term, Constant)]
    assert values == [-3, "paris", "New York", "I"]
    assert str(literal) == 'b(X, -3, paris, "New York", "I")'


def test_an_underscore_hides_a_relation_and_a_number_is_a_constant_weight() -> None:
    near, literal = parse("a(I) <= _near(I), b(I)[-0.5]").rules[0].body
    assert near.is_hidden
    assert literal.weight == -0.5


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_text_without_rules_is_an_empty_program(text: str) -> None:
    assert parse(text).rules == ()


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
