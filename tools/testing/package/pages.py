#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pages.py - what is wrong with pages of the documentation, a line each: links, and what a forge does not show

	pages.py SOURCES HTML	Documentation/, and what Documentation/build made of it
"""
import glob
import html.parser
import os
import re
import sys


class Page(html.parser.HTMLParser):
    """Links and anchors of a page, and cells that are nothing but an empty bullet"""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.bullets, self.item = [], set(), 0, None
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "li":
            self.item = ""

    def handle_data(self, data):
        if self.item is not None:
            self.item += data.strip()

    def handle_endtag(self, tag):
        if tag == "li":
            self.bullets += self.item == ""
            self.item = None


def of_html(folder):
    paths = [p for p in glob.glob(os.path.join(folder, "**/*.html"), recursive=True)
             if os.path.basename(p) not in ("genindex.html", "search.html")]
    pages = {os.path.normpath(p): Page(p) for p in paths}
    for path, page in sorted(pages.items()):
        name = os.path.relpath(path, folder)
        if page.bullets:
            yield f"{name}: {page.bullets} empty bullets"
        for link in page.links:
            where, _, anchor = link.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), where)) if where else path
            if "://" in link or "_sources" in link or where.endswith(("genindex.html", "search.html")):
                continue
            if not os.path.exists(to):
                yield f"{name}: {link} is not there"
            elif anchor and to in pages and anchor not in pages[to].ids:
                yield f"{name}: {link} has no such section"


def of_sources(folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.rst")))
    with open(os.path.join(folder, "index.rst")) as f:
        index = f.read()
    for path in paths:
        name = os.path.basename(path)
        with open(path) as f:
            text = f.read()
        if name != "index.rst" and f"<{name}>`_: " not in index:
            yield f"index.rst: no sentence about {name}"
        for directive in re.findall(r"^ *\.\. (?:include|literalinclude|toctree)::.*|^ *:file:.*|:(?:doc|ref):`.*?`", text, re.M):
            yield f"{name}: a forge does not show {directive.strip()}"
        text = re.sub(r"(?<!`)`(?!`)[^`]*<[^>`]*>`_|^\.\. _.*", "", text, flags=re.M)
        for mention in re.findall(r"(?<![\w/`.-])[a-z][a-z-]*\.rst(?!\w)", text):
            yield f"{name}: {mention} is no link"


def main():
    for line in [*of_sources(sys.argv[1]), *of_html(sys.argv[2])]:
        print(line)


main()
