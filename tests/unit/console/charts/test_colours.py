"""The colours of charts can be seen on their ground, and told apart by every kind of colour vision."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[4] / "include/sluice/console/static"
Triple = tuple[float, float, float]

# Machado, Oliveira and Fernandes (2009), complete dichromacy, for linear light.
VISIONS: dict[str, tuple[Triple, Triple, Triple]] = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
OKLAB_LMS = (
    (0.41222147, 0.53633254, 0.05144599),
    (0.21190350, 0.68069955, 0.10739696),
    (0.08830246, 0.28171884, 0.62997870),
)
OKLAB = (
    (0.21045426, 0.79361779, -0.00407205),
    (1.97799850, -2.42859221, 0.45059371),
    (0.02590404, 0.78277177, -0.80867577),
)


def variables(file: str, theme: str) -> dict[str, str]:
    css = (STATIC / file).read_text()
    light, _, rest = css.partition(':root[data-theme="dark"]')
    block = light if theme == "light" else rest.partition("}")[0]
    found = re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", block)
    return {
        name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:]) for name, value in found
    }


def linear(colour: str) -> Triple:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def times(matrix: tuple[Triple, ...], vector: Triple) -> Triple:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return first, second, third


def luminance(colour: str) -> float:
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def seen(colour: str, vision: str) -> Triple:
    light = times(VISIONS[vision], linear(colour))
    cones = times(OKLAB_LMS, (max(light[0], 0.0), max(light[1], 0.0), max(light[2], 0.0)))
    return times(OKLAB, (cones[0] ** (1 / 3), cones[1] ** (1 / 3), cones[2] ** (1 / 3)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_stand_out_from_their_ground_and_texts_can_be_read(theme: str) -> None:
    look, places = variables("console.css", theme), variables("charts.css", theme)
    assert len(places) == 8
    assert {
        name: contrast(colour, look["paper"]) for name, colour in places.items() if contrast(colour, look["paper"]) < 3
    } == {}
    texts = ("ink", "quiet", "good", "bad", "warning", "accent-ink")
    assert {
        name: contrast(look[name], look["paper"]) for name in texts if contrast(look[name], look["paper"]) < 4.5
    } == {}


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_can_be_told_apart_by_every_kind_of_colour_vision(theme: str, vision: str) -> None:
    places = variables("charts.css", theme)
    near = {}
    for (one, first), (other, second) in combinations(places.items(), 2):
        distance = sum((a - b) ** 2 for a, b in zip(seen(first, vision), seen(second, vision), strict=True)) ** 0.5
        if distance < 0.1:
            near[one, other] = round(distance, 3)
    assert near == {}
