"""What a public header says: its declarations as they are written, in runs with the comments that
stand above them. Doxygen knows where declarations are; their text and comments are the header's.

A run is what no blank line parts. The comment at its head speaks for all of it; comments further
down stay where they are.
"""

import dataclasses
import re

LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)'")
SITE = r"std::source_location site = std::source_location::current\(\)"


@dataclasses.dataclass
class Declaration:
    name: str
    text: str       # without a body; template and requires on lines of their own
    first: int      # its lines, and those of its comments, from 0
    last: int
    above: list     # lines of comment
    beside: str = ""
    has_body: bool = False


@dataclasses.dataclass
class Run:
    comment: list
    declarations: list


def prose(comment_lines):
    return [re.sub(r"^\s*// ?", "", line) for line in comment_lines]


def without_site(text):
    text = re.sub(r"(?:,\s*)?" + SITE, "", text)
    return re.sub(r"(?:,\s*)?std::source_location where = std::source_location::current\(\)", "", text)


class Source:
    def __init__(self, text):
        self.lines = text.split("\n")

    def is_comment(self, index):
        return 0 <= index < len(self.lines) and self.lines[index].lstrip().startswith("//")

    def indent(self, index):
        return len(self.lines[index]) - len(self.lines[index].lstrip())

    def introduction(self):
        end = 0
        while self.is_comment(end):
            end += 1
        return prose(self.lines[:end])

    def goes_into_next(self, index):
        """Whether a line is the beginning of what the next one goes on with, as template is."""
        text = re.sub(r"//.*", "", self.lines[index]).strip()
        return text != "" and text[-1] not in ";{}:" and not text.startswith("#")

    def comment_above(self, first):
        begin = first
        while self.is_comment(begin - 1) and self.indent(begin - 1) == self.indent(first):
            begin -= 1
        return begin, self.lines[begin:first]

    def declaration(self, name, line, keep_braces=False):
        """The declaration whose name stands on a line (from 1)."""
        first = line - 1
        while self.goes_into_next(first - 1):
            first -= 1
        text, last, column = self.scan(first, keep_braces)
        begin, above = self.comment_above(first)
        beside = re.sub(r"^[\s;]*", "", self.lines[last][column:])
        beside = [beside[2:].strip()] if beside.startswith("//") else []
        end = last
        while self.is_comment(end + 1) and self.indent(end + 1) > self.indent(first) + 2 and beside:
            end += 1
            beside.append(self.lines[end].strip()[2:].strip())
        inner = re.findall(r"//\s*(.*)", text)
        text = re.sub(r"//[^\n]*", "", text)
        *heads, text = text.split("\n", line - 1 - first)
        text = without_site(re.sub(r"\s+", " ", text)).strip()
        text = re.sub(r"\( ", "(", text).replace(" ;", ";")
        text = "\n".join([*(head.strip() for head in heads), text])
        text = re.sub(r",? }", " }", text)
        has_body = self.lines[last][:column].endswith("}")
        return Declaration(name, text, begin, end, above, " ".join(inner + beside), has_body)

    def scan(self, first, keep_braces):
        """Text from a line to where its declaration ends, and where what belongs to it ends."""
        text, depth, braces, body = "", 0, 0, False
        for index in range(first, len(self.lines)):
            line, column = self.lines[index], 0
            while column < len(line):
                character = line[column]
                if line.startswith("//", column):
                    text += "" if body else line[column:]
                    break
                if literal := LITERAL.match(line, column):
                    text += "" if body else literal.group()
                    column = literal.end()
                    continue
                if character in "([":
                    depth += 1
                elif character in ")]":
                    depth -= 1
                elif character == "{":
                    starts_body = depth == 0 and braces == 0 and not keep_braces and \
                        not text.rstrip().endswith("=")
                    braces += 1
                    if starts_body:
                        body = True
                elif character == "}":
                    braces -= 1
                    if body and braces == 0 and depth == 0 and not self.goes_on(index, column):
                        return text.rstrip() + ";", index, column + 1
                elif character == ";" and depth == 0 and braces == 0:
                    return text.rstrip() + ";", index, column + 1
                elif character == ":" and depth == 0 and braces == 0 and text.rstrip().endswith(
                        (")", "noexcept")) and line[column:column + 2] != "::":
                    body = True
                if not body:
                    text += character
                column += 1
            text += "" if body else "\n"
        raise ValueError(f"a declaration without an end: {self.lines[first]}")

    def goes_on(self, index, column):
        """Whether a closed brace was a member's, in a list of initialisers."""
        rest = self.lines[index][column + 1:].lstrip()
        following = self.lines[index + 1].lstrip() if index + 1 < len(self.lines) else ""
        return rest.startswith((",", "{")) or not rest and following.startswith("{")

    def runs(self, declarations):
        found = []
        for declaration in sorted(declarations, key=lambda each: each.first):
            before = found[-1].declarations[-1] if found else None
            near = before is not None and not any(
                not line.strip() or re.match(r"\s*(public|protected|private):", line)
                for line in self.lines[before.last + 1:declaration.first])
            if near:
                found[-1].declarations.append(declaration)
            else:
                found.append(Run(prose(declaration.above), [declaration]))
                declaration.above = []
        return found


def expand(text, macros):
    """The header with macros that stand for declarations written out."""
    lines, out, index = text.split("\n"), [], 0
    while index < len(lines):
        line = lines[index]
        if re.match(r"#define TENURE_\w+", line):
            while lines[index].endswith("\\"):
                index += 1
            index += 1
            # The comment above spoke of the macro.
            while out and out[-1].lstrip().startswith("//"):
                out.pop()
            continue
        if re.match(r"#undef TENURE_", line):
            index += 1
            continue
        used = re.match(r"(\s*)(TENURE_\w+)(?:\((.*?)\))?;(\s*//.*)?$", line)
        if used and used.group(2) in macros:
            indent, name, arguments, comment = used.groups()
            parameters, body = macros[name]
            for parameter, value in zip(parameters, (arguments or "").split(",")):
                body = re.sub(rf"\b{parameter}\b", value.strip(), body)
            body = re.sub(r"[ ;]*/\* (.*?) \*/;?$", r";  // \1", body + ";", flags=re.M)
            expanded = expand("\n".join(indent + each for each in body.split("\n")), macros)
            expanded += comment or ""
            out += expanded.split("\n")
        else:
            out.append(line)
        index += 1
    return re.sub(r"\bTENURE_API ", "", "\n".join(out))


def macros_of(texts):
    macros = {}
    for text in texts:
        for name, parameters, body in re.findall(
                r"^#define (TENURE_\w+)(?:\(([\w, ]*)\))?[ \t]*((?:.*\\\n)*.*)$", text, re.M):
            lines = [line.rstrip("\\").rstrip() for line in body.split("\n")]
            lines = [line for line in lines if line.strip()]
            if not lines:
                continue
            margin = min(len(line) - len(line.lstrip()) for line in lines)
            macros[name] = ([each.strip() for each in (parameters or "").split(",") if each],
                            "\n".join(line[margin:] for line in lines))
    return macros
