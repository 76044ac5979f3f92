#!/usr/bin/env python3
"""Stands in for `sundog serve` in the app's tests: speaks the parts of its API that the app uses and streams
canned Markdown. Run as `fake-server.py serve --parent PID`, as the app runs the real one; it publishes itself in
$XDG_RUNTIME_DIR/sundog/server.json and ends with its parent.

What it does is told by the prompt: a last message with "flood N" streams N deltas at 5,000 a second, "slow N" N
deltas with 50 ms between them, "hold" never writes a token, "load" goes on loading, "refuse" is a 400, "cut"
breaks the stream in its middle, "think" reasons first, "error" sends an error inside the stream, "die" kills the
server; anything else gets the canned answer. A file fake-server.json in $XDG_CONFIG_HOME sets `empty` (no models),
`pause` (seconds between deltas) and `stamp`. While a file hold-WHAT is in $XDG_RUNTIME_DIR, WHAT waits, so that a test
sees what lies before it however slow the machine is: "start" of the server, "answer" after its thoughts, "end" of an
answer, "job" in its middle."""

import ctypes
import fcntl
import hashlib
import itertools
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = """A **sundog** is a bright spot beside the sun, about 22° away from it. It is made by *ice crystals* in thin clouds.

## How it comes about

1. Flat, six-sided crystals sink slowly and lie level.
2. Light enters one side face and leaves another, as in a prism of 60°.
3. Red is bent least, so the inner edge is red.

| Halo | Angle | Crystals |
|:-----|------:|:---------|
| Sundog | 22° | plates, level |
| 22° ring | 22° | columns, any way |
| Pillar | 0° | plates, level |

The angle follows from `n = 1.31`, the refractive index of ice:

```python
from math import asin, degrees, radians, sin

def least_deviation(n: float, prism: float = 60.0) -> float:
    \"\"\"The smallest angle by which a prism turns light.\"\"\"
    half = radians(prism / 2)
    return degrees(2 * (asin(n * sin(half)) - half))

print(f"{least_deviation(1.31):.1f} degrees")
```

> The name is old: the spot follows the sun like a dog its master.

- [x] Look a hand's width beside a low sun
- [ ] Never look at the sun itself

More is in the [atlas of optics](https://www.atoptics.co.uk/)."""

