"""Drives the real app for its tests: a copy of it beside the scripted server, looked at and pressed through the
accessibility tree, typed into through the display.

Criticals are fatal to the app, and any other warning on its console fails the test at the end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

BUILD = os.environ["SUNDOG_BUILD"]
SOURCE = os.environ["SUNDOG_SOURCE"]
HOME = os.environ["HOME"]
# Where a person may look at what was seen; kept from run to run only where it exists already.
SHOTS = os.path.join(os.environ["SUNDOG_TEST_CACHE"], "screenshots")
# Nothing in a test's surroundings: no portal, no settings service, no sound. And GtkTextView lays out a long text that
# was pasted while it draws, which moves its scroll bar under GTK's own hands.
HARMLESS = re.compile(r"dbus-daemon|SpiRegistry|^\s*$|at-spi2-registryd|snapshot GtkGizmo \S+ without a current alloc")
# What GTK calls a widget that nobody named.
NAMELESS = re.compile(r"^$|^(Gtk|Sundog)[A-Z]\w*$")
# Far more than anything takes: what waits longer hangs.
PATIENCE_S = 60
# Not the less than a second that assistive programs give an app to answer in.
Atspi.set_timeout(PATIENCE_S * 1000, PATIENCE_S * 1000)


class Desktop:
    def __init__(self, options=None, server=True):
        self.folder = os.path.join(HOME, "bin")
        self.console = os.path.join(HOME, "console")
        os.makedirs(os.path.join(self.folder, "data"), exist_ok=True)
        shutil.copy(os.path.join(BUILD, "sundog-desktop"), self.folder)
        shutil.copy(os.path.join(BUILD, "data", "gschemas.compiled"), os.path.join(self.folder, "data"))
        server_path = os.path.join(self.folder, "sundog")
        if server and not os.path.lexists(server_path):
            os.symlink(os.path.join(SOURCE, "tests/app/fake-server.py"), server_path)
        self.set_options(options or {})
        self.process = None
        self.window_id = None
        self.width = 1100

    def set_options(self, options):
        import json
        path = os.path.join(os.environ["XDG_CONFIG_HOME"], "fake-server.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(options, file)

    def hold(self, what):
        """Keeps the scripted server from going on; its head tells at what."""
        open(self.hold_path(what), "w", encoding="utf-8").close()

    def let_go(self, what):
        os.remove(self.hold_path(what))

    def hold_path(self, what):
        return os.path.join(os.environ["XDG_RUNTIME_DIR"], "hold-" + what)

    def set_setting(self, key, value):
        path = os.path.join(os.environ["XDG_CONFIG_HOME"], "sundog", "desktop.ini")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"[Sundog]\n{key}={value}\n")

    def start(self):
        """Starts the app and returns the seconds until its window was on the display, and those of the processor."""
        begun = time.monotonic()
        log = open(self.console, "ab")
        self.process = subprocess.Popen([os.path.join(self.folder, "sundog-desktop")], stdout=log, stderr=log,
                                        env={**os.environ, "G_DEBUG": "fatal-criticals"})
        self.window_id = self.wait(self.find_window, "the window")
        took = time.monotonic() - begun, read_processor_s(f"/proc/{self.process.pid}/stat")
        self.wait(lambda: self.app() is not None, "the app in the accessibility tree")
        self.focus()
        return took

    def find_window(self):
        """Asked often, so that what is measured is the app."""
        assert self.process.poll() is None, f"the app ended with {self.process.returncode}\n{self.read_console()}"
        found = subprocess.run(["xdotool", "search", "--onlyvisible", "--pid", str(self.process.pid)],
                               capture_output=True, text=True).stdout.split()
        return found[-1] if found else None

    def focus(self):
        subprocess.run(["xdotool", "windowfocus", "--sync", self.window_id], check=True, timeout=PATIENCE_S)

    def key(self, *keys):
        for key in keys:
            subprocess.run(["xdotool", "key", "--delay", "5", key], check=True)
        time.sleep(0.05)

    def type(self, text):
        subprocess.run(["xdotool", "type", "--delay", "4", text], check=True)

    def resize(self, width, height):
        subprocess.run(["xdotool", "windowsize", self.window_id, str(width), str(height)], check=True)
        self.width = width
        time.sleep(0.5)

    def pointer(self, *arguments):
        subprocess.run(["xdotool", *map(str, arguments)], check=True, timeout=PATIENCE_S)
        time.sleep(0.05)

    def place(self, name, x=0.5, y=0.5, last=False, role=None):
        """A point of a widget in the window; a number of pixels from its left where x is at least 1."""
        frame = self.expect(re.compile("Sundog$"), "frame").get_extents(Atspi.CoordType.WINDOW)
        box = self.expect(name, role, last=last).get_extents(Atspi.CoordType.WINDOW)
        border = (self.width - frame.width) // 2
        return (int(border + box.x + (x if x >= 1 else box.width * x)), int(border + box.y + box.height * y))

    def move(self, point):
        self.pointer("mousemove", "--window", self.window_id, *point)

    def click(self, point, times=1, button=1, shift=False):
        self.move(point)
        if shift:
            self.pointer("keydown", "shift")
        self.pointer("click", "--repeat", times, "--delay", 30, button)
        if shift:
            self.pointer("keyup", "shift")

    def drag(self, start, end):
        self.move(start)
        self.pointer("mousedown", 1)
        for i in range(1, 6):
            self.move([a + (b - a) * i // 5 for a, b in zip(start, end)])
        self.pointer("mouseup", 1)

    def shot(self, name):
        """Keeps what is on the display, where a folder for it exists."""
        if os.path.isdir(SHOTS) and shutil.which("import"):
            subprocess.run(["import", "-window", self.window_id, os.path.join(SHOTS, name + ".png")], check=False)

    def wait(self, what, name, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while True:
            try:
                found = what()
            except GLib.Error:
                found = None
            if found:
                return found
            if self.process and self.process.poll() is not None:
                raise AssertionError(f"the app ended with {self.process.returncode}\n{self.read_console()}")
            if time.monotonic() > end:
                self.shot("failed")
                self.print_tree()
                raise AssertionError(f"waited in vain for {name}")
            time.sleep(0.03)

    def app(self):
        desktop = Atspi.get_desktop(0)
        for i in range(desktop.get_child_count()):
            child = desktop.get_child_at_index(i)
            if child and child.get_process_id() == self.process.pid:
                child.clear_cache()
                return child
        return None

    def walk(self, root=None, showing=True):
        """Every accessible that is visible, parents first; pages behind the one that is shown count as well."""
        pending = [root or self.app()]
        while pending:
            node = pending.pop()
            if node is None:
                continue
            states = node.get_state_set()
            hidden = not states.contains(Atspi.StateType.VISIBLE)
            if showing and hidden and node.get_role() != Atspi.Role.APPLICATION:
                continue
            yield node
            children = [node.get_child_at_index(i) for i in range(node.get_child_count())]
            pending.extend(reversed(children))

    def print_tree(self):
        try:
            for node in self.walk():
                name = node.get_name()
                if name:
                    print(f"{node.get_role_name():18} {name[:90]!r}", file=sys.stderr)
        except GLib.Error as error:
            print(error, file=sys.stderr)

    def find_all(self, name, role=None, root=None):
        """The shown accessibles of this exact name, or whose name a compiled pattern finds; below `root` where one is
        given, since going through a long conversation takes its time."""
        matches = name.search if isinstance(name, re.Pattern) else lambda text: text == name
        for node in self.walk(root):
            if matches(node.get_name() or "") and (role is None or node.get_role_name() == role):
                yield node

    def find(self, name, role=None, last=False, root=None):
        """The first of them, or the last."""
        found = None
        for found in self.find_all(name, role, root):
            if not last:
                break
        return found

    def expect(self, name, role=None, seconds=PATIENCE_S, last=False, root=None):
        return self.wait(lambda: self.find(name, role, last, root), repr(name), seconds)

    def expect_focus(self, name, role=None):
        """So that the keys that follow go there."""
        return self.wait(lambda: any(node.get_state_set().contains(Atspi.StateType.FOCUSED)
                                     for node in self.find_all(name, role)), f"{name!r} to have the focus")

    def composer_card(self):
        """Everything at the foot of a conversation."""
        node = self.expect("Message", "text")
        while not self.find(re.compile("^(Send|Stop)$"), root=node):
            node = node.get_parent()
        return node

    def expect_gone(self, name, role=None, root=None):
        self.wait(lambda: self.find(name, role, root=root) is None, f"{name!r} to go")

    def press(self, name, last=False, root=None):
        matches = name.search if isinstance(name, re.Pattern) else lambda text: text == name

        def find_pressable():
            matching = [node for node in self.walk(root) if node.get_role_name() != "label"
                        and matches(node.get_name() or "") and node.get_action_iface()
                        and node.get_action_iface().get_n_actions() > 0]
            return matching[-1 if last else 0] if matching else None
        self.wait(find_pressable, f"something to press named {name!r}").get_action_iface().do_action(0)

    def text_of(self, name, role=None):
        node = self.expect(name, role)
        text = node.get_text_iface()
        return text.get_text(0, text.get_character_count()) if text else ""

    def send(self, text):
        self.type(text)
        self.key("Return")

    def answered(self, seconds=PATIENCE_S):
        """Waits until no answer is being written."""
        self.wait(lambda: self.find("Send"), "the end of the answer", seconds)

    def server_pid(self):
        import json
        path = os.path.join(os.environ["XDG_RUNTIME_DIR"], "sundog", "server.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)["pid"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        """Ends the app as a person would, and holds it to its manners."""
        self.focus()
        self.key("ctrl+q")
        code = self.process.wait(PATIENCE_S)
        assert code == 0, f"the app ended with {code}\n{self.read_console()}"
        self.assert_console_clean()

    def read_console(self):
        with open(self.console, encoding="utf-8", errors="replace") as file:
            return file.read()

    def assert_console_clean(self):
        lines = [line for line in self.read_console().splitlines() if not HARMLESS.search(line)]
        assert not lines, "the console says:\n" + "\n".join(lines)


def read_processor_s(path):
    """A process's or a thread's time so far, from its file of /proc."""
    with open(path, encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
