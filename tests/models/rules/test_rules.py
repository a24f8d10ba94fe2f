"""Programs that cannot mean anything are refused when they are compiled, at the place in their text.

The masks of the models as rules: each equals the mask that its model writes by hand.
Text becomes a program, or an error that says where and what was expected.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.kbert.row import visible
from models.rules.parse import parse
from models.rules.syntax import Constant, Position, RuleError, Transformation, Variable
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import Shape, compile_mask

FACTS = Facts(
    {"e": Relation(torch.tensor([[0, 1], [1, 2]])), "s": Relation(torch.tensor([[0, (1 << 40)]]))}, ("red",)
)


@pytest.mark.parametrize(
    ("rules", "line", "column", "message"),
    [
        ("attend(I,J) <= eg(I,J)", 1, 16, "unknown relation eg: .*; there are attend, e, s"),
        ("attend(I,J) <= e(I,J,J)", 1, 16, "e takes 2 terms, not 3"),
        ("attend(I,J) <= leq(I)", 1, 16, "leq takes 2 terms, not 1"),
        ("attend(I,J) <= in(I)", 1, 16, "in takes 2 terms or more, not 1"),
        ("attend(I,J) <= true\nattend(H,I,J) <= true", 2, 1, "attend has 2 terms elsewhere and 3 here"),
        ("attend(I,J) <= leq(J,K)", 1, 22, r"unbound variable K in leq\(J, K\)"),
        ("attend(I,J) <= near(I,K), leq(K,J)\nnear(I,J) <= lt(I,J)", 2, 19, "unbound variable J"),
        ("attend(I,J) <= near(K,I)\nnear(I,J) <= e(J,K)", 2, 6, r"unbound variable I in near\(I, J\)"),
        (
            "attend(I,J) <= near(I,J)\nnear(I,J) <= attend(J,I)",
            2,
            14,
            "attend <= near <= attend; break the cycle",
        ),
        (
            "attend(I,J) <= w(I,J)\nw(I,J) <= e(I,J), w(J,I) | product, softmax[J]",
            *(2, 19, "w depends on itself through a softmax: w <= w"),
        ),
        ("attend(I,J) <= e(I,J) | softmax[K]", 1, 33, r"softmax over K, which the head attend\(I, J\) lacks"),
        ("attend(I,J) <= leq(I,paris)", 1, 22, "leq compares numbers, and paris is none"),
        ("attend(I,J) <= s(I,C), lt(C,J)", 1, 24, "compares numbers, and one of its terms is a symbol"),
        ("attend(I,J) <= mod(I,0,J)", 1, 22, "the divisor of mod has to be a positive whole number, not 0"),
        ("attend(I,J) <= mod(I,J,0)", 1, 22, "the divisor of mod has to be a positive whole number, not J"),
        ("attend(I,J) <= window(0)", 1, 23, "the number of window has to be positive, 0 is not"),
        ("attend(I,J) <= window(-2)", 1, 23, "the number of window has to be positive"),
        ("attend(I,J) <= window(J)", 1, 23, "window takes a whole number, not J"),
        ("attend(I,J) <= stride", 1, 16, "stride takes 1 terms, or 3 with query and key, not 0"),
        ("attend(I,J) <= a(I)\na(I) <= causal", 2, 9, "causal needs a head with a query and a key"),
        ("window(I,J) <= e(I,J)", 1, 1, "window is a macro; name the relation otherwise"),
        ("leq(I,J) <= e(I,J)", 1, 1, "leq is a special relation"),
        ("near(I,J) <= e(I,J)", 1, 1, "no rule has the head attend"),
        ("attend(H,I,J) <= causal", 1, 1, r"write attend\(I,J\), not attend\(H, I, J\)"),
    ],
)
def test_an_error_names_the_place(rules: str, line: int, column: int, message: str) -> None:
    with pytest.raises(RuleError, match=message) as info:
        compile_mask(rules, Shape.square(4), FACTS)
    assert (info.value.line, info.value.column) == (line, column)


def test_what_is_legal_and_probably_not_intended_is_a_warning() -> None:
    rules = "attend(I,J) <= e(I,J), s(I,K) | softmax[J]\nattend(I,J) <= e(I,J) | softmax[J]"
    assert compile_mask(rules, Shape.square(4), FACTS).warnings == (
        "attend has several softmax rules: their weights are summed, and a row may exceed 1",
        "line 1: e(I, J) has no value and adds 1; write hidden.e(I, J) if it only constrains",
        "line 1: s(I, K) has no value and adds 1; write hidden.s(I, K) if it only constrains",
    )


LENGTH = 9
LAG = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)


@pytest.mark.parametrize(
    ("macro", "expected"),
    [
        ("causal", LAG >= 0),
        ("window(2)", (LAG >= 0) & (LAG <= 2)),
        ("last(2)", (LAG >= 0) & (LAG < 2)),
        ("stride(4)", (LAG >= 0) & (LAG % 4 == 0)),
        ("window(J,I,2)", (LAG <= 0) & (LAG >= -2)),
    ],
)
@pytest.mark.parametrize("arithmetic", ["integers", "closed"])
def test_a_macro_is_its_definition(macro: str, expected: torch.Tensor, arithmetic: str) -> None:
    mask = compile_mask(f"attend(I,J) <= {macro}", Shape.square(LENGTH), arithmetic=arithmetic)  # type: ignore[arg-type]
    assert mask.allowed.equal(expected)


def test_a_window_of_n_has_one_key_more_than_the_last_n() -> None:
    window = compile_mask("attend(I,J) <= window(3)", Shape.square(LENGTH)).allowed.sum(1)
    last = compile_mask("attend(I,J) <= last(3)", Shape.square(LENGTH)).allowed.sum(1)
    assert window[-1] == 4
    assert last[-1] == 3


def test_macros_with_different_numbers_stand_side_by_side() -> None:
    mask = compile_mask("attend(I,J) <= window(1)\nattend(I,J) <= stride(3), window(6)", Shape.square(LENGTH))
    assert mask.allowed.equal((LAG >= 0) & ((LAG <= 1) | ((LAG % 3 == 0) & (LAG <= 6))))


def test_the_causal_mask_of_a_backpack_is_a_rule() -> None:
    """GPT-2's mask, by which the weights of the senses are masked too."""
    expected = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    assert compile_mask("attend(I,J) <= causal", Shape.square(LENGTH)).allowed.equal(expected)


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any), st.integers(1, 5))
def test_the_mask_of_an_ernie_doc_segment_is_a_rule(is_real: list[bool], memory: int) -> None:
    """data = [ones(M); mask], and a pair is allowed where mask_i data_j = 1."""
    real = torch.tensor(is_real)
    data = torch.cat([torch.ones(memory, dtype=torch.bool), real])
    facts = Facts({"real": Relation(real.nonzero())})
    shape = Shape(queries=len(real), keys=memory + len(real))
    mask = compile_mask(f"attend(I,J) <= segment_memory({memory})", shape, facts)
    assert mask.allowed.equal(real[:, None] & data[None])
    assert mask.empty_rows.flatten().tolist() == (~real).nonzero().flatten().tolist()


@given(st.lists(st.lists(st.integers(1, 3), max_size=3), min_size=1, max_size=5), st.integers(0, 2))
def test_the_visible_matrix_of_every_tree_is_a_rule(facts_by_word: list[list[int]], padding: int) -> None:
    """Words with facts of one to three tokens, and padding that sees itself alone, as kbert lays them out."""
    branch, anchor, count = list[int](), list[int](), 0
    for word, lengths in enumerate(facts_by_word):
        branch, anchor = [*branch, 0], [*anchor, word]
        for length in lengths:
            count += 1
            branch, anchor = branch + [count] * length, anchor + [word] * length
    branch += [count + 1 + place for place in range(padding)]
    anchor += [len(facts_by_word) + place for place in range(padding)]
    expected = visible(torch.tensor(branch), torch.tensor(anchor))
    facts = Facts(
        {
            name: Relation(torch.tensor(list(enumerate(numbers))))
            for name, numbers in (("branch", branch), ("anchor", anchor))
        }
    )
    mask = compile_mask("attend(I,J) <= branch_visible", Shape.square(len(branch)), facts)
    assert mask.allowed.equal(expected)


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
