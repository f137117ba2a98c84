"""Hooks of mkdocs (.mkdocs.yml): the upper-case pages of the top level belong to the site, rules do not, and links to
what is only in the source tree become plain text."""
import pathlib
import re

from mkdocs.structure.files import File

TOP = ("README.md", "CHANGELOG.md", "UPGRADING.md")
TEST_MARK = re.compile(r"<!-- (?:run|not run|printed|event|file|settings|figure)[^>]*-->\n")
LINK = re.compile(r"(!?)\[([^][]*)\]\(([^)\s]+)\)")


def on_files(files, config):
    for file in [file for file in files if file.src_uri.startswith("rules/")]:
        files.remove(file)
    for name in TOP:
        files.append(File(name, str(pathlib.Path(config["config_file_path"]).parent), config["site_dir"], False))
    return files


def on_page_markdown(markdown, page, config, files):
    def relinked(match):
        picture, text, target = match.groups()
        if re.match(r"https?:|#|mailto:", target):
            return match.group()
        path, _, anchor = target.partition("#")
        path = re.sub(r"^(\.\./|docs/)", "", path)
        if files.get_file_from_path(path) is None:
            return text
        return f"{picture}[{text}]({path}{'#' if anchor else ''}{anchor})"

    markdown = LINK.sub(relinked, TEST_MARK.sub("", markdown))
    return re.sub(r'((?:src|srcset)=")(?:docs/|\.\./)', r"\1", markdown)
