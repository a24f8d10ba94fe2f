"""Links of the project lead somewhere, and a link that does not is found."""

from tests.shape.links import anchors, find_broken_links, list_pages


def test_every_link_of_the_project_leads_to_a_file_and_a_heading_that_exist():
    assert list(find_broken_links(list_pages())) == []


def test_a_link_to_a_file_or_a_heading_that_is_not_there_is_found(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.md").write_text(
        "# Two words: here\n\n[up](#two-words-here) [away](https://host/x) `[code](x)`\n"
    )
    (tmp_path / "a" / "c.md").write_text(
        "[b](../b.md#two-words-here) [folder](../a) [b](../b.md#three) [x](x.md)\n"
    )
    assert list(find_broken_links(["a/c.md", "b.md"], tmp_path)) == [
        "a/c.md: ../b.md has no heading for #three",
        "a/c.md: the link to x.md leads nowhere",
    ]


def test_an_anchor_is_the_heading_in_small_letters_with_dashes():
    assert anchors("## 429: a full queue\n\ntext\n### Disk full\n") == {"429-a-full-queue", "disk-full"}
