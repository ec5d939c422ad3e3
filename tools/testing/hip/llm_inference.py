#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llm_inference.py - the high-priority side of the demonstration with a language model: Debian's llama-server, and who asks it

    llm_inference.py MODEL

Prints "ready" once the server has answered. A line with a number on the standard input is that many requests, one after the other; it ends
with that input. All ask the same, so all answers have the same tokens: those of the first one. A latency is the time from one token of an answer
to the next. Prints progress, then one line of results; judging is the caller's.

Knows nothing of the scheduler; nice value as inherited, by the server, too.
"""
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

PORT, PROMPT, TOKENS, PAUSE_S = 8080, "Who?", 6, 0.3
SERVER = ["llama-server", "--host", "127.0.0.1", "--port", str(PORT), "-ngl", "99", "-t", "1", "-np", "1", "-c", "128", "-b", "32",
          "-ub", "32", "-fa", "off", "--fit", "off", "--no-warmup"]
ASK = {"prompt": PROMPT, "n_predict": TOKENS, "temperature": 0, "seed": 1, "ignore_eos": True, "cache_prompt": False, "stream": True,
       "return_tokens": True}


def ask():
    """Tokens of an answer, and when each was there."""
    tokens, times = [], []
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/completion", json.dumps(ASK).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                part = json.loads(line[6:])
                if part.get("tokens") and not part.get("stop"):
                    tokens += part["tokens"]
                    times += [time.monotonic()] * len(part["tokens"])
    return tokens, times


def start(model):
    server = subprocess.Popen([*SERVER, "-m", model], stdout=sys.stderr, stdin=subprocess.DEVNULL)
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health"):
                return server
        except (urllib.error.URLError, OSError):
            if server.poll() is not None:
                sys.exit("llama-server has ended")
            time.sleep(0.2)


def percentile(values, percent):
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def serve(requests, right):
    done, lost, twice, wrong, gaps = 0, 0, 0, 0, []
    for number in range(1, requests + 1):
        time.sleep(PAUSE_S)
        tokens, times = ask()
        done += len(tokens)
        lost += max(0, TOKENS - len(tokens))
        twice += max(0, len(tokens) - TOKENS)
        wrong += sum(a != b for a, b in zip(tokens, right))
        gaps += [round((b - a) * 1e6) for a, b in zip(times, times[1:])]
        print(f"progress {number}/{requests} answers, tokens {' '.join(map(str, tokens))}, last after {gaps[-1]} us", flush=True)
    print(f"inference done={done} lost={lost} twice={twice} wrong={wrong} requests={requests} p50_us={percentile(gaps, 50)} "
          f"p99_us={percentile(gaps, 99)} max_us={max(gaps)}", flush=True)


def main(model):
    server = start(model)
    right, _ = ask()
    print("ready", flush=True)
    for line in sys.stdin:
        serve(int(line), right)
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main(sys.argv[1])
