"""The reference: a page for each public header, in the words and the order of the header."""

import collections
import pathlib
import re
import subprocess
import textwrap
import xml.etree.ElementTree as ElementTree

import header

WIDTH = 92
LEFT_OUT = {"export.h"}
DOXYFILE = """
INPUT = {include}
RECURSIVE = YES
FILE_PATTERNS = *.h
STRIP_FROM_PATH = {include}
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
QUIET = YES
CLASS_GRAPH = NO
HAVE_DOT = NO
DOT_GRAPH_MAX_NODES = 1000
WARN_AS_ERROR = YES
EXCLUDE_SYMBOLS = *::detail *::detail::*
"""


Member = collections.namedtuple("Member", "name line kind owner")


class Class:
    def __init__(self, name, line, is_struct):
        self.name, self.line, self.is_struct = name, line, is_struct
        self.members, self.classes = [], []


class Page:
    """What Doxygen found in one header."""

    def __init__(self):
        self.members, self.classes = [], []


def short_name(qualified):
    return re.sub(r"<.*", "", qualified).rsplit("::", 1)[-1]


def read_doxygen(folder):
    """What is in each header."""
    pages, classes = collections.defaultdict(Page), {}
    trees = [ElementTree.parse(file).getroot()[0] for file in sorted(folder.glob("*.xml"))
             if file.name not in ("index.xml", "Doxyfile.xml")]
    for compound in trees:
        if compound.get("kind") not in ("class", "struct") or compound.get("prot") == "private":
            continue
        qualified, place = compound.findtext("compoundname"), compound.find("location")
        if "detail::" in qualified:
            continue
        found = Class(qualified, int(place.get("line")), compound.get("kind") == "struct")
        found.members = [member for each in compound.iter("memberdef")
                         if (member := member_of(each, qualified))]
        classes[qualified] = (found, place.get("file"))
    for qualified, (found, file) in classes.items():
        outer = qualified.rsplit("::", 1)[0]
        (classes[outer][0] if outer in classes else pages[file]).classes.append(found)
    for compound in trees:
        if compound.get("kind") not in ("namespace", "file"):
            continue
        for each in compound.iter("memberdef"):
            is_macro = each.get("kind") == "define"
            if (compound.get("kind") == "file") != is_macro:
                continue
            if member := member_of(each, compound.findtext("compoundname")):
                pages[each.find("location").get("file")].members.append(member)
    return pages


def member_of(node, owner):
    kind, name = node.get("kind"), node.findtext("name")
    arguments = node.findtext("argsstring") or ""
    short = short_name(owner)
    if node.get("prot") == "private" or kind == "friend" or "detail" in owner.split("::"):
        return None
    if re.match(r"~|.*_$|walk_tensors$", name) or arguments.endswith("=delete"):
        return None
    # Every handle can be copied, moved and assigned; nobody looks that up.
    special = rf"\((const )?{re.escape(short)} &&?\w*\)"
    if name in (short, "operator=") and re.match(special, arguments):
        return None
    return Member(name, int(node.find("location").get("line")), kind, owner)


def wrapped(text, indent=""):
    """A declaration on as many lines as it needs."""
    text = re.sub(r"(\)[^()]*) = default;$", r"\1;", text)
    *heads, text = re.sub(r"^inline (?!constexpr)", "", text, flags=re.M).split("\n")
    if len(heads) == 1 and len(heads[0]) + len(text) < 60:
        heads, text = [], f"{heads[0]} {text}"
    lines = [indent + text]
    while len(lines[-1]) > WIDTH and (cut := lines[-1].rfind(", ", len(indent) + 5, WIDTH)) > 0:
        lines[-1:] = [lines[-1][:cut + 1], indent + "    " + lines[-1][cut + 2:]]
    return [indent + head for head in heads] + lines


