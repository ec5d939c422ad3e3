#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""session.py - types at the shell of a machine with a virtual Instinct, and writes down what is on the screen

    tools/testing/vm/session.py [FILE]

Runs `vm shell --gpu mi210 --icount --out ...` in a terminal (tmux), gives the commands below one after the other, prints them with
what came of each, and writes that to FILE as well. Fails if what a command must show does not appear.

Touches: FILE, $BUILD (through make) and a temporary folder.
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))
PROMPT = "~ #"
COLUMNS, ROWS = 132, 40
TIMEOUT_S = 900         # of a command, on a host that has other things to do

# What is typed, and what has to be on the screen then. Several lines are one command.
COMMANDS = (
    ("rocminfo 2>/dev/null | sed -n '/^Agent 2/,$p' | grep -e 'Name:' -e 'Chip ID' -e 'Compute Unit' -e 'Wavefront Size'",
     r"amdgcn-amd-amdhsa--gfx90a"),
    ("hip_programs 'on a virtual MI210' 2>/dev/null | tee /out/programs", r"(?s)ok - matrix multiply.*ok - times of events"),
    ("grep -e dispatches_done -e waves_done -e instructions /sys/kernel/debug/vgpu/stats", r"dispatches_done [1-9]"),
    ("gpreemptctl tune enable=1", r""),
    # one program again and again at nice 10, and one that is more urgent now and then
    ("yes '' | nice -n 10 hip_programs $(seq 1000) >/out/again 2>/dev/null &", r""),
    ("ticker 20000 200 >/dev/null &", r""),
    ("until gpreemptctl list | grep -q ticker && gpreemptctl list | grep -q hip_prog; do sleep 1; done", r""),
    ("gpreemptctl list -o pid,command,gpu,set_prio,source", r"hip_programs.* -3 +kfd"),
    ("bpftrace -e 'tracepoint:gpreempt:gpreempt_preempt_end\n"
     "    { @saved[args->pid, args->saved_waves] = count(); @us = hist(args->elapsed_ns / 1000) } interval:s:2 { exit() }'",
     r"(?s)@saved\[\d+, [01]\]: [1-9].*@us"),
    ("gpreemptctl set -p $(pidof hip_programs) latency; gpreemptctl list -o pid,command,set_prio,source", r"hip_programs.* 100 +process"),
    ("gpreemptctl set -p $(pidof hip_programs) clear; gpreemptctl status", r" hws "),
    ("gpreemptctl top", r"PREEMPTED"),
    ("kill %1 %2; wait; gpreemptctl tune enable=0", r""),
    ("preempt -t low_hog_yields_to_late_high", r"# PASSED: +1 / 1"),
    ("ls /out; grep -c '^ok' /out/again; grep -c '^not ok' /out/again", r"(?s)programs.*\n0$"),
)
# These fill the screen until a key is pressed.
FULL_SCREEN = {"gpreemptctl top": "q"}


class Terminal:
    """tmux: a terminal without a window."""

    def __init__(self, argv, folder):
        self.socket = os.path.join(folder, "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), *argv)
        self.tmux("set-option", "-g", "history-limit", "10000")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], check=True, stdout=subprocess.PIPE, text=True).stdout

    def screen(self, what):
        history = [] if what in FULL_SCREEN else ["-S", "-"]
        return self.tmux("capture-pane", "-p", "-J", *history).rstrip()

    def dead(self, _what):
        """1 when the machine has ended. The screen says so as well, but not if tmux missed the signal that its child is no more."""
        return self.tmux("list-panes", "-F", "#{pane_dead}")

    def until(self, wanted, what, look=None):
        """The screen, or what LOOK says, when it shows what is WANTED."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            try:
                screen = (look or self.screen)(what)
            except subprocess.CalledProcessError:
                raise SystemExit(f"session: {what}: the machine has ended") from None
            if re.search(wanted, screen):
                return screen
            time.sleep(1)
        raise SystemExit(f"session: {what}: this does not show {wanted!r}:\n{screen}")

    def command(self, text):
        """Types it on a clean screen; returns what is there when the prompt is back."""
        self.tmux("send-keys", "-R")
        self.tmux("clear-history")
        for line in text.split("\n"):
            self.tmux("send-keys", "-l", line)
            self.tmux("send-keys", "Enter")
        if text in FULL_SCREEN:
            screen = self.until(dict(COMMANDS)[text], text)
            self.tmux("send-keys", FULL_SCREEN[text])
            self.until(rf"\n{PROMPT}$", f"after {text}")
            return f"{text}\n{screen}"
        return self.until(rf"\n{PROMPT}$", text).rpartition("\n")[0]

    def end(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")


def build():
    subprocess.run(["make", "-s", "-C", TOP, "testbed", "tools"], check=True)
    subprocess.run(["make", "-s", "-C", TOP, "modules", "FLAVOUR=test"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["make", "-s", "-C", os.path.join(TOP, "tools/testing/hip"), f"BUILD={BUILD}"], check=True)


def session(terminal):
    """The whole text."""
    terminal.until(rf"(^|\n){PROMPT}$", "boot")
    # quiet: the kernel's messages would come in between
    terminal.command(f"stty cols {COLUMNS} rows {ROWS}; dmesg -n 1; PS2=")
    text = ""
    for command, wanted in COMMANDS:
        said = terminal.command(command)
        print(said, flush=True)
        if not re.search(wanted, said):
            raise SystemExit(f"session: this does not show {wanted!r}: {said}")
        text += f"{PROMPT} {said}\n"
    terminal.tmux("set-option", "-g", "remain-on-exit", "on")
    terminal.tmux("send-keys", "-l", "exit")
    terminal.tmux("send-keys", "Enter")
    terminal.until("1", "exit", terminal.dead)
    return text + f"{PROMPT} exit\n"


def main():
    build()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "results")
        terminal = Terminal([os.path.join(HERE, "vm"), "shell", "--gpu", "mi210", "--icount", "--out", out], folder)
        try:
            text = session(terminal)
        finally:
            terminal.end()
        brought = sorted(os.listdir(out)) if os.path.isdir(out) else []
        if brought != ["again", "programs"]:
            raise SystemExit(f"session: of /out came: {brought}")
    if sys.argv[1:]:
        with open(sys.argv[1], "w", encoding="utf-8") as f:
            f.write("\n".join(line.rstrip() for line in text.split("\n")))


if __name__ == "__main__":
    main()
