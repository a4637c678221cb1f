"""Tables and text as LaTeX, for any user text; needs only the package booktabs.

The ten special characters of TeX are escaped. Letters unknown to pdfLaTeX are written as \\triptychchar{code}: XeLaTeX
and LuaLaTeX print them, pdfLaTeX prints the code, and no engine stops.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence

import pandas as pd

from triptych.reports.cells import Cell, Table
from triptych.reports.html import readable

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
        '"': "{''}",  # in braces, since adjacent dashes and quotes form ligatures
        "[": "{[}",  # after the end of a row, TeX would read it, or a *, as an option
        "]": "{]}",
        "*": "{*}",
        "–": "{--}",
        "—": "{---}",
        "“": "{``}",
        "”": "{''}",
        "‘": "`",
        "’": "'",
        "…": r"\dots{}",
        "×": r"\(\times\)",
        "−": "{--}",
        "\u00a0": " ",
        "\u00ad": "",
    }
)
# characters that pdfLaTeX sets in its default encoding and in T1
KNOWN = "¡¢£¤¥§©ª®¯°±²³´µ¶·¸¹º¼½¾¿À-ÏÑ-Ýßà-ïñ-ýÿĀ-ăĆ-ďĒ-ėĚ-ĥĨ-ĭİıĹ-ľŁ-ňŌ-ťŨ-űŴ-žȘ-ț€"
UNKNOWN = re.compile(rf"[^\x20-\x7e{KNOWN}]")
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
HASH = re.compile(r"\b[0-9a-f]{64}\b")
FLOAT_END = re.compile(r"\\end\{(?:table|figure)\}\n")
IN_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=[?!`])(?=`)|(?<=')(?=')|(?<=,)(?=,)")  # positions inside ligatures
COMMANDS = r"""% A character that the engine may lack: XeLaTeX and LuaLaTeX print it, pdfLaTeX prints its code.
\providecommand{\triptychchar}[1]{\ifdefined\Umathchar\char"#1 \else[U+#1]\fi}
% A table that is wider than the line is scaled down if the package graphicx is loaded.
\providecommand{\triptychfit}[1]{\setbox0=\hbox{#1}\ifdim\wd0>\linewidth
  \ifdefined\resizebox\resizebox{\linewidth}{!}{\box0}\else\box0\fi\else\box0\fi}
"""
PROSE = 0.4  # of the line, for a column of sentences next to other columns
WIDE = 6  # columns; a wider table is set in a smaller font
# rows (half as many if they are sentences) per float; longer tables continue in another, since a page cuts off a float
LONG = 40
FLOATS = 10  # tables and figures in a row; LaTeX stops if too many wait for a page
HEAD = """% {about}
% Needs \\usepackage{{booktabs}}. Written as it is: \\input{{{name}}}
"""


def escaped(text: str) -> str:
    """The text for TeX, on one line."""
    pieces = (_escaped(piece) for piece in IN_LIGATURE.split(" ".join(readable(text).split())))
    return "{}".join(pieces)


def _escaped(text: str) -> str:
    encoded = UNKNOWN.sub(lambda match: rf"\triptychchar{{{ord(match[0]):04X}}}", text.translate(SPECIAL))
    return HASH.sub(_breakable, MINUS.sub(r"\(-\)", encoded))


def _breakable(match: re.Match[str]) -> str:
    """Allow a line break in a hash, which is longer than half a line."""
    return r"\allowbreak{}".join(match[0][at : at + 4] for at in range(0, len(match[0]), 4))


def cell(content: Cell) -> str:
    raised = rf"\textsuperscript{{{escaped(content.raised)}}}" if content.raised else ""
    return escaped(content.text) + raised


def tabular(table: Table) -> str:
    """One table with caption, label and notes; a long one in several parts."""
    parts = max(math.ceil(len(table.rows) / (LONG // 2 if table.prose else LONG)), 1)
    each = max(math.ceil(len(table.rows) / parts), 1)
    size = r"\scriptsize\setlength{\tabcolsep}{3pt}" if len(table.header) > WIDE else r"\small"
    return "\n".join(
        f"\\begin{{table}}\n\\centering{size}\n{_caption(table, part, parts)}\n"
        f"\\triptychfit{{%\n{_grid(table, table.rows[part * each : (part + 1) * each])}}}\n"
        f"{_notes(table) if part == parts - 1 else ''}\\end{{table}}\n"
        for part in range(parts)
    )


def figure(name: str, caption: str, path: str, path_of_page: str) -> str:
    """One figure for a column, with a comment on how to set it in the page's width."""
    return "\n".join(
        [
            rf"% over the width of the page: figure* and {path_of_page}",
            "\\begin{figure}\n\\centering",
            rf"\includegraphics{{{path}}}",
            rf"\caption{{{escaped(caption)}}}\label{{fig:{name}}}",
            "\\end{figure}\n",
        ]
    )


def _caption(table: Table, part: int, parts: int) -> str:
    """The caption; the first part has the label."""
    if not part:
        return rf"\caption{{{escaped(table.title)}}}\label{{tab:{table.name}}}"
    return rf"\caption{{{escaped(table.title)} (part {part + 1} of {parts})}}"


def _grid(table: Table, rows: Sequence[tuple[Cell, ...]]) -> str:
    widest = [max((len(row[place].text) for row in rows), default=0) for place in range(len(table.header))]
    header = [_heading(words, width) for words, width in zip(table.header, widest, strict=True)]
    frame = pd.DataFrame([[cell(content) for content in row] for row in rows], columns=header)
    columns = "l" + "r" * (len(header) - 1)
    if table.prose:
        columns = columns[:-1] + rf"p{{{PROSE if len(header) > 1 else 1}\linewidth}}"
    return frame.to_latex(index=False, escape=False, column_format=columns)


def _heading(words: str, width: int) -> str:
    """A column's title; one wider than all cells below it takes two lines."""
    gaps = [place for place, sign in enumerate(words) if sign == " "]
    if len(words) <= width or not gaps:
        return escaped(words)
    middle = min(gaps, key=lambda place: abs(2 * place - len(words)))
    return rf"\shortstack{{{escaped(words[:middle])}\\{escaped(words[middle:])}}}"


def _notes(table: Table) -> str:
    notes = "\n\n".join(escaped(note) for note in table.notes)
    return (
        f"\\par\\smallskip\\begin{{minipage}}{{\\linewidth}}\\footnotesize\\raggedright\n{notes}\n\\end{{minipage}}\n"
    )


def document(name: str, about: str, parts: Iterable[str]) -> str:
    """A file for \\input: a comment, our two commands, the parts."""
    floats = itertools.count(1)
    paged = FLOAT_END.sub(lambda match: match[0] + "\\clearpage\n" * (not next(floats) % FLOATS), "\n".join(parts))
    return HEAD.format(about=one_line(about), name=name) + COMMANDS + "\n" + paged


def one_line(text: str) -> str:
    """The text on one line, for a comment, which would end with the line."""
    return " ".join(text.split())
