"""The tests of the rules: each is called after its rule, as L5_name or in a suite of that name."""

import re


def rules_of(text):
    """The numbers that docs/guide/rules.md has."""
    return [int(number) for number in re.findall(r"^- \*\*L(\d+)\*\* ", text, re.M)]


def tests_of(folder):
    """{number: names of tests} of the sources below a folder."""
    found = {}
    for path in sorted(folder.rglob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text, re.M):
            named = re.match(r"L(\d+)_(\w+)", name)
            in_suite = re.fullmatch(r"L(\d+)", suite)
            if named or in_suite:
                number = int((named or in_suite).group(1))
                found.setdefault(number, []).append(named.group(2) if named else name)
    return found


def table(text, folder):
    tests = tests_of(folder)
    rows = [f"| L{number} | {'; '.join(name.replace('_', ' ') for name in tests.get(number, []))} |"
            for number in rules_of(text)]
    return "\n".join(["", "## What the tests claim", "", "| | |", "| --- | --- |", *rows, ""])
