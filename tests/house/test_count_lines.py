"""What counts as a line of code."""

from __future__ import annotations

import pytest

from bench.count_lines import count_lines, javascript_lines, python_lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("x = 1\n\n\ny = 2\n", 2),
        ("# why\nx = 1  # because\n", 1),
        ('"""What it is.\n\nIn two lines.\n"""\nx = 1\n', 1),
        ('def f():\n    """What it does."""\n    return 1\n', 2),
        ('class A:\n    """What it is."""\n    async def g(self):\n        """Does it."""\n', 2),
        ('text = """one\n\n# two\n"""\n', 3),
        ("text = '# no comment'\n", 1),
        ("f(\n    1,  # one\n    # nothing\n)\n", 3),
    ],
)
def test_python_lines_without_blanks_comments_and_docstrings(source, lines):
    assert python_lines(source) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("const a = 1;\n\nconst b = 2;\n", 2),
        ("// why\nconst a = 1; // because\n", 1),
        ("/**\n * What it does.\n */\nfunction f() {}\n", 1),
        ("/* one */ const a = 1; /* two\n three */\n", 1),
        ("/* one\n*/ const a = 1;\n", 1),
        ("const a = '/*';\nconst b = 2;\n// '\nconst c = \"*/\";\n", 3),
        ("const a = 'it\\'s // text';\n// no code\n", 1),
        ("const a = /['\"`/*]/;\n// no code\nconst b = 'x';\n", 2),
        ("return /`/.test(a);\n// no code\n", 1),
        ("const a = b / c; // d / e\n// no code\n", 1),
        ("const a = `one\n// two\n\n${b ? `three` : '}'}`;\n// no code\n", 3),
    ],
)
def test_javascript_lines_without_blanks_and_comments(source, lines):
    assert javascript_lines(source) == lines


def test_lines_are_counted_by_room_without_vendored_code(tmp_path):
    files = {
        "app.py": "x = 1\n",
        "triptych/clock.py": "x = 1\ny = 2\n",
        "triptych/stats/kappa.py": "x = 1\n",
        "triptych/stats/deep/er.py": "x = 1\n",
        "components/workbench/a.js": "a();\n",
        "components/workbench/node_modules/b.js": "b();\n",
        "bench/load.py": "x = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert count_lines(tmp_path) == {
        ("app.py", "Python"): 1,
        ("triptych", "Python"): 2,
        ("triptych/stats", "Python"): 2,
        ("components/workbench", "JavaScript"): 1,
    }
