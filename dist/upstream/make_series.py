#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_series.py - this tree as patches for a kernel tree: for `git am`, with a cover letter

    dist/upstream/make_series.py [--src TARBALL_OR_DIR] [--series SERIES] OUT

The patches are those of the table `series` beside this file. The base is the kernel's own source
(/usr/src/linux-source-SERIES.tar.xz, or --src), of the base of dkms/hooks.list without --series.
They leave out what only the DKMS package needs: CONFIG_KFD_GPREEMPT comes from Kconfig, compat.h has
what that version of the kernel needs, the interface's header is in include/uapi. The caller is the
author of the patches and signs them off (git config user.name, user.email).
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
AMD = "drivers/gpu/drm/amd"
HERE = f"{AMD}/kfd_gpreempt"
# They have what is there by then.
GROWING = ("Kbuild", "hooks.h", "rooms.c", "backends.c", "policies.c")
COVER = """\
Compute queues of different processes share an Instinct GPU by time slices
of the hardware scheduler, whatever they are for: inference that has to
answer in milliseconds waits for training that has hours. This lets amdkfd
arbitrate between them by a logical priority that comes from outside
(nice, cgroups, an ioctl), without any change of applications.

The first {core} patches are a scheduler of strict priority in which none
starves; each patch after them is an option that can be left out. What
existing code sees are patch 2 and the calls of patch {core}.

Against Linux {release}; the same source builds out of tree with DKMS,
where its tests are: selftests, a virtual GPU on which the driver runs
without hardware, and a harness for the decisions.

None of this has run on hardware yet.
"""


def die(text):
    sys.exit(f"upstream-series: {text}")


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def read(name):
    """A file of the tree"""
    with open(os.path.join(TOP, name)) as f:
        return f.read()


class Patch:
    def __init__(self, subject):
        self.subject, self.text = subject, []
        self.file, self.option, self.hook, self.copy = [], [], [], []


def read_series():
    patches = []
    for number, line in enumerate(read("dist/upstream/series").split("\n"), 1):
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("\t"):
            patches[-1].text.append(line.strip())
            continue
        word, rest = line.split(None, 1)
        if word == "patch":
            patches.append(Patch(rest))
        elif word == "copy":
            patches[-1].copy.append(rest.split())
        elif word in ("file", "option", "hook"):
            getattr(patches[-1], word).extend(rest.split())
        else:
            die(f"dist/upstream/series:{number}: {word} is no word of this table")
    return patches


def holds(condition, version, options):
    """The condition of an #if line; None if it is not all known here"""
    condition = re.sub(r"^#\s*if(def)?\s+", "", condition)
    alternatives = [re.sub(r"^\((.*)\)$", r"\1", part.strip()) if " || " in condition else part for part in condition.split(" || ")]
    answers = [all_hold(part, version, options) for part in alternatives]
    return True if True in answers else None if None in answers else False


def all_hold(condition, version, options):
    everything = True
    for term in condition.split(" && "):
        code = re.fullmatch(r"LINUX_VERSION_CODE (>=|<) KERNEL_VERSION\((\d+), (\d+), (\d+)\)", term)
        option = re.fullmatch(r"CONFIG_KFD_GPREEMPT_(\w+)", term)
        if term == "!defined(AMDGPU_VERSION)":
            continue
        if re.fullmatch(r"(defined\()?AMDGPU_VERSION\)?", term):
            everything = False
        elif code:
            least = tuple(int(part) for part in code.groups()[1:])
            everything &= (version >= least) == (code[1] == ">=")
        elif option and option[1] not in options:
            everything = False
        elif everything:
            return None
    return everything


def reduced(text, version, options):
    """Without what is there for other versions, AMD's driver package, or options that come later"""
    stack, lines = [], []  # of each #if: is it known, is what follows dropped, was it outside
    for line in re.sub(r"^(#\s*if.*) \\\n\s*", r"\1 ", text, flags=re.M).split("\n"):
        dropped = stack[-1][1] if stack else False
        if line == "#include <linux/version.h>":
            continue
        if re.match(r"#\s*if", line):
            known = holds(line, version, options)
            stack.append([known, dropped or known is False, dropped])
            if known is not None:
                continue
        elif re.match(r"#\s*else", line) and stack[-1][0] is not None:
            stack[-1][0] = not stack[-1][0]
            stack[-1][1] = stack[-1][2] or not stack[-1][0]
            continue
        elif re.match(r"#\s*endif", line):
            known, _, dropped = stack.pop()
            if known is not None:
                continue
        if not dropped:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