FLOOD_A_SECOND, FLOOD_BATCH = 5000, 25
NAME = "smollm2-135m-instruct"
MODEL = {"name": NAME, "title": "SmolLM2 135M Instruct", "bytes": 98362432, "damaged": False, "problem": None,
         "licence": "Apache-2.0", "maker": "Hugging Face", "n_parameters": 134515008, "context_length": 8192,
         "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
CORE = {"name": NAME, "title": "SmolLM2 135M Instruct", "bytes": 104857600, "damaged": False, "problem": None,
        "target": "host", "activations": "int8", "model": NAME, "context_length": 8192, "n_parameters": 134515008,
        "licence": "Apache-2.0", "memory_bytes": 310000000, "loaded": True,
        "speed": {"prefill_tokens_per_second": 4300.0, "decode_tokens_per_second": 520.0}}
OTHER = {**CORE, "name": "qwen2.5-coder-0.5b", "title": "Qwen2.5 Coder 0.5B", "bytes": 398000000, "loaded": False,
         "n_parameters": 494000000, "context_length": 32768, "memory_bytes": 910000000,
         "speed": {"prefill_tokens_per_second": 1500.0, "decode_tokens_per_second": 150.0}}
AVAILABLE = [
    {"name": NAME, "title": "SmolLM2 135M Instruct", "maker": "Hugging Face", "licence": "Apache-2.0",
     "n_parameters": 134515008, "context_length": 8192, "files": [{"bytes": 98362432}], "installed": True},
    {"name": "smollm2-360m-instruct", "title": "SmolLM2 360M Instruct", "maker": "Hugging Face",
     "licence": "Apache-2.0", "n_parameters": 361821120, "context_length": 8192, "files": [{"bytes": 386000000}],
     "installed": False},
    {"name": "llama-3.2-1b", "title": "Llama 3.2 1B Instruct", "maker": "Meta", "licence": "Llama 3.2",
     "n_parameters": 1236000000, "context_length": 131072, "files": [{"bytes": 1321000000}], "installed": False}]


def wait_while_held(what):
    while os.path.exists(os.path.join(os.environ["XDG_RUNTIME_DIR"], "hold-" + what)):
        time.sleep(0.02)


class State:
    def __init__(self):
        path = os.path.join(os.environ.get("XDG_CONFIG_HOME", "."), "fake-server.json")
        self.options = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
        empty = self.options.get("empty", False)
        self.models = [] if empty else [dict(MODEL)]
        self.cores = [] if empty else [dict(CORE), dict(OTHER)]
        self.core = None if empty else NAME
        self.jobs, self.requests, self.log = {}, {}, []
        self.n_jobs = self.n_requests = 0
        self.listeners, self.lock = [], threading.Lock()
        self.port = 0

    def state(self):
        loaded = next((core for core in self.cores if core["name"] == self.core), CORE)
        engine = {"state": "ready" if self.core else "none", "core": self.core, "phase": None, "progress": 1.0,
                  "message": None, "context_length": loaded["context_length"], "memory_bytes": 310000000 if self.core else 0,
                  "restarts": 0}
        engines = [engine] if self.core else []
        return {"version": "0.1.0", "pid": os.getpid(), "port": self.port, "address": "127.0.0.1",
                "started": "2026-11-30T12:00:00Z", "device": "host: AVX-512 VNNI, 2 threads", "engine": engine, "engines": engines,
                "statistics": {}}

    def tell(self, name, data):
        text = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        with self.lock:
            for listener in self.listeners:
                listener.append(text)

    def write_log(self, level, text):
        line = {"n": len(self.log), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "level": level,
                "text": text}
        self.log.append(line)
        self.tell("log", line)


STATE = State()


def run_job(job):
    total = job["bytes_total"] or 100
    while job["state"] == "running" or job["state"] == "paused":
        time.sleep(0.1)
        if job["fraction"] > 0.5:
            wait_while_held("job")
        if job["state"] != "running":
            continue
        job["fraction"] = min(1.0, job["fraction"] + 0.02)
        job["bytes_done"] = int(total * job["fraction"]) if job["bytes_total"] else 0
        if job["fraction"] >= 1.0:
            job["state"], job["result"] = "done", NAME
            if job["kind"] in ("pull", "prepare") and not STATE.cores:
                STATE.models, STATE.cores, STATE.core = [dict(MODEL)], [dict(CORE)], NAME
            STATE.tell("library", {})
            STATE.tell("state", STATE.state())
        STATE.tell("job", job)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def answer(self, data, status=200):
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, status, message):
        self.answer({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}},
                    status)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_GET(self):
        path = self.path.split("?")[0]
        plain = {"/health": lambda: {"status": "ok"}, "/sundog/v1/state": STATE.state,
                 "/sundog/v1/models": lambda: {"models": STATE.models, "available": AVAILABLE},
                 "/sundog/v1/cores": lambda: {"cores": STATE.cores},
                 "/sundog/v1/jobs": lambda: {"jobs": list(STATE.jobs.values())},
                 "/sundog/v1/requests": lambda: {"requests": list(STATE.requests.values())},
                 "/sundog/v1/log": lambda: {"lines": STATE.log}}
        if path == "/sundog/v1/events":
            self.stream_events()
        elif path in plain:
            self.answer(plain[path]())
        else:
            self.refuse(404, f"there is nothing at {path}")

    def stream_events(self):
        queue = [f"event: state\ndata: {json.dumps(STATE.state())}\n\n".encode(), b"event: foo\ndata: {}\n\n"]
        queue += [f"event: log\ndata: {json.dumps(line)}\n\n".encode() for line in STATE.log]
        queue += [f"event: job\ndata: {json.dumps(job)}\n\n".encode() for job in STATE.jobs.values()]
        self.begin_stream()
        with STATE.lock:
            STATE.listeners.append(queue)
        last = time.monotonic()
        try:
            while True:
                while queue:
                    self.send(queue.pop(0))
                time.sleep(0.02)
                if time.monotonic() - last > 10:
                    self.send(b": ping\n\n")
                    last = time.monotonic()
        except OSError:
            with STATE.lock:
                STATE.listeners.remove(queue)

    def do_DELETE(self):
        kind, name = self.path.rsplit("/", 2)[1:]
        if kind in ("models", "cores"):
            entries = getattr(STATE, kind)
            gone = [entry for entry in entries if entry["name"] == name]
            entries[:] = [entry for entry in entries if entry["name"] != name]
            STATE.tell("library", {})
            self.answer({"bytes_freed": sum(entry["bytes"] for entry in gone)})
        elif kind == "jobs" and name in STATE.jobs:
            job = STATE.jobs[name]
            job["state"] = "cancelled"
            STATE.tell("job", job)
            self.answer(job)
        else:
            self.answer({})

    def do_POST(self):
        body, path = self.body(), self.path
        if path == "/v1/chat/completions":
            self.chat(body)
        elif path == "/tokenize":
            self.answer({"tokens": list(range(len(re.findall(r"\w+|\W", body["content"]))))})
        elif path == "/sundog/v1/jobs":
            STATE.n_jobs += 1
            kind, name = body["kind"], body.get("source") or body.get("model") or ""
            job = {"id": f"j{STATE.n_jobs}", "kind": kind, "title": f"{kind} {name}", "source": name, "model": name,
                   "state": "running",
                   "phase": "weights", "fraction": 0.0, "bytes_done": 0,
                   "bytes_total": 386000000 if kind == "pull" else 0,
                   "bytes_per_second": 21000000 if kind == "pull" else 0, "message": None, "result": None}
            STATE.jobs[job["id"]] = job
            threading.Thread(target=run_job, args=(job,), daemon=True).start()
            STATE.tell("job", job)
            self.answer(job, 201)
        elif path.endswith("/pause") or path.endswith("/resume"):
            job = STATE.jobs[path.split("/")[-2]]
            job["state"] = "paused" if path.endswith("/pause") else "running"
            STATE.tell("job", job)
            self.answer(job)
        elif path == "/sundog/v1/load":
            STATE.core = body["core"]
            STATE.tell("state", STATE.state())
            self.answer(STATE.state(), 202)
        elif path == "/sundog/v1/unload":
            STATE.core = None
            STATE.tell("state", STATE.state())
            self.answer(STATE.state())
        elif path == "/sundog/v1/stop":
            self.answer({"stopping": True})
            threading.Thread(target=lambda: (time.sleep(0.1), os._exit(0)), daemon=True).start()
        else:
            self.refuse(404, f"there is nothing at {path}")

    def chat(self, body):
        prompt = body["messages"][-1]["content"]
        match = re.match(r"(flood|slow) (\d+)", prompt)
        STATE.write_log("info", f"chat completion for {body.get('model')}")
        if prompt.startswith("refuse"):
            self.refuse(400, "this prompt has 9000 tokens, the context has 8192")
            return
        if prompt.startswith("die"):
            os._exit(3)
        STATE.n_requests += 1
        request = {"id": f"r{STATE.n_requests}", "model": body.get("model"), "endpoint": "/v1/chat/completions",
                   "state": "prefill", "prompt_tokens": 40, "cached_tokens": 12, "produced_tokens": 0,
                   "time_to_first_token_ms": 11.5, "tokens_per_second": 0.0, "started": "2026-11-30T12:00:00Z"}
        STATE.requests[request["id"]] = request
        self.begin_stream()
        try:
            self.stream_answer(body, prompt, match, request)
        except OSError:
            request["state"] = "cancelled"
        STATE.tell("request", request)

    def chunk(self, delta, finish=None, **extra):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": NAME,
                                       "choices": [choice], **extra}).encode() + b"\n\n"

    def deltas(self, prompt, match):
        if match:
            words = ANSWER.replace("\n", " \n").split(" ")
            return [words[i % len(words)] + " " for i in range(int(match.group(2)))]
        return re.findall(r"\S+\s*", ANSWER)

    def stream_answer(self, body, prompt, match, request):
        if prompt.startswith("load"):
            for i in itertools.count():
                self.send(b': {"phase":"load","progress":%.2f}\n\n' % (i % 20 / 20))
                time.sleep(0.1)
        self.send(b': {"phase":"prefill","progress":0.5}\n\n')
        while prompt.startswith("hold"):
            self.send(b": ping\n\n")
            time.sleep(0.1)
        self.send(self.chunk({"role": "assistant", "content": ""}))
        if prompt.startswith("think"):
            for word in ["Let ", "me ", "think ", "about ", "this ", "for ", "a ", "moment. "] * 4:
                self.send(self.chunk({"reasoning_content": word}))
                time.sleep(0.03)
            wait_while_held("answer")
        deltas = self.deltas(prompt, match)
        pause = 0.05 if match else STATE.options.get("pause", 0.004)
        start, pending = time.monotonic(), b""
        request["state"] = "decode"
        for i, delta in enumerate(deltas):
            if prompt.startswith("cut") and i == len(deltas) // 2:
                self.connection.shutdown(socket.SHUT_RDWR)
                raise OSError
            if prompt.startswith("error") and i == len(deltas) // 2:
                self.send(b'data: {"error":{"message":"the engine was lost"}}\n\n')
                return
            pending += self.chunk({"content": delta})
            flood = match and match.group(1) == "flood"
            if flood and (i + 1) % FLOOD_BATCH:
                continue
            self.send(pending)
            pending = b""
            time.sleep(max(0, start + (i + 1) / FLOOD_A_SECOND - time.monotonic()) if flood else pause)
            request["produced_tokens"] = i + 1
            if i % 16 == 0:
                STATE.tell("request", request)
        wait_while_held("end")
        seconds = max(time.monotonic() - start, 1e-3)
        rate = len(deltas) / seconds
        request.update(state="stop", tokens_per_second=rate)
        figures = {"time_to_first_token_ms": 11.5, "tokens_per_second": rate, "prefill_tokens_per_second": 4300.0,
                   "cached_tokens": 12, "context_used": 40 + len(deltas), "context_length": 8192, "seed": 7}
        pending += self.chunk({}, "stop", sundog=figures)
        pending += b"data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": NAME,
                                           "choices": [], "usage": {"prompt_tokens": 40,
                                                                    "completion_tokens": len(deltas),
                                                                    "total_tokens": 40 + len(deltas)}}).encode()
        self.send(pending + b"\n\ndata: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")


