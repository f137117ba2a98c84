"""A parsed Markdown page: its blocks with their marks, its links and its anchors."""
import re

FENCE = re.compile(r"^( *)(`{3,})(\w*)\s*$")
MARK = re.compile(r"^ *<!--\s*(run|not run|printed|event|file|settings|figure)\b(?::\s*(.*?))?\s*-->\s*$")


class Block:
    """A code block: the kind given by its mark, and its lines."""

    def __init__(self, page, line, language, kind, says, text):
        self.page, self.line, self.language = page, line, language
        self.kind, self.says, self.text = kind, says, text

    def __str__(self):
        return f"{self.page.name}:{self.line}"


class Page:
    def __init__(self, root, name):
        self.name = name
        self.lines = (root / name).read_text(encoding="utf-8").splitlines()
        self.blocks, self.wrongs, self.prose = [], [], []
        self.read()

    def read(self):
        mark, at, in_list = None, 0, False
        while at < len(self.lines):
            line = self.lines[at]
            fence, is_mark = FENCE.match(line), MARK.match(line)
            if fence:
                end = next((i for i in range(at + 1, len(self.lines))
                            if self.lines[i].strip() == fence.group(2)), None)
                if end is None:
                    self.wrongs.append(f"{self.name}:{at + 1}: a block without an end")
                    return
                indent = len(fence.group(1))
                text = "".join(row[indent:] + "\n" for row in self.lines[at + 1:end])
                self.blocks.append(Block(self, at + 1, fence.group(3), *(mark or (None, "")), text))
                mark, at = None, end + 1
                continue
            if is_mark:
                mark = (is_mark.group(1), is_mark.group(2) or "")
            elif line.strip():
                if mark:
                    self.wrongs.append(f"{self.name}:{at}: a mark without a block behind it")
                    mark = None
                before = self.lines[at - 1].strip() if at else ""
                if line.startswith("    ") and not before and not in_list:
                    self.blocks.append(Block(self, at + 1, "", None, "", line + "\n"))
                    while at + 1 < len(self.lines) and self.lines[at + 1].startswith("    "):
                        at += 1
                else:
                    in_list = bool(re.match(r"\s*([-*]|\d+\.) ", line)) or (in_list and line.startswith(" "))
                    self.prose.append((at + 1, line))
            at += 1

    def anchors(self):
        """Anchors of the headings, as code forges generate them."""
        found = {}
        for _, line in self.prose:
            heading = re.match(r"#+ (.*?)\s*$", line)
            if not heading:
                continue
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = found.get(name, 0)
            found[name] = count + 1
            yield name if count == 0 else f"{name}-{count}"

    def links(self):
        for number, line in self.prose:
            line = re.sub(r"`[^`]*`", lambda code: "`" * len(code.group()), line)
            for target in re.findall(r"\]\(([^)\s]+)\)", line) + re.findall(r'(?:src|srcset|href)="([^"]+)"', line):
                yield number, target

    def code_words(self):
        for number, line in self.prose:
            for word in re.findall(r"`([^`]+)`", line):
                yield number, word
