#!/usr/bin/env python3
"""Five thousand deltas a second: the text is whole at its end, and the app answers keys while it comes."""

import itertools
import re
import time

from desktop import Desktop, read_processor_s

N_DELTAS = 30000
# The server paces itself at 5,000; it falls behind where the app does not read as fast.
LEAST_A_SECOND = 4900
# Where the machine has other work too, so that the app gets behind: what its main thread would need for them is held to
# this, half as much again, since such a machine also draws more slowly.
MOST_PROCESSOR_S = 1.5 * N_DELTAS / LEAST_A_SECOND
# Were the text drawn first, none would be.
LEAST_KEYS = 3
N_TRIES = 3


def read_rate(app):
    """What the server measured as it wrote: it can only write as fast as the app reads."""
    text = app.expect(re.compile(r"^Details, [\d,.]+ tokens/s")).get_name()
    return float(re.search(r"([\d,.]+) tokens", text).group(1).replace(",", ""))


def type_until_end(app, card):
    """How many keys had their effect in the accessibility tree while the answer was still written."""
    composer = app.expect("Message", "text", root=card)
    for n in itertools.count(1):
        app.type("x")
        app.wait(lambda: composer.get_text_iface().get_character_count() == n, "the key's effect")
        if app.find("Send", root=card):
            return n - 1


def flood(app):
    """One answer: the deltas a second that were taken, the main thread's time, and the keys answered meanwhile."""
    card = app.composer_card()
    main_thread = f"/proc/{app.process.pid}/task/{app.process.pid}/stat"
    begun = read_processor_s(main_thread)
    app.send(f"flood {N_DELTAS}")
    app.expect("Stop", root=card)
    n_keys = type_until_end(app, card)
    took = read_processor_s(main_thread) - begun
    app.key("ctrl+a", "BackSpace")
    return read_rate(app), took, n_keys


def main():
    app = Desktop()
    app.start()
    app.expect("Explain how rainbows and sundogs come about")
    # Whatever else the machine does may slow one of them down, and is not the app's doing.
    for _ in range(N_TRIES):
        rate, took, n_keys = flood(app)
        print(f"{rate:.0f} deltas a second in {took:.2f} s of the main thread, {n_keys} keys answered meanwhile")
        if (rate >= LEAST_A_SECOND or took <= MOST_PROCESSOR_S) and n_keys >= LEAST_KEYS:
            break
        app.key("ctrl+n")
    assert rate >= LEAST_A_SECOND or took <= MOST_PROCESSOR_S, f"{N_DELTAS} deltas took {took:.2f} s"
    assert n_keys >= LEAST_KEYS, f"only {n_keys} keys were answered while the text came"
    # Regenerating, editing and stopping in the middle of it must not disturb GTK, which would abort the app.
    for _ in range(3):
        app.key("ctrl+r")
        time.sleep(0.7)
        app.key("Up")
        time.sleep(0.3)
        app.key("Escape", "ctrl+l", "Escape")
        time.sleep(0.3)
    app.shot("flood")
    app.close()


main()