class Stage:
    """The tree with the first patches"""

    def __init__(self, tree, version, series):
        self.tree, self.version, self.series = tree, version, series
        self.files, self.options, self.hooks = [], [], []

    def text_of(self, name):
        text = reduced(self.source(name), self.version, self.options)
        text = re.sub(r'#include "gpreempt_config\.h".*\n', "", text)
        text = text.replace('#include "uapi/linux/kfd_gpreempt.h"', "#include <uapi/linux/kfd_gpreempt.h>")
        if name == "Kbuild":
            text = self.kbuild(text)
        elif name == "rooms.c":
            there = {os.path.basename(f)[:-2] for f in self.files if f.endswith(".c")}
            text = re.sub(r"\t&gpreempt_room_(\w+),\n", lambda m: m[0] if m[1] in there else "", text)
            text = re.sub(r"#ifdef CONFIG_\w+\n#endif\n", "", text)
        elif name == "backends.c":
            text = text.replace("#ifdef CONFIG_KFD_GPREEMPT\n\n", "").replace("\n#endif /* CONFIG_KFD_GPREEMPT */\n", "")
        return text

    def kbuild(self, text):
        """The objects whose sources are there, and the flags; without what the DKMS build has"""
        head = ["# SPDX-License-Identifier: MIT", "#",
                "# Kbuild - objects of kfd_gpreempt; backends.c is a part of kfd_device_queue_manager.c"]
        objects = []
        for name, words in re.findall(r"^gpreempt-(\S+|\$\(and [^)]*\),\S+) :?\+?= (.*)$", text.replace("\\\n", " "), re.M):
            option = re.findall(r"CONFIG_KFD_GPREEMPT_(\w+)", name)
            if set(option) <= set(self.options):
                objects += [f"gpreempt-{name} += {o}" for o in self.objects(words)]
        flags = text[text.index("GPREEMPT_FILES :="):text.index("\nendif\n")]
        return "\n".join(head + ["ifneq ($(CONFIG_KFD_GPREEMPT),)"] + objects + [flags, "endif", ""])

    def objects(self, words):
        prefix = ""
        for word in words.replace("$(addprefix", "( ").replace(")", " )").split():
            if word == ")":
                prefix = ""
            elif word.endswith("/,"):
                prefix = word[:-1]
            elif word.endswith(".o") and prefix + word[:-1] + "c" in self.files:
                yield prefix + word

    def kconfig(self):
        entries = re.split(r"^(?=config )", read("Kconfig"), flags=re.M)[1:]
        wanted = {"KFD_GPREEMPT" if o == "KFD_GPREEMPT" else f"KFD_GPREEMPT_{o}" for o in self.options}
        return "".join("\n" + e.strip("\n") + "\n" for e in entries if e.split()[1] in wanted)

    def place_hooks(self, base):
        """amdkfd, with the hooks that are there by now"""
        shutil.rmtree(f"{self.tree}/{AMD}/amdkfd")
        shutil.copytree(f"{base}/{AMD}/amdkfd", f"{self.tree}/{AMD}/amdkfd")
        if self.options:
            with open(f"{self.tree}/{AMD}/amdkfd/Kconfig", "a") as f:
                f.write(self.kconfig())
        if not self.hooks:
            return
        head, *stanzas = hooks_list()
        listed = os.path.join(base, ".hooks.list")
        with open(listed, "w") as f:
            f.write("\n".join([head] + [s for s in stanzas if s.split()[1] in self.hooks]) + "\n")
        script = os.path.join(TOP, "dkms/hooks.sh")
        if subprocess.run([script, "--series", self.series, self.tree], env=dict(os.environ, HOOKS_LIST=listed), check=False).returncode:
            die(f"the hooks of {self.series} do not fit this source")

    def add(self, patch, base):
        self.options += patch.option
        self.files += patch.file
        for name in self.files:
            path = os.path.join(self.tree, HERE, name)
            if name in patch.file or name in GROWING or "CONFIG_KFD_GPREEMPT_" in self.source(name):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as f:
                    f.write(self.text_of(name))
        for source, target in patch.copy:
            os.makedirs(os.path.dirname(os.path.join(self.tree, target)), exist_ok=True)
            run("cp", "-r", os.path.join(TOP, source), os.path.join(self.tree, target))
        if patch.hook or patch.option:
            self.hooks += patch.hook
            self.place_hooks(base)

    @staticmethod
    def source(name):
        return read(os.path.join("kfd_gpreempt", name))


