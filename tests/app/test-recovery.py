#!/usr/bin/env python3
"""The app is killed in the middle of an answer: what had come is there again but for the last second, the draft
too, and no server is left over."""

import re
import time

from desktop import Desktop, is_alive





def main():
    app = Desktop()
    app.start()
    app.expect("Explain how rainbows and sundogs come about")
    app.send("slow 400")
    app.expect(re.compile("^A sundog is"))
    app.expect(re.compile("^Flat, six-sided crystals"))
    app.type("a draft that must stay")
    time.sleep(1.2)
    server = app.server_pid()
    app.kill()
    for _ in range(100):
        if not is_alive(server):
            break
        time.sleep(0.02)
    assert not is_alive(server), "the server outlived the app"

    app.start()
    app.expect("slow 400 – Sundog", "frame")
    app.expect("This answer was interrupted.")
    app.expect(re.compile("^A sundog is a bright spot"))
    app.expect(re.compile("^Flat, six-sided crystals"))
    assert app.text_of("Message") == "a draft that must stay"
    app.shot("recovered")
    app.press("Try again")
    app.expect("Stop")
    app.key("Escape")
    app.close()
    time.sleep(0.5)


main()
