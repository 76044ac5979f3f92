#!/usr/bin/env python3
"""A person's whole way through the app: first chat, stop in every phase, queue, edit, branches, errors, rename,
delete and undo, find, library, server, preferences, small and dark."""

import re
import time

from desktop import NAMELESS, Desktop


def first_answer(app):
    app.expect("SmolLM2 135M Instruct", "label")
    app.press("Explain how rainbows and sundogs come about")
    app.wait(lambda: "rainbows" in app.text_of("Message"), "the suggestion in the composer")
    app.focus()
    app.key("ctrl+l", "Return")
    app.expect(re.compile("^A sundog is a bright spot"))
    app.answered()
    for text in ["How it comes about", "plates, level", re.compile("follows from n = 1.31"), "Python",
                 re.compile("like a dog its master")]:
        app.expect(text)
    assert "least_deviation" in app.text_of("Code")
    app.expect(re.compile(r"tokens/s$"))
    app.expect("Explain how rainbows and sundogs come about – Sundog", "frame")
    app.shot("chat-light")


def input_method(app):
    """Enter and Escape are the input method's as long as it composes; GTK's own composes code points."""
    app.type("caf")
    app.key("ctrl+shift+u")
    app.type("e9")
    app.shot("preedit")
    app.key("Return")
    app.wait(lambda: app.text_of("Message") == "café", "the composed character")
    app.key("ctrl+shift+u")
    app.type("41")
    app.key("Escape")
    app.key("ctrl+a", "BackSpace", "Up")
    app.expect_focus("Edit message", "text")
    app.key("ctrl+shift+u", "Escape")
    app.expect("Edit message", "text")
    app.key("Escape")
    app.expect_gone("Edit message", "text")
    app.key("ctrl+l")


def stop_in_every_phase(app):
    card = app.composer_card()
    app.send("hold the line")
    app.expect("Stop", root=card)
    app.press("Stop")
    app.expect("Stopped before it began.")
    app.send("load something")
    app.expect(re.compile(r"^Loading the model, \d+ %$"), root=card)
    app.key("Escape")
    app.answered()
    app.hold("end")
    app.send("slow 20")
    app.expect("Writing", root=card)
    app.key("Escape")
    app.answered()
    app.let_go("end")


def queue(app):
    app.hold("end")
    app.send("slow 20")
    app.expect("Stop")
    app.send("the queued question")
    app.expect("Next")
    app.expect("the queued question")
    app.shot("queued")
    app.let_go("end")
    app.expect_gone("Next")
    app.answered()
    app.expect(re.compile("atlas of optics"), last=True)


def branches(app):
    app.key("ctrl+n")
    app.send("slow 3")
    app.answered()
    app.key("ctrl+r")
    app.expect("2 / 2")
    app.answered()
    app.key("alt+Left")
    app.expect("1 / 2")
    app.key("alt+Right")
    app.expect("2 / 2")
    app.key("Up")
    app.expect_focus("Edit message")
    app.key("ctrl+a")
    app.send("slow 4")
    app.answered()
    app.expect("slow 4")
    app.expect("2 / 2")


def errors(app):
    app.key("ctrl+n")
    app.send("refuse this")
    app.expect("The server refused this message.")
    app.send("error please")
    app.expect("The answer could not be finished.")
    app.send("cut this")
    app.expect("This answer was interrupted.")
    app.shot("errors")
    before = app.server_pid()
    app.hold("start")
    app.send("die now")
    app.expect("Waiting for the server")
    app.key("Escape")
    app.answered()
    app.let_go("start")
    app.wait(lambda: app.server_pid() != before, "another server")
    app.wait(lambda: app.find(re.compile(r"^Port \d+$")), "the server to be ready")
    app.hold("end")
    app.send("slow 20")
    app.expect("Stop")
    app.let_go("end")
    app.answered()


def think(app):
    app.key("ctrl+n")
    app.hold("answer")
    app.send("think first")
    app.expect("Thinking")
    app.let_go("answer")
    app.expect(re.compile(r"^Thought for \d+ seconds?$"))
    app.answered()


SMALL, LARGE = "SmolLM2 135M Instruct", "Qwen2.5 Coder 0.5B"


def choose_model(app, before, after):
    app.press(f"Model: {before}")
    either = re.compile(f"^({SMALL}|{LARGE})$")
    app.expect_focus(either, "list item")
    app.key("Home" if after == SMALL else "End")
    app.expect_focus(after, "list item")
    app.key("Return")
    app.expect(f"Model: {after}")


def context(app):
    """A chat's meter is of its own model's context, whichever was asked last."""
    app.expect(re.compile(r"^\d+ of 8192 tokens of context$"))
    choose_model(app, SMALL, LARGE)
    app.expect(re.compile(r"^\d+ of 32768 tokens of context$"))
    app.key("ctrl+n")
    choose_model(app, LARGE, SMALL)
    app.key("ctrl+l")
    app.expect_focus("Message", "text")
    app.send("slow 3")
    app.answered()
    app.expect(re.compile(r"^\d+ of 8192 tokens of context$"))
    app.key("ctrl+k", "Tab", "Down", "Return")
    app.expect(f"Model: {LARGE}")
    app.expect(re.compile(r"^\d+ of 32768 tokens of context$"))
    choose_model(app, LARGE, SMALL)