def code_of(run, indent=""):
    rows = []
    for declaration in run.declarations:
        rows += [(indent + line.strip(), "") for line in declaration.above]
        lines = wrapped(declaration.text, indent)
        rows += [(line, "") for line in lines[:-1]] + [(lines[-1], declaration.beside)]
    beside = [len(line) for line, comment in rows if comment and len(line) + len(comment) < WIDTH]
    column = max(beside, default=0) + 2
    out = []
    for line, comment in rows:
        if not comment:
            out.append(line)
        elif max(column, len(line) + 2) + len(comment) <= WIDTH + 8:
            out.append(f"{line:<{column}}// {comment}" if len(line) < column else
                       f"{line}  // {comment}")
        else:
            out += textwrap.wrap(comment, WIDTH, initial_indent=indent + "// ",
                                 subsequent_indent=indent + "// ") + [line]
    return out


def escaped(text):
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_\[\]<>#|])", r"\\\1", part)
                   for part in parts)


def is_plumbing(text):
    """What the language or the standard library asks of a class."""
    return re.match(r"using (\w+)::\1;|using (promise_type|difference_type|value_type) =", text)


class Writer:
    def __init__(self, headers, pages, uses):
        self.headers, self.pages, self.uses = headers, pages, uses
        self.names = []  # (name, address)

    def linked(self, text, name):
        """Markdown of a comment; files it names are links."""
        here = pathlib.PurePosixPath(address(name)).parent
        text = escaped(text)

        def link(match):
            plain = match.group().replace("\\", "")
            if plain.startswith("docs/"):
                target = plain.removeprefix("docs/")
                return f"[{match.group()}]({up(here)}{target})" if target in self.pages else match.group()
            target = plain.removeprefix("tenure/")
            known = target in self.headers and target not in LEFT_OUT
            return f"[{match.group()}]({up(here)}{address(target)})" if known else match.group()

        return re.sub(r"\b(?:tenure|docs)/[\w\\/]+\.(?:h|md)\b", link, text)

    def comment(self, lines, name):
        """Paragraphs; what is set in by more than a space is code."""
        out, paragraph, code = [], [], []

        def flush():
            if paragraph:
                out.extend([self.linked(" ".join(paragraph), name), ""])
                paragraph.clear()
            while code and not code[-1].strip():
                code.pop()
            if code:
                out.extend(["```cpp", *textwrap.dedent("\n".join(code)).split("\n"), "```", ""])
                code.clear()

        for line in lines:
            if line.startswith("  "):
                if paragraph:
                    flush()
                code.append(line)
            elif not line.strip():
                code.append(line) if code else flush()
            else:
                if code:
                    flush()
                paragraph.append(line.strip())
        flush()
        return out

    def page(self, name, found):
        source = header.Source(self.headers[name])
        self.anchors = set()
        out = [f"# tenure/{name}", ""]
        out += self.comment(source.introduction(), name)
        out += ["```cpp", f"#include <tenure/{name}>", "```", ""]

        entries = []  # (line, what to write)
        types = {short_name(each.name) for each in found.classes}
        members = [member for member in found.members
                   if member.kind != "define" and member.name not in types]
        self.namespace = self.most_common(members, found.classes)
        about = [f"In namespace `{self.namespace}`."] if self.namespace else []
        if self.uses.get(name):
            here = pathlib.PurePosixPath(address(name)).parent
            links = ", ".join(f"[{title}]({up(here)}{page})" for title, page in self.uses[name])
            about.append(f"In the guide: {links}.")
        out += [" ".join(about), ""]
        functions = [self.declaration(source, member) for member in members]
        heads = [(source.declaration(each.name, each.line), each) for each in found.classes]
        in_classes = [(head.first, each) for head, each in heads if head.has_body]
        for run in self.split(source.runs(functions), [first for first, _ in in_classes]):
            entries.append((run.declarations[0].first, lambda run=run: self.functions(run, name)))
        for first, each in in_classes:
            entries.append((first, lambda each=each: self.a_class(source, each, name)))
        for entry in sorted(entries, key=lambda each: each[0]):
            out += entry[1]()
        for macro in found.members:
            if macro.kind == "define" and not macro.name.startswith("TENURE_"):
                line = source.lines[macro.line - 1]
                shape = re.match(r"#define (\w+(?:\([^)]*\))?)", line).group(1)
                out += [f"## `{macro.name}` {{ #{self.anchor(macro.name, name)} }}", "",
                        "```cpp", shape, "```", ""]
        return "\n".join(out)

    @staticmethod
    def most_common(members, classes):
        spaces = collections.Counter(member.owner for member in members)
        spaces.update(each.name.rsplit("::", 1)[0] for each in classes if "<" not in each.name)
        return spaces.most_common(1)[0][0] if spaces else ""

    def declaration(self, source, member):
        """With a name that says what the page's namespace does not."""
        found = source.declaration(member.name, member.line, member.kind != "function")
        if member.owner != self.namespace:
            found.name = f"{member.owner.removeprefix(self.namespace + '::')}::{member.name}"
        return found

    @staticmethod
    def split(runs, lines):
        """Runs that a class stands in the middle of are two."""
        for run in runs:
            parts = [[]]
            for declaration in run.declarations:
                if parts[-1] and any(parts[-1][-1].last < line <= declaration.first for line in lines):
                    parts.append([])
                parts[-1].append(declaration)
            for index, part in enumerate(parts):
                comment = run.comment if index == 0 else header.prose(part[0].above)
                if index > 0:
                    part[0].above = []
                yield header.Run(comment, part)

    def anchor(self, name, file):
        plain = re.sub(r"[^\w:~]+", lambda m: "-" + "-".join(str(ord(c)) for c in m.group().strip()),
                       name).strip("-")
        anchor, number = plain, 1
        while anchor in self.anchors:
            number += 1
            anchor = f"{plain}-{number}"
        self.anchors.add(anchor)
        if number == 1:
            self.names.append((name, f"{address(file)}#{anchor}"))
        return anchor

    def functions(self, run, name):
        names = list(dict.fromkeys(declaration.name for declaration in run.declarations))
        shown = ", ".join(f"`{each}`" for each in names[:4]) + (", ..." if len(names) > 4 else "")
        anchors = [self.anchor(each, name) for each in names]
        marks = "".join(f'<span id="{each}"></span>' for each in anchors[1:])
        out = [f"## {shown} {{ #{anchors[0]} }}", ""]
        if marks:
            out += [marks, ""]
        out += self.comment(run.comment, name)
        return out + ["```cpp", *code_of(run), "```", ""]

    def a_class(self, source, found, name):
        short = short_name(found.name)
        head = source.declaration(found.name, found.line)
        out = [f"## `{short}` {{ #{self.anchor(short, name)} }}", ""]
        out += self.comment(header.prose(head.above) or [head.beside], name)
        declarations = [source.declaration(member.name, member.line, member.kind != "function")
                        for member in found.members]
        runs = source.runs([each for each in declarations if not is_plumbing(each.text)])
        bases = re.findall(r"(?:public|,) (\w+)", head.text)
        methods = dict.fromkeys(member.name for member in found.members
                                if member.kind == "function" and re.fullmatch(r"\w+", member.name)
                                and member.name not in (short, *bases))
        if methods:
            anchors = [self.anchor(f"{short}::{member}", name) for member in methods]
            out += ["".join(f'<span id="{each}"></span>' for each in anchors), ""]
        shape = head.text.rstrip(";").strip()
        plain = len(runs) <= 1 and not (runs and runs[0].comment)
        if plain:
            body = code_of(runs[0], "  ") if runs else []
            out += ["```cpp", *(wrapped(shape + " {") + body + ["};"] if body else wrapped(shape + ";")),
                    "```", ""]
        else:
            out += ["```cpp", *wrapped(shape), "```", ""]
            for run in runs:
                out += self.comment(run.comment, name)
                out += ["```cpp", *code_of(run), "```", ""]
        for inner in found.classes:
            out += self.a_class(source, inner, name)
        return out

    def index(self):
        out = ["# Reference", "",
               "A page for each public header. `#include <tenure/tenure.h>` brings them all. Every "
               "declaration is here as the header has it, but for the last parameter of many, "
               "`std::source_location site`: it has a default and records the line of the call.", "",
               "[All names](names.md), [operations](../ops.md), [dtypes](../dtypes.md).", ""]
        for folder, title in (("", "tenure"), ("nn/", "tenure/nn")):
            out += [f"## {title}", "", "| header | |", "| --- | --- |"]
            for name in sorted(self.headers):
                if name in LEFT_OUT or name.rpartition("/")[0] != folder.rstrip("/"):
                    continue
                about = " ".join(header.Source(self.headers[name]).introduction())
                sentence = re.split(r"(?<=[.:])\s(?=\s|[A-Z])", about, maxsplit=1)[0].rstrip(":")
                target = address(name).removeprefix("reference/")
                out.append(f"| [{name}]({target}) | {self.linked(sentence, name)} |")
            out.append("")
        return "\n".join(out)

    def all_names(self):
        out = ["# All names", ""]
        by_letter = collections.defaultdict(list)
        for name, target in self.names:
            last = name.rsplit("::", 1)[-1]
            by_letter[last[0].upper() if last[0].isalpha() and not last.startswith("operator")
                      else "operators"].append((last, name, target))
        letters = sorted(by_letter, key=lambda letter: (len(letter) > 1, letter))
        for letter in letters:
            out += [f"## {letter}", "", '<div class="names" markdown>', ""]
            for last, name, target in sorted(by_letter[letter], key=lambda each: each[0].lower()):
                owner = f" ({name.rsplit('::', 1)[0]})" if "::" in name else ""
                out.append(f"- [{escaped(last)}]({target.removeprefix('reference/')}){escaped(owner)}")
            out += ["", "</div>", ""]
        return "\n".join(out)


