"""Markup that was left in texts: of prompt templates, HTML and Markdown, and names of speakers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triptych.study.lint.findings import LintFinding, Severity, counted_texts, within
from triptych.study.lint.material import CandidateText, Material


@dataclass(frozen=True)
class Leftover:
    """One kind of markup in texts: how it is found (one of the needles, then the pattern), and its severity.

    markdown: the part of the pattern that is Markdown, and is not reported where Markdown is shown formatted.
    """

    what: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    severity: Severity = "warning"
    markdown: re.Pattern[str] | None = None


_TAGS = r"</?(?:p|br|div|span|b|i|u|strong|em|ul|ol|li|a|h[1-6]|table|t[drh]|img|script|style|code|pre)\b[^<>]{0,200}>"
_ENTITIES = r"&(?:amp|lt|gt|quot|nbsp|apos|#\d{1,6});"
_MARKDOWN = re.compile(r"\*\*[^*\n]{1,300}\*\*|\[[^\[\]\n]{1,200}\]\(http|^#{1,6} \S", re.MULTILINE)
LEFTOVERS = (
    Leftover(
        "signs of a prompt template, such as <|im_end|> or [/INST]",
        ("<|", "inst]", "<<sys", "<s>", "</s>", "<pad>", "<unk>", "<eos>", "<bos>", "_of_turn>", "think>", "###"),
        re.compile(
            r"<\|[\w ]+\|>|\[/?inst\]|<</?sys>>|</?s>|<(?:pad|unk|eos|bos|start_of_turn|end_of_turn)>|</?think>"
            r"|^#{3} ?(?:response|instruction|input|assistant|user)\b",
            re.MULTILINE,
        ),
        "grave",
    ),
    Leftover(
        "HTML, such as <br> or &amp;",
        ("<", "&"),
        re.compile(rf"{_TAGS}|{_ENTITIES}"),
        markdown=re.compile(_ENTITIES),
    ),
    Leftover(
        "Markdown, such as **bold** or # headings",
        ("**", "](http", "# "),
        _MARKDOWN,
        markdown=_MARKDOWN,
    ),
    Leftover(
        "the name of a speaker at the start of a line, such as User:",
        ("user:", "human:", "assistant:", "ai:", "bot:", "system:", "response:"),
        re.compile(r"^\W{0,4}(?:user|human|assistant|ai|bot|system|response):", re.MULTILINE),
    ),
)
_BLOCK = re.compile("```")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,300}`", re.DOTALL)


def leftovers(m: Material) -> Iterator[LintFinding]:
    for leftover in LEFTOVERS:
        marked = m.having(leftover.needles, leftover.pattern)
        if m.formatted:  # code may contain any signs
            marked = [s for s in marked if leftover.pattern.search(_without_markdown(leftover, s.folded))]
        yield from _marked(m, leftover.what, marked, leftover.severity, leftover.pattern)
    unclosed = [s for s in m.texts if "```" in s.text and s.text.count("```") % 2]
    yield from _marked(m, "a block of code (```) that is not closed", unclosed, "warning", _BLOCK)


def _without_markdown(leftover: Leftover, text: str) -> str:
    prose = _CODE.sub("", text)
    return leftover.markdown.sub("", prose) if leftover.markdown else prose


def _marked(
    m: Material, what: str, marked: Sequence[CandidateText], severity: Severity, pattern: re.Pattern[str]
) -> Iterator[LintFinding]:
    shown = "Markdown is shown formatted, but not this" if m.formatted else "Texts are shown literally"
    remedy = "Show the texts as Markdown, or clean" if pattern is _MARKDOWN and not m.formatted else "Clean"
    advice = f"{shown}, so annotators see this markup. {remedy} the file and upload it again."
    yield from within(marked, pattern, severity, f"{counted_texts(m, marked)} with {what}.", advice)
