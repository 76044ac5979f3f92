#!/usr/bin/env python3
"""The app beside the real server and a real model: it starts without one, the model comes, is prepared, and
answers; and when the app is killed, neither its server nor that one's engine is left."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

from desktop import BUILD, PATIENCE_S, Desktop, is_alive

NAME = "smollm2-135m-instruct"
MODEL = os.path.join(os.environ["SUNDOG_TEST_CACHE"], "smollm2.gguf")


def ask(path, body=None):
    with open(os.path.join(os.environ["XDG_RUNTIME_DIR"], "sundog", "server.json"), encoding="utf-8") as file:
        port = json.load(file)["port"]
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(child) for child in found.split()]


def main():
    if not os.path.exists(MODEL):
        print("the starter model is not in the cache", file=sys.stderr)
        sys.exit(77)
    app = Desktop(server=False)
    for program in ("sundog", "sundog-engine"):
        shutil.copy(os.path.join(BUILD, program), app.folder)
    share = os.path.join(os.path.dirname(app.folder), "share", "sundog")
    os.makedirs(share, exist_ok=True)
    shutil.copy(os.path.join(BUILD, "data", "catalogue.json"), share)

    app.start()
    app.expect("Welcome to Sundog")
    app.focus()
    app.send("Is anybody there?")
    app.expect("Get a model first")
    app.wait(lambda: app.text_of("Message") == "Is anybody there?", "what was written to stay")
    app.key("ctrl+a", "BackSpace")
    app.press("Get a model")
    app.expect("Get: SmolLM2 135M Instruct")
    app.shot("real-catalogue")
    ask("/sundog/v1/jobs", {"kind": "pull", "source": NAME, "from": MODEL, "then_prepare": True})
    app.expect("Chat: SmolLM2 135M Instruct", seconds=120)
    app.press("Chat: SmolLM2 135M Instruct")
    app.expect("New chat – Sundog", "frame")
    app.focus()
    app.send("Say hello in five words.")
    app.expect(re.compile(r"^Details, [\d.,]+ tokens/s$"), seconds=120)
    app.answered()
    app.expect(re.compile(r"^\d+ of 8192 tokens of context$"))
    app.shot("real-answer")
    # Unloaded on the server's page, and loaded again by the next question.
    app.key("ctrl+3")
    app.expect(re.compile(rf"^{NAME} is loaded and takes .* of memory$"))
    app.press(f"Unload {NAME}")
    app.expect("No model is loaded")
    app.wait(lambda: not children(app.server_pid()), "the engine to end with its core")
    app.key("ctrl+1")
    app.expect("Say hello in five words. – Sundog", "frame")
    # Mostly in the middle of its answer; this model may also have ended it by then.
    app.send("Write a very long story about the sea, in many chapters.")
    server = app.server_pid()
    engines = app.wait(lambda: children(server), "the engine")
    app.kill()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and any(is_alive(pid) for pid in [server] + engines):
        time.sleep(0.05)
    assert not is_alive(server), "the server outlived the app"
    assert not any(is_alive(pid) for pid in engines), "an engine outlived the app"

    app.start()
    app.expect("Say hello in five words. – Sundog", "frame")
    app.expect(re.compile(r"^Port \d+$"), seconds=60)
    app.close()


main()
