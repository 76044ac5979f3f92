#!/usr/bin/env python3
"""What the app costs: time to its window, memory with a chat of fifty messages, wake-ups at rest."""

import os
import re
import runpy
import sqlite3
import time

from desktop import SOURCE, Desktop

# Of the processor, so that it is the same whatever else the machine does; on one at rest the window takes little more.
MOST_WINDOW_S = 1.0
# Of proportional memory; held against resident memory, which is never less: pages that others share count whole,
# as where nothing else runs GTK, so that the number is the same on every machine.
MOST_MEMORY_MB = 100
MOST_WAKE_UPS_A_SECOND = 1.0
N_MESSAGES = 50
# GTK lets the caret blink for ten seconds after the last key.
CARET_S = 11
WATCHED_S = 15
# What woke it once does not wake it every time.
N_WATCHES = 3


def fill_chat():
    """A chat of fifty messages, written into the store as the app would."""
    text = runpy.run_path(os.path.join(SOURCE, "tests/app/fake-server.py"))["ANSWER"]
    path = os.path.join(os.environ["XDG_DATA_HOME"], "sundog", "chats.db")
    database = sqlite3.connect(path)
    now = int(time.time() * 1e6)
    chat = database.execute("INSERT INTO chat (title, updated_us) VALUES ('Fifty messages', ?)", (now,)).lastrowid
    parent = 0
    for i in range(N_MESSAGES):
        content = f"Question {i}" if i % 2 == 0 else text
        parent = database.execute("INSERT INTO message (chat, parent, role, state, content, created_us) "
                                  "VALUES (?, ?, ?, 0, ?, ?)", (chat, parent, i % 2, content, now)).lastrowid
    database.execute("UPDATE chat SET head = ? WHERE id = ?", (parent, chat))
    database.commit()
    database.close()
    return chat


def read_memory_mb(pid):
    """Resident and proportional memory."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        text = file.read()
    return [int(re.search(rf"^{kind}:\s+(\d+) kB", text, re.M).group(1)) / 1000 for kind in ("Rss", "Pss")]


def read_switches(pid):
    """Voluntary switches by thread: each is one sleep that ended."""
    switches = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
            switches[thread] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))
    return switches


def count_wake_ups(before, after):
    """A thread that ended in between woke up once at least; what else it did is not known any more."""
    return sum(n - before.get(thread, 0) for thread, n in after.items()) + len(set(before) - set(after))


def watch(pid):
    """Wake-ups a second while nothing is done."""
    before = read_switches(pid)
    time.sleep(WATCHED_S)
    return count_wake_ups(before, read_switches(pid)) / WATCHED_S


def main():
    app = Desktop()
    app.start()
    app.expect(re.compile(r"^Port \d+$"))
    app.close()
    chat = fill_chat()
    app.set_setting("last-chat", f"int64 {chat}")
    window_s, processor_s = app.start()
    app.expect("Fifty messages – Sundog", "frame")
    app.expect("Question 48")
    pid = app.process.pid
    time.sleep(CARET_S)
    for _ in range(N_WATCHES):
        wake_ups = watch(pid)
        if wake_ups <= MOST_WAKE_UPS_A_SECOND:
            break
    memory = read_memory_mb(pid)
    # Going to the first message passes all of them.
    app.key("ctrl+f")
    app.type("Question 0")
    app.key("Return")
    app.expect("Question 0")
    app.key("Escape")
    time.sleep(1)
    memory_all = read_memory_mb(pid)
    print(f"window after {window_s:.2f} s, {processor_s:.2f} s of the processor, {memory[0]:.1f} MB resident, {memory[1]:.1f} MB proportional "
          f"({memory_all[0]:.1f} and {memory_all[1]:.1f} MB once all was seen), {wake_ups:.2f} wake-ups a second")
    app.shot("fifty")
    app.close()
    assert processor_s < MOST_WINDOW_S
    assert max(memory + memory_all) < MOST_MEMORY_MB
    assert wake_ups <= MOST_WAKE_UPS_A_SECOND


main()
