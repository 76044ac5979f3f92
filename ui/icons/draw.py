#!/usr/bin/env python3
"""Draws the app's symbolic icons: draw.py LIST writes one SVG an icon beside LIST, and LIST itself, the
description of the GResource that holds them.

GTK recolours the fill of symbolic icons and ignores strokes, so a line is drawn here as the outline of
its stroke: every icon is made of lines, arcs, frames and dots of one width on a grid of 16."""

import math
import os
import sys

WIDTH = 1.5


def number(value):
    return f"{value:.3f}".rstrip("0").rstrip(".")


def path(data, evenodd=False):
    rule = ' fill-rule="evenodd"' if evenodd else ""
    return f'<path d="{data}"{rule}/>'


def dot(x, y, r):
    x0, x1, y, r = number(x - r), number(x + r), number(y), number(r)
    return path(f"M{x0} {y}A{r} {r} 0 1 1 {x1} {y}A{r} {r} 0 1 1 {x0} {y}Z")


def segment(x0, y0, x1, y1, width):
    r, length = width / 2, math.hypot(x1 - x0, y1 - y0)
    nx, ny = -(y1 - y0) / length * r, (x1 - x0) / length * r
    n = number
    return path(f"M{n(x0 + nx)} {n(y0 + ny)}A{n(r)} {n(r)} 0 0 1 {n(x0 - nx)} {n(y0 - ny)}"
                f"L{n(x1 - nx)} {n(y1 - ny)}A{n(r)} {n(r)} 0 0 1 {n(x1 + nx)} {n(y1 + ny)}Z")


def line(*points, width=WIDTH):
    return "".join(segment(*points[i], *points[i + 1], width) for i in range(len(points) - 1))


def ring(x, y, r, width=WIDTH):
    data = ""
    for radius in (r + width / 2, r - width / 2):
        a, b, q = number(x - radius), number(x + radius), number(radius)
        data += f"M{a} {number(y)}A{q} {q} 0 1 1 {b} {number(y)}A{q} {q} 0 1 1 {a} {number(y)}Z"
    return path(data, evenodd=True)


def arc(x, y, r, start, end, width=WIDTH):
    """Degrees, clockwise from the right, in short chords that look round at icon sizes."""
    steps = max(4, int(abs(end - start) / 12))
    points = [(x + r * math.cos(math.radians(start + (end - start) * i / steps)),
               y + r * math.sin(math.radians(start + (end - start) * i / steps)))
              for i in range(steps + 1)]
    return line(*points, width=width)


def box(x, y, w, h, r):
    n = number
    return (f"M{n(x + r)} {n(y)}H{n(x + w - r)}A{n(r)} {n(r)} 0 0 1 {n(x + w)} {n(y + r)}"
            f"V{n(y + h - r)}A{n(r)} {n(r)} 0 0 1 {n(x + w - r)} {n(y + h)}"
            f"H{n(x + r)}A{n(r)} {n(r)} 0 0 1 {n(x)} {n(y + h - r)}"
            f"V{n(y + r)}A{n(r)} {n(r)} 0 0 1 {n(x + r)} {n(y)}Z")


def frame(x, y, w, h, r=2, width=WIDTH):
    d = width / 2
    return path(box(x - d, y - d, w + width, h + width, r + d)
                + box(x + d, y + d, w - width, h - width, max(r - d, 0.1)), evenodd=True)


def block(x, y, w, h, r=1):
    return path(box(x, y, w, h, r))


def polygon(*points):
    return path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "Z")