def stamp():
    """As the app computes it for the program `sundog` beside itself, this file; `stamp` overrides it."""
    if "stamp" in STATE.options:
        return STATE.options["stamp"]
    status = os.stat(sys.argv[0])
    facts = f"{sys.argv[0]}\n{status.st_mtime_ns // 10**9}.{status.st_mtime_ns % 10**9:09d}\n{status.st_size}\n"
    digest = hashlib.sha256(facts.encode())
    config = os.path.join(os.environ.get("XDG_CONFIG_HOME", "."), "sundog", "config.json")
    if os.path.exists(config):
        digest.update(open(config, "rb").read())
    return digest.hexdigest()


def main():
    if "--parent" in sys.argv:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    wait_while_held("start")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    STATE.port = server.server_address[1]
    STATE.write_log("info", f"listening on 127.0.0.1:{STATE.port}")
    folder = os.path.join(os.environ["XDG_RUNTIME_DIR"], "sundog")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "server.json")
    lock = open(path + ".lock", "w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "port": STATE.port, "address": "127.0.0.1", "key_file": None, "stamp": stamp(),
                   "version": "0.1.0", "started": "2026-11-30T12:00:00Z"}, file)
    os.rename(path + ".part", path)
    server.serve_forever()


if __name__ == "__main__":
    main()