def address(name):
    return "reference/" + name.removesuffix(".h") + ".md"


def up(folder):
    return "../" * len([part for part in folder.parts if part != "."])


def pages_that_use(found, texts):
    """For each header the guide's pages that use its names in code, those that do most first."""
    uses = {}
    code = {page: set(re.findall(r"\w+", " ".join(
        re.findall(r"```cpp\n(.*?)```", text, re.S) + re.findall(r"`([^`\n]+)`", text))))
            for page, (_, text) in texts.items()}
    seen_in = collections.Counter(word for words in code.values() for word in words)
    for name, page in found.items():
        names = {member.name for member in page.members}
        for each in page.classes:
            names |= {short_name(each.name)}
            names |= {member.name for member in each.members if member.kind == "function"}
        # A name that every page uses says little of any of them.
        scores = {each: sum(1 / seen_in[word] for word in names & words)
                  for each, words in code.items()}
        enough = max(0.3, max(scores.values(), default=0) * 0.4)
        best = sorted((each for each in scores if scores[each] >= enough),
                      key=lambda each: -scores[each])
        uses[name] = [(texts[each][0], each) for each in best[:3]]
    return uses


def write(include, work, out, guide, pages):
    """Writes the reference below `out`; `guide` is {page: (title, text)}, `pages` all other pages.

    Gives the headers that have a page, and (name, address) of all that is public."""
    texts = {path.relative_to(include / "tenure").as_posix(): path.read_text(encoding="utf-8")
             for path in sorted((include / "tenure").rglob("*.h"))}
    macros = header.macros_of(texts.values())
    headers = {name: header.expand(text, macros) for name, text in texts.items()}
    copies = work / "include"
    for name, text in headers.items():
        file = copies / "tenure" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    doxyfile = work / "Doxyfile"
    doxyfile.write_text(DOXYFILE.format(include=copies, out=work))
    subprocess.run(["doxygen", doxyfile], check=True)
    found = {file.removeprefix("tenure/"): page
             for file, page in read_doxygen(work / "xml").items()}
    writer = Writer(headers, pages, pages_that_use(found, guide))
    for name in sorted(headers):
        if name in LEFT_OUT:
            continue
        file = out / address(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(writer.page(name, found.get(name, Page())), encoding="utf-8")
    (out / "reference/index.md").write_text(writer.index(), encoding="utf-8")
    (out / "reference/names.md").write_text(writer.all_names(), encoding="utf-8")
    return [name for name in sorted(headers) if name not in LEFT_OUT], writer.names
