#!/usr/bin/env python3
"""The app is killed in the middle of an answer: what had come and been kept, as it is every second, is there again,
the draft too, and no server is left over."""

import os
import re
import sqlite3
import time

from desktop import PATIENCE_S, Desktop, is_alive

DRAFT = "a draft that must stay"


def is_kept():
    path = os.path.join(os.environ["XDG_DATA_HOME"], "sundog", "chats.db")
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE_S)
    try:
        answers = database.execute("SELECT content FROM message").fetchall()
        drafts = database.execute("SELECT draft FROM chat").fetchall()
    finally:
        database.close()
    return any("Flat, six-sided" in text for text, in answers) and (DRAFT,) in drafts

def main():
    app = Desktop()
    app.start()
    app.expect("Explain how rainbows and sundogs come about")
    app.hold("end")
    app.send("slow 400")
    app.expect(re.compile("^A sundog is"))
    app.expect(re.compile("^Flat, six-sided crystals"))
    app.type(DRAFT)
    app.wait(is_kept, "the answer and the draft to be kept")
    assert app.find("Stop"), "the answer ended before it was kept"
    server = app.server_pid()
    app.kill()
    end = time.monotonic() + PATIENCE_S
    while is_alive(server) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_alive(server), "the server outlived the app"

    app.start()
    app.expect("slow 400 – Sundog", "frame")
    app.expect("This answer was interrupted.")
    app.expect(re.compile("^A sundog is a bright spot"))
    app.expect(re.compile("^Flat, six-sided crystals"))
    assert app.text_of("Message") == DRAFT
    app.shot("recovered")
    app.press("Try again")
    app.expect("Stop")
    app.key("Escape")
    app.close()


main()