def undo(app, toast, chats):
    """It is offered for six seconds, too short for a look at all of the window where the machine is slow."""
    app.expect("“A better name” was deleted", root=toast)
    app.expect_gone("A better name", "list item", root=chats)
    app.press("Undo", root=toast)
    app.expect("A better name", "list item", root=chats)


def swipe(app, toast, chats):
    """A little to the side does nothing, far enough deletes, to either side."""
    row = app.place("A better name", x=0.3, role="list item")
    app.drag(row, (row[0] + 60, row[1]))
    app.expect("A better name", "list item")
    for by in (150, -60):
        app.move(row)
        app.pointer("mousedown", 1)
        for i in range(1, 6):
            app.move((row[0] + by * i // 5, row[1]))
        app.shot("swipe" + str(by))
        app.pointer("mouseup", 1)
        if by < 0:
            app.expect("A better name", "list item")
        else:
            undo(app, toast, chats)


def sidebar(app):
    app.expect("refuse this", "list item")
    app.key("ctrl+k")
    app.type("refuse")
    app.expect_gone("slow 3", "list item")
    app.key("Tab", "F2")
    app.expect_focus("Title of the chat")
    app.type("not this")
    app.key("Escape", "ctrl+l")
    app.expect_focus("Message", "text")
    app.expect("refuse this", "list item")
    app.key("ctrl+k", "Tab", "F2")
    app.expect_focus("Title of the chat")
    app.key("ctrl+a")
    app.type("A better name")
    app.key("Return")
    app.expect("A better name", "list item")
    toast, chats = app.expect("SundogToaster"), app.expect("Chats", "list")
    app.key("Delete")
    undo(app, toast, chats)
    swipe(app, toast, chats)
    app.key("ctrl+k", "ctrl+a")
    app.type("rainbows")
    app.expect_gone("A better name", "list item")
    app.key("Return")
    app.expect("Explain how rainbows and sundogs come about – Sundog", "frame")
    app.key("ctrl+k", "Escape")
    app.key("ctrl+f")
    app.type("REFRACTIVE")
    app.expect(re.compile(r"^\d / \d$"))
    app.wait(lambda: 60 < app.place(re.compile("refractive index"), last=True)[1] < 600, "what was found in view")
    app.shot("found")
    app.key("Escape")


def pages(app):
    app.key("ctrl+2")
    app.expect("Library – Sundog", "frame")
    app.expect(re.compile(r"^Runs on the processor, 0\.3 of"))
    app.shot("library")
    app.hold("job")
    app.press("Get: SmolLM2 360M Instruct")
    app.expect(re.compile("^Getting smollm2-360m-instruct"))
    app.press("Pause")
    app.expect("Paused")
    app.press("Resume")
    app.shot("job")
    app.let_go("job")
    app.expect_gone(re.compile("^Getting smollm2-360m-instruct"))
    app.press("Delete Qwen2.5 Coder 0.5B")
    app.expect(re.compile("398 MB come back"))
    app.press(re.compile("^Cancel"), last=True)
    app.expect_gone(re.compile("398 MB come back"))
    app.expect("Qwen2.5 Coder 0.5B")
    app.focus()
    app.key("ctrl+3")
    app.expect("Server – Sundog", "frame")
    app.expect("Running")
    app.expect(re.compile(r"^curl http://127"))
    app.shot("server")


def windows(app):
    app.key("ctrl+comma")
    app.expect("Enter sends")
    app.key("Escape")
    app.expect_gone("Enter sends")
    app.focus()
    app.key("ctrl+question")
    app.expect("Regenerate the answer")
    app.key("Escape")
    app.focus()


def names(app):
    """Whatever can be pressed or typed into says what it is."""
    speaking = {"push button", "button", "toggle button", "text", "entry", "check box", "switch", "combo box",
                "list item", "list"}
    for page in ("ctrl+1", "ctrl+2", "ctrl+3"):
        app.key(page)
        time.sleep(0.4)
        for node in app.walk():
            inside = node.get_parent().get_role_name() if node.get_parent() else ""
            # The button inside a combo box is GTK's own; the combo box has the name.
            if inside != "combo box" and node.get_role_name() in speaking and NAMELESS.search(node.get_name() or ""):
                parents = []
                parent = node.get_parent()
                while parent:
                    parents.append(f"{parent.get_role_name()} {parent.get_name()!r}")
                    parent = parent.get_parent()
                shown = [child.get_name() for child in app.walk(node.get_parent())]
                raise AssertionError(f"a {node.get_role_name()} without a name in {' < '.join(parents[:6])}: {shown}")


def small_and_dark(app):
    app.key("ctrl+1")
    app.resize(360, 480)
    app.expect("Message")
    app.shot("small")
    app.key("F9")
    app.expect("Search chats")
    time.sleep(0.4)
    app.shot("small-sidebar")
    app.key("F9")
    app.resize(1100, 760)


def main():
    app = Desktop()
    app.start()
    steps = (first_answer, input_method, stop_in_every_phase, queue, branches, errors, think, context, sidebar, pages, windows, names,
             small_and_dark)
    for step in steps:
        print(step.__name__, flush=True)
        step(app)
    app.close()
    app.set_setting("color-scheme", "'dark'")
    app.start()
    app.expect(re.compile("Sundog$"), "frame")
    app.shot("dark")
    app.close()


main()
