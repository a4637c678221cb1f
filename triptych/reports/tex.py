"""Tables and text as LaTeX that needs the package booktabs and nothing else, whatever people wrote.

All ten characters that mean something to TeX are escaped. Letters that pdfLaTeX does not know are written as
\\triptychchar{code}: XeLaTeX and LuaLaTeX print them, pdfLaTeX prints the code, and no engine stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from triptych.reports.cells import Cell, Table

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "^": r"\textasciicircum{}",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "%": r"\%",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "[": "{[}",  # after the end of a row TeX would take it, and a *, for an order
        "]": "{]}",
        "*": "{*}",
        "–": "--",
        "—": "---",
        "“": "``",
        "”": "''",
        "‘": "`",
        "’": "'",
        "…": r"\dots{}",
        "×": r"\(\times\)",
        "−": "--",
        "\u00a0": " ",
        "\u00ad": "",
    }
)
# what pdfLaTeX sets in its default encoding and in T1
KNOWN = "¡¢£¤¥§©ª®¯°±²³´µ¶·¸¹º¼½¾¿À-ÏÑ-Ýßà-ïñ-ýÿĀ-ăĆ-ďĒ-ėĚ-ĥĨ-ĭİıĹ-ľŁ-ňŌ-ťŨ-űŴ-žȘ-ț€"
UNKNOWN = re.compile(rf"[^\x20-\x7e{KNOWN}]")
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
LIGATURE = re.compile(r"--+|[?!]`|``|''|<<|>>|,,")
CHARACTER = r"""% A letter that this engine may not know: XeLaTeX and LuaLaTeX print it, pdfLaTeX prints its code.
\providecommand{\triptychchar}[1]{\ifdefined\Umathchar\char"#1 \else[U+#1]\fi}
"""
PROSE = 0.4  # of the line, for a column of sentences beside others
WIDE = 6  # columns; a wider table is set smaller
HEAD = """% {about}
% Needs \\usepackage{{booktabs}}. Written as it is: \\input{{{name}}}
"""


def escaped(text: str) -> str:
    """The text for TeX, on one line."""
    pieces = (_escaped(piece) for piece in LIGATURE.sub(lambda m: "\0".join(m[0]), " ".join(text.split())).split("\0"))
    return "{}".join(pieces)


def _escaped(text: str) -> str:
    known = UNKNOWN.sub(lambda match: rf"\triptychchar{{{ord(match[0]):04X}}}", text.translate(SPECIAL))
    return MINUS.sub(r"\(-\)", known)


def cell(given: Cell) -> str:
    raised = rf"\textsuperscript{{{escaped(given.raised)}}}" if given.raised else ""
    return escaped(given.text) + raised


def tabular(table: Table) -> str:
    """One table with its caption, its label and the notes under it."""
    header = [escaped(words) for words in table.header]
    frame = pd.DataFrame([[cell(one) for one in row] for row in table.rows], columns=header)
    columns = "l" + "r" * (len(header) - 1)
    if table.prose:
        columns = columns[:-1] + rf"p{{{PROSE if len(header) > 1 else 1}\linewidth}}"
    body = frame.to_latex(index=False, escape=False, column_format=columns)
    notes = "\n\n".join(escaped(note) for note in table.notes)
    size = r"\scriptsize\setlength{\tabcolsep}{3pt}" if len(header) > WIDE else r"\small"
    return (
        f"\\begin{{table}}\n\\centering{size}\n"
        f"\\caption{{{escaped(table.title)}}}\\label{{tab:{table.name}}}\n{body}"
        f"\\par\\smallskip\\begin{{minipage}}{{\\linewidth}}\\footnotesize\\raggedright\n{notes}\n\\end{{minipage}}\n"
        "\\end{table}\n"
    )


def document(name: str, about: str, parts: Iterable[str]) -> str:
    """A file to be read with \\input: our comment, our one command, the parts."""
    return HEAD.format(about=one_line(about), name=name) + CHARACTER + "\n" + "\n".join(parts)


def one_line(text: str) -> str:
    """A comment must not end before its line does."""
    return " ".join(text.split())
