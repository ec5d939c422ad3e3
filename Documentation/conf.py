# SPDX-License-Identifier: MIT
"""Sphinx's configuration; make htmldocs runs it (Documentation/build)."""
import os
import re

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
with open(os.environ.get("GPREEMPT_DKMS_CONF") or os.path.join(TOP, "dkms.conf")) as f:
    release = version = re.search(r'^PACKAGE_VERSION="(.*)"$', f.read(), re.M)[1]

project = "kfd_gpreempt"
author = "the authors of kfd_gpreempt"
copyright = author
master_doc = "index"
highlight_language = "none"
html_theme = "alabaster"
# Manual pages and tables have 100 columns.
html_theme_options = {"page_width": "1200px"}
html_show_copyright = False
# Generated from comments of C sources: types of the kernel are not described here.
nitpicky = False
