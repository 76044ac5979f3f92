#!/usr/bin/env python3
"""Selection over blocks and messages, with the pointer and with keys, also while text streams, and what each puts on
the clipboard, which is read by pasting into the composer."""

import os
import re
import runpy
import subprocess

from desktop import SOURCE, Desktop
from gi.repository import Atspi

WIDTH, HEIGHT, LOW = 1100, 1180, 600
QUESTION = "Explain how rainbows and sundogs come about"
FIRST = re.compile("^A sundog is a bright spot")
ITEM = re.compile("^Flat, six-sided")


def copied(app):
    """What Ctrl+C gives; the composer is empty again afterwards."""
    app.key("ctrl+c", "ctrl+l", "ctrl+v")
    text = app.wait(lambda: app.text_of("Message"), "what was pasted")
    app.key("ctrl+a", "BackSpace")
    app.wait(lambda: not app.text_of("Message"), "the composer to be empty")
    return text


def expect_copied(app, expected):
    text = copied(app)
    assert text == expected, f"copied {text!r}, not {expected!r}"


def by_word(app):
    app.click(app.place(ITEM, x=10), times=2)
    expect_copied(app, "Flat")
    app.click(app.place(ITEM, x=10), times=3)
    app.shot("selection-block")
    expect_copied(app, "Flat, six-sided crystals sink slowly and lie level.")


def across_blocks(app):
    app.drag(app.place("How it comes about", x=2, y=0.6), app.place("plates, level", x=0.98))
    app.shot("selection-across")
    text = copied(app)
    assert text.startswith("## How it comes about\n\n1. Flat, six-sided crystals sink slowly and lie level.\n2. Light"), text
    assert text.endswith("inner edge is red.\n\n| Halo | Angle | Crystals |\n| --- | ---: | --- |\n"
                         "| Sundog | 22° | plates, level |"), text
    # Backwards, over the code, and extended.
    app.drag(app.place("Code", x=0.9, y=0.9), app.place(re.compile("follows from n = 1.31"), x=1))
    app.shot("selection-code")
    text = copied(app)
    assert text.startswith("The angle follows from `n = 1.31`, the refractive index of ice:\n\n"), text
    assert "```python\nfrom math" in text and text.endswith("```"), text
    app.click(app.place(re.compile("^Red is bent"), x=1))
    app.click(app.place(re.compile("^Light enters"), x=1), shift=True)
    expect_copied(app, "Light enters one side face and leaves another, as in a prism of 60°.")


def across_messages(app):
    """From the margin beside the question into the answer's first line."""
    x, y = app.place("Your message")
    app.drag((x - 400, y), app.place("How it comes about", x=2, y=0.1))
    app.shot("selection-messages")
    text = copied(app)
    assert text.startswith(QUESTION + "\n\nA **sundog** is a bright spot"), text
    assert text.endswith("in thin clouds."), text


def with_keys(app):
    app.click(app.place(ITEM, x=1))
    app.key("shift+Right", "shift+Right", "shift+Right", "shift+Right")
    expect_copied(app, "Flat")
    app.click(app.place(ITEM, x=1))
    app.key("ctrl+shift+Right", "ctrl+shift+Right", "shift+Left")
    expect_copied(app, "Flat, si")
    app.click(app.place(ITEM, x=1))
    app.key("shift+Down")
    expect_copied(app, "Flat, six-sided crystals sink slowly and lie level.")
    app.click(app.place(ITEM, x=60))
    app.key("shift+Home")
    first = copied(app)
    app.click(app.place(ITEM, x=60))
    app.key("shift+End")
    assert first + copied(app) == "Flat, six-sided crystals sink slowly and lie level."
    app.click(app.place("How it comes about", x=60))
    app.key("ctrl+shift+Home")
    text = copied(app)
    assert text.startswith("A **sundog** is a bright spot"), text


def everything(app, source):
    app.click(app.place(ITEM, x=10))
    app.key("ctrl+a")
    app.shot("selection-all")
    expect_copied(app, source)
    app.click(app.place("Your message"))
    app.key("ctrl+a")
    expect_copied(app, QUESTION)


def beyond_the_edge(app):
    """A drag that goes above the window scrolls up to the first message, one below it to the last."""
    app.resize(WIDTH, LOW)
    app.click((600, 300), times=20, button=5)
    app.wait(lambda: app.place("Your message")[1] < 0, "the question to be out of view")
    app.move((600, 300))
    app.pointer("mousedown", 1)
    app.move((600, 200))
    app.move((600, 1))

    app.wait(lambda: app.place("Your message")[1] > 60, "the question to come into view")
    app.pointer("mouseup", 1)
    text = copied(app)
    assert text.startswith(QUESTION + "\n\nA **sundog** is"), text


def count_windows(app):
    """A menu is a window of its own; its accessible is another each time it opens."""
    found = subprocess.run(["xdotool", "search", "--onlyvisible", "--pid", str(app.process.pid)], capture_output=True,
                           text=True)
    return len(found.stdout.split())


def while_streaming(app):
    """A selection stays while later blocks come and its menu opens and closes, and nothing moves the view."""
    app.send("slow 4000")
    app.expect("Stop")
    # Until it fills the window, so that what is pointed at below is of this answer.
    app.wait(lambda: app.expect("Answer", last=True).get_extents(Atspi.CoordType.WINDOW).height > 1.5 * LOW,
             "a long answer", 120)
    app.move((650, 300))
    before = app.place("Answer", y=0, last=True)
    app.pointer("click", "--repeat", 2, "--delay", 60, 4)
    app.wait(lambda: app.place("Answer", y=0, last=True) != before, "the view to move")
    app.wait(lambda: app.place("Answer", y=0, last=True) == app.place("Answer", y=0, last=True), "the view to rest")
    app.click((650, 300), times=3)
    before = copied(app)
    assert before.strip()
    app.click((650, 300), times=3)
    where = app.place("Answer", y=0, last=True)
    # With the pointer once: GTK on X11 loses the press that follows a menu which a short one opened.
    app.click((420, 200), button=3)
    for i in range(10):
        app.wait(lambda: count_windows(app) == 2, "the menu")
        app.key("Escape")
        app.wait(lambda: count_windows(app) == 1, "the menu to go")
        app.key("shift+F10")
    app.wait(lambda: count_windows(app) == 2, "the menu")
    app.key("Escape")
    assert app.find("Stop"), "the answer ended before the menus did"
    assert app.place("Answer", y=0, last=True) == where, "the view moved"
    expect_copied(app, before)
    # All sorts of selections over blocks that are being replaced.
    for i in range(6):
        app.click((500, 200))
        app.key("ctrl+a", "ctrl+c")
        app.drag((500, 150), (640, 420))
        app.pointer("click", 5)
    app.key("ctrl+l")
    app.press("Stop")
    app.answered()


def main():
    source = runpy.run_path(os.path.join(SOURCE, "tests/app/fake-server.py"))["ANSWER"]
    app = Desktop()
    app.start()
    app.press(QUESTION)
    app.wait(lambda: "rainbows" in app.text_of("Message"), "the suggestion in the composer")
    app.focus()
    app.resize(WIDTH, HEIGHT)
    app.key("ctrl+l", "Return")
    app.expect(FIRST)
    app.answered()
    app.expect(re.compile(r"tokens/s$"))
    for step in (by_word, across_blocks, across_messages, with_keys, lambda a: everything(a, source), beyond_the_edge,
                 while_streaming):
        step(app)
    app.close()


main()