ICONS = {
    "sidebar": frame(2, 3, 12, 10, 2.5) + line((6.2, 3), (6.2, 13)),
    "new-chat": line((8, 2.75), (4.5, 2.75), (3.2, 3.3), (2.75, 4.5), (2.75, 11.5), (3.2, 12.7), (4.5, 13.25),
                     (11.5, 13.25), (12.7, 12.7), (13.25, 11.5), (13.25, 8))
    + line((7, 9), (7.4, 7.2), (12, 2.6), (13.4, 4), (8.8, 8.6), (7, 9)),
    "menu": line((3, 4), (13, 4)) + line((3, 8), (13, 8)) + line((3, 12), (13, 12)),
    "more": dot(3.5, 8, 1.3) + dot(8, 8, 1.3) + dot(12.5, 8, 1.3),
    "send": line((8, 13), (8, 3.2), width=2) + line((3.8, 7.2), (8, 3), (12.2, 7.2), width=2),
    "stop": block(4, 4, 8, 8, 1.8),
    "copy": frame(5.75, 5.75, 7.5, 7.5, 1.8) + line((3.6, 10.2), (2.75, 9.4), (2.75, 4), (4, 2.75), (9.4, 2.75), (10.2, 3.6)),
    "edit": line((2.9, 13.1), (3.5, 10.2), (10.7, 3), (13, 5.3), (5.8, 12.5), (2.9, 13.1)),
    "regenerate": arc(8, 8, 5.25, -20, -310) + line((13.1, 2.9), (13.1, 6.2), (9.8, 6.2)),
    "library": frame(2.5, 2.75, 3, 10.5, 0.9) + frame(6.4, 2.75, 3, 10.5, 0.9) + line((11.3, 3.6), (13.6, 12.9)),
    "server": frame(2.5, 2.75, 11, 4, 1.4) + frame(2.5, 9.25, 11, 4, 1.4) + dot(5, 4.75, 0.85) + dot(5, 11.25, 0.85),
    "chat": line((3.6, 3.25), (12.4, 3.25), (13.5, 4.4), (13.5, 9.6), (12.4, 10.75), (7.5, 10.75), (4.5, 13.4), (4.5, 10.75),
                 (3.6, 10.75), (2.5, 9.6), (2.5, 4.4), (3.6, 3.25)),
    "search": ring(7, 7, 4.25) + line((10.3, 10.3), (13.4, 13.4)),
    "pin": line((5.4, 2.75), (10.6, 2.75)) + line((6.2, 2.75), (6.2, 6.6), (4.2, 9.25), (11.8, 9.25), (9.8, 6.6), (9.8, 2.75))
    + line((8, 9.25), (8, 13.5)),
    "trash": line((2.75, 4.25), (13.25, 4.25)) + line((6.2, 4.25), (6.2, 2.6), (9.8, 2.6), (9.8, 4.25))
    + line((4, 4.25), (4.6, 13.25), (11.4, 13.25), (12, 4.25)),
    "close": line((4, 4), (12, 12)) + line((12, 4), (4, 12)),
    "down": line((3.8, 6), (8, 10.2), (12.2, 6)),
    "up": line((3.8, 10.2), (8, 6), (12.2, 10.2)),
    "left": line((10, 3.8), (5.8, 8), (10, 12.2)),
    "right": line((6, 3.8), (10.2, 8), (6, 12.2)),
    "newest": line((8, 3), (8, 12.6)) + line((4, 8.8), (8, 12.8), (12, 8.8)),
    "check": line((3, 8.6), (6.4, 12), (13, 4.4)),
    "warning": line((8, 2.6), (14, 13.2), (2, 13.2), (8, 2.6)) + line((8, 6.4), (8, 9.4)) + dot(8, 11.4, 0.85),
    "info": ring(8, 8, 5.75) + dot(8, 5.1, 0.9) + line((8, 7.7), (8, 11)),
    "wrap": line((2.75, 3.75), (13.25, 3.75)) + line((2.75, 8), (11.4, 8)) + arc(11.4, 10.1, 2.1, -90, 90)
    + line((11.4, 12.2), (7.4, 12.2)) + line((9.2, 10.3), (7.2, 12.2), (9.2, 14.1)) + line((2.75, 12.2), (4.6, 12.2)),
    "sliders": line((2.75, 4.5), (8.2, 4.5)) + ring(10.2, 4.5, 1.6) + line((12.2, 4.5), (13.25, 4.5))
    + line((2.75, 11.5), (3.8, 11.5)) + ring(5.8, 11.5, 1.6) + line((7.8, 11.5), (13.25, 11.5)),
    "download": line((8, 2.75), (8, 9.6)) + line((4.6, 6.6), (8, 10), (11.4, 6.6)) + line((3, 13.25), (13, 13.25)),
    "pause": block(4.2, 3.4, 2.6, 9.2, 0.8) + block(9.2, 3.4, 2.6, 9.2, 0.8),
    "play": polygon((5, 3), (12.6, 8), (5, 13)) + line((5, 3), (12.6, 8), (5, 13), (5, 3), width=1),
    "chip": frame(4.5, 4.5, 7, 7, 1.5) + "".join(
        line((a, 2.2), (a, 3.6), width=1.2) + line((a, 12.4), (a, 13.8), width=1.2)
        + line((2.2, a), (3.6, a), width=1.2) + line((12.4, a), (13.8, a), width=1.2) for a in (6.4, 9.6)),
    "key": ring(5.4, 10.6, 2.6) + line((7.4, 8.6), (13, 3)) + line((10.6, 5.4), (12.4, 7.2)),
    "folder": line((2.5, 12.75), (2.5, 3.6), (6.4, 3.6), (7.8, 5.4), (13.5, 5.4), (13.5, 12.75), (2.5, 12.75)),
    "spark": polygon((8, 1.6), (9.5, 6.5), (14.4, 8), (9.5, 9.5), (8, 14.4), (6.5, 9.5), (1.6, 8), (6.5, 6.5)),
}


PREFIX = "/org/sundog/Sundog/icons/scalable/actions"


def main(path):
    folder = os.path.dirname(path) or "."
    names = [f"sundog-{name}-symbolic.svg" for name in ICONS]
    for name, shape in zip(names, ICONS.values()):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write('<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">'
                       f"{shape}</svg>\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<gresources>\n<gresource prefix="{PREFIX}">\n')
        file.writelines(f"<file>{name}</file>\n" for name in names)
        file.write("</gresource>\n</gresources>\n")


if __name__ == "__main__":
    main(sys.argv[1])