def hooks_list():
    """The list's head, and its stanzas"""
    return re.split(r"\n(?=hook\t)", read(os.path.abspath(os.environ["HOOKS_LIST"]) if "HOOKS_LIST" in os.environ else "dkms/hooks.list"))


def complete(patches):
    """Is everything in a patch?"""
    tree = os.path.join(TOP, "kfd_gpreempt")
    there = {os.path.relpath(f, tree) for f in glob.glob(f"{tree}/**/*", recursive=True) if re.search(r"(\.[ch]|Kbuild)$", f)}
    files = [f for p in patches for f in p.file]
    options = {o or "KFD_GPREEMPT" for o in re.findall(r"^config KFD_GPREEMPT_?(\w*)", read("Kconfig"), re.M)}
    # Those of AMD's driver package alone are in no patch.
    hooks = {s.split()[1] for s in hooks_list()[1:] if not re.search(r"\nseries(\s+amd-\S+)+\n", s)}
    known = {"file": there, "option": options, "hook": hooks}
    named = {"file": files, "option": [o for p in patches for o in p.option], "hook": [h for p in patches for h in p.hook]}
    for kind, names in named.items():
        wrong = sorted(known[kind] ^ set(names)) + sorted({n for n in names if names.count(n) > 1})
        if wrong:
            die(f"dist/upstream/series: not in one patch, or not there: {kind} {' '.join(wrong)}")


def get_base(source, series, base):
    """What the patches touch, into the folder @base; the kernel's version"""
    if os.path.isdir(source):
        for name in ("Makefile", f"{AMD}/amdkfd", "Documentation/ABI/testing"):
            if os.path.exists(os.path.join(source, name)):
                os.makedirs(os.path.dirname(os.path.join(base, name)), exist_ok=True)
                run("cp", "-r", os.path.join(source, name), os.path.join(base, name))
    else:
        root = f"linux-source-{series}"
        run("tar", "-C", base, "--strip-components=1", "-xf", source, f"{root}/Makefile", f"{root}/{AMD}/amdkfd")
    with open(os.path.join(base, "Makefile")) as f:
        numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", f.read(), re.M))
    return tuple(int(numbers[word]) for word in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def make(source, series, out, scratch):
    patches = read_series()
    complete(patches)
    base, tree = os.path.join(scratch, "base"), os.path.join(scratch, "tree")
    os.mkdir(base)
    version = get_base(source, series, base)
    shutil.copytree(base, tree)
    git = ["git", "-C", tree, "-c", "core.autocrlf=false"]
    for name in ("user.name", "user.email"):
        git += ["-c", f"{name}={run('git', '-C', TOP, 'config', name).strip()}"]
    run(*git, "init", "-q")
    run(*git, "add", "-A")
    release = ".".join(str(n) for n in version)
    run(*git, "commit", "-qm", f"Linux {release}")
    run(*git, "tag", "base")
    stage = Stage(tree, version, series)
    for patch in patches:
        stage.add(patch, base)
        run(*git, "add", "-A")
        run(*git, "commit", "-qsF", "-", input="\n".join([patch.subject, ""] + patch.text) + "\n")
    for old in glob.glob(os.path.join(out, "*.patch")):
        os.remove(old)
    print(run(*git, "format-patch", "--cover-letter", "-o", out, "--subject-prefix=PATCH", "base"), end="")
    core = 1 + [patch.subject for patch in patches].index("drm/amdkfd: call the scheduler")
    cover = os.path.join(out, "0000-cover-letter.patch")
    with open(cover) as f:
        text = f.read()
    text = text.replace("*** SUBJECT HERE ***", "drm/amdkfd: preemptive scheduling of compute queues")
    with open(cover, "w") as f:
        f.write(text.replace("*** BLURB HERE ***\n", COVER.format(core=core, release=release)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src")
    parser.add_argument("--series")
    parser.add_argument("out")
    arguments = parser.parse_args()
    series = arguments.series or run(os.path.join(TOP, "dkms/hooks.sh"), "--base").strip()
    source = arguments.src or f"/usr/src/linux-source-{series}.tar.xz"
    if not os.path.exists(source):
        die(f"there is no {source}")
    for name in ("user.name", "user.email"):
        if subprocess.run(["git", "-C", TOP, "config", name], stdout=subprocess.DEVNULL, check=False).returncode:
            die("git config user.name and user.email say who signs off")
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        make(source, series, os.path.abspath(arguments.out), scratch)


if __name__ == "__main__":
    main()
