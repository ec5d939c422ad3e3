#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
runtime.py - a container runtime's side of the Node Resource Interface, for one plugin: registers it and creates containers

Usage: runtime.py SOCKET|- PLUGIN ARGUMENTS... <LINES; with - the plugin gets its connection as a
file (NRI_PLUGIN_SOCKET). A line is {"pod": {ANNOTATIONS}, "container": {ANNOTATIONS}}, of a container
to create, or {"refuse": REASON}, before those: the registration is refused. {"call": NAME} is any
other call; {"say": HEX} are bytes in place of a call. Prints the plugin's name and index, the events
that it wants, and a line for what it answers.

Messages are written and read here field by field, by their published numbers. Frames are small.
"""
import json
import os
import socket
import struct
import subprocess
import sys


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """[(number, value)], values are bytes or integers"""
    at, found = 0, []

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def one(data, number, default=b""):
    return next((value for n, value in fields(data) if n == number), default)


def all_of(data, number):
    return [value for n, value in fields(data) if n == number]


class Connection:
    def __init__(self, sock):
        self.sock, self.streams, self.calls = sock, {1: b"", 2: b""}, 0

    def exactly(self, length):
        data = b""
        while len(data) < length:
            part = self.sock.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def message(self, channel):
        """(call, type, payload) of the next message on a channel"""
        while True:
            stream = self.streams[channel]
            if len(stream) >= 10:
                length, call, kind = struct.unpack(">IIB", stream[:9])
                if len(stream) >= 10 + length:
                    self.streams[channel] = stream[10 + length:]
                    return call, kind, stream[10:10 + length]
            to, length = struct.unpack(">II", self.exactly(8))
            assert length <= 4096, length
            self.streams[to] += self.exactly(length)

    def send(self, channel, data):
        for at in range(0, len(data), 7):
            part = data[at:at + 7]
            self.sock.sendall(struct.pack(">II", channel, len(part)) + part)

    def call(self, method, payload):
        """the answer's payload, or REFUSED: and its error"""
        self.calls += 2
        request = field(1, "nri.pkg.api.v1alpha1.Plugin") + field(2, method) + field(3, payload) + field(4, 2 * 10**9)
        self.send(1, struct.pack(">IIBB", len(request), self.calls, 1, 0) + request)
        call, kind, answer = self.message(1)
        assert (call, kind) == (self.calls, 2), (call, kind)
        if one(one(answer, 1), 1, 0):
            return "refused: " + one(one(answer, 1), 2).decode()
        return one(answer, 2)


def annotated(name, annotations):
    """A pod or a container, with fields around the annotations as a runtime has them"""
    data = field(1, "id-of-" + name) + field(2, name) + field(5, field(1, "label") + field(2, "value"))
    for key, value in annotations.items():
        data += field(6, field(1, key) + field(2, value))
    return data + field(12, 4711)


def adjustment(answer):
    if isinstance(answer, str):
        return answer
    adjust = one(answer, 1)
    hooks = one(adjust, 5)
    return json.dumps({
        "annotations": {one(a, 1).decode(): one(a, 2).decode() for a in all_of(adjust, 2)},
        "hooks": [[one(h, 1).decode()] + [a.decode() for a in all_of(h, 2)] for h in all_of(hooks, 2)],
        "others": sorted({n for n, _ in fields(answer)} - {1} | {n for n, _ in fields(adjust)} - {2, 5} |
                         {n for n, _ in fields(hooks)} - {2}),
    }, sort_keys=True)


def start(path, command):
    if path == "-":
        ours, theirs = socket.socketpair()
        # As runtimes do, at this number
        os.dup2(theirs.fileno(), 9)
        plugin = subprocess.Popen(command, pass_fds=[9], env={**os.environ, "NRI_PLUGIN_SOCKET": "9",
                                                              "NRI_PLUGIN_NAME": "mine", "NRI_PLUGIN_IDX": "07"})
        os.close(9)
        theirs.close()
        return ours, plugin
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    listening.settimeout(60)
    plugin = subprocess.Popen(command)
    return listening.accept()[0], plugin


def main():
    sock, plugin = start(sys.argv[1], sys.argv[2:])
    sock.settimeout(60)
    runtime = Connection(sock)
    lines = [json.loads(line) for line in sys.stdin]
    call, kind, request = runtime.message(2)
    wanted = one(request, 3)
    print(one(request, 1).decode(), one(request, 2).decode(), kind, one(wanted, 1).decode(), one(wanted, 2).decode())
    refused = b"".join(field(1, field(1, 5) + field(2, line["refuse"])) for line in lines if "refuse" in line)
    runtime.send(2, struct.pack(">IIBB", len(refused), call, 2, 0) + refused)
    try:
        print("events", one(runtime.call("Configure", field(2, "stand-in")), 2, 0))
        pods = field(1, annotated("old", {"kfd-gpreempt/priority": "batch"}))
        print("more", one(runtime.call("Synchronize", pods + field(3, 1)), 2, 0), one(runtime.call("Synchronize", pods), 2, 0))
        for line in lines:
            if "say" in line:
                runtime.send(1, bytes.fromhex(line["say"]))
                runtime.message(1)
            elif "call" in line:
                print(runtime.call(line["call"], b""))
            else:
                asked = field(1, annotated("pod", line["pod"])) + field(2, annotated("container", line["container"]))
                print(adjustment(runtime.call("CreateContainer", asked)), flush=True)
    except (EOFError, ConnectionError):
        print("the plugin has gone")
    sock.close()
    print("exit status", plugin.wait(60))


main()
