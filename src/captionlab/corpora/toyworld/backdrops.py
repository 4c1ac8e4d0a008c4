"""The eight scenes without their objects. Coordinates are pixels of the finished image, on an oversized canvas."""

from functools import cache
from itertools import pairwise
from random import Random

from PIL import Image

from captionlab.corpora.toyworld.pen import RGB, SUPERSAMPLING, Brush, mix
from captionlab.corpora.toyworld.world import SIDE

# How many different backdrops a scene has.
BACKDROPS = 12
_WHITE: RGB = (252, 252, 250)


@cache
def backdrop(scene: str, number: int) -> Image.Image:
    """Backdrop `number` of a scene, RGB, SIDE x SIDE."""
    canvas = _Canvas(Random(f"{scene} {number}"))
    getattr(canvas, f"_{scene}")()
    return canvas.image.reduce(SUPERSAMPLING)


class _Canvas(Brush):
    """A canvas four times too large, and the random numbers that vary a scene; each scene is a method."""

    def __init__(self, random: Random):
        super().__init__(Image.new("RGB", (SIDE * SUPERSAMPLING,) * 2), SUPERSAMPLING, SUPERSAMPLING)
        self.random = random

    def tint(self, *colours: RGB) -> RGB:
        """One of the colours, a little changed."""
        colour = self.random.choice(colours)
        return mix(colour, self.random.choice(((255, 255, 255), (90, 80, 110))), self.random.uniform(0, 0.12))

    def fade(self, top: RGB, bottom: RGB, y1: float, y2: float) -> None:
        """A band across the image that goes from one colour to another."""
        start, end = round(y1 * SUPERSAMPLING), round(y2 * SUPERSAMPLING)
        for y in range(start, end):
            self.draw.line((0, y, self.image.width, y), fill=mix(top, bottom, (y - start) / max(1, end - start)))

    def box(self, colour: RGB, *values: float) -> None:
        """A filled rectangle: left, top, right, bottom (edges)."""
        (x1, y1), (x2, y2) = self._points(values)
        if x2 > x1 and y2 > y1:
            self.draw.rectangle((x1, y1, x2 - 1, y2 - 1), fill=colour)

    def specks(self, colours: tuple[RGB, ...], count: int, y1: float, y2: float, length: float = 0) -> None:
        """Small dots, or upright blades of so many pixels."""
        for _ in range(count):
            x, y = self.random.uniform(0, SIDE), self.random.uniform(y1, y2)
            self.line(self.random.choice(colours), x, y, x + 0.6, y - length, width=0.5)

    def sky(self, bottom: float) -> None:
        """Sky, a sun, and clouds."""
        blue = self.tint((112, 186, 242), (132, 200, 246), (150, 196, 232))
        self.fade(blue, mix(blue, _WHITE, 0.6), 0, bottom)
        x = self.random.choice((9, 32, 54)) + self.random.uniform(-4, 4)
        self.oval((255, 244, 190), x - 6, 2, x + 6, 14)
        self.oval((255, 222, 92), x - 4.5, 3.5, x + 4.5, 12.5)
        for _ in range(self.random.randint(1, 3)):
            x, y = self.random.uniform(0, 52), self.random.uniform(2, max(3, bottom - 14))
            self.oval(_WHITE, x, y + 1.5, x + 8, y + 6)
            self.oval(_WHITE, x + 4, y, x + 12, y + 6)

    def palm(self, x: float, foot: float, height: float) -> None:
        """A palm tree far behind."""
        top = foot - height
        self.line((150, 112, 70), x, foot, x + 1, foot - height / 2, x + 2.5, top, width=1.6)
        for dx, dy in ((-9, 3), (-7, -3), (-1, -6), (6, -4), (9, 3), (3, 6)):
            bend = (x + 2.5 + dx * 0.6, top + dy - 1.5)
            self.line((56, 142, 80), x + 2.5, top, *bend, x + 2.5 + dx, top + dy + 1.5, width=1.5)

    def planks(self, colour: RGB, y1: float, y2: float) -> None:
        """A wooden floor seen at an angle."""
        self.fade(mix(colour, _WHITE, 0.14), colour, y1, y2)
        dark = mix(colour, (40, 20, 10), 0.25)
        for step in range(-9, 10):
            self.line(dark, SIDE / 2 + step * 5, y1, SIDE / 2 + step * 10, y2, width=0.4)

    def _beach(self) -> None:
        self.sky(22)
        sea = self.tint((40, 130, 206), (36, 150, 196))
        self.fade(sea, mix(sea, (120, 220, 220), 0.5), 22, 34)
        for _ in range(9):
            x, y = self.random.uniform(0, 58), self.random.uniform(24, 31)
            self.line(mix(sea, _WHITE, 0.6), x, y, x + self.random.uniform(3, 8), y, width=0.5)
        sand = self.tint((240, 216, 158), (232, 204, 146), (246, 224, 176))
        self.fade(sand, mix(sand, (190, 150, 90), 0.3), 34, SIDE)
        for x in range(-4, SIDE, 9):
            self.oval(_WHITE, x, 32.4, x + 11, 35.4)
        self.specks((mix(sand, (120, 90, 50), 0.4), mix(sand, _WHITE, 0.6)), 60, 37, 63)
        if self.random.random() < 0.4:
            x = self.random.choice((5, 56))
            self.polygon((126, 134, 118), x - 12, 22, x - 4, 16, x + 3, 18, x + 12, 22)

    def _kitchen(self) -> None:
        wall = self.tint((214, 232, 234), (240, 228, 206), (222, 236, 214))
        self.box(wall, 0, 0, SIDE, 30)
        for step in range(0, SIDE + 1, 5):
            self.line(mix(wall, (120, 130, 140), 0.3), step, 0, step, 30, width=0.4)
            if step < 30:
                self.line(mix(wall, (120, 130, 140), 0.3), 0, step, SIDE, step, width=0.4)
        wood = self.tint((196, 146, 96), (222, 222, 216), (140, 170, 190))
        dark = mix(wood, (40, 30, 30), 0.4)
        gap = self.random.choice((20, 26, 32))
        for x in range(-2, SIDE, 14):
            if not gap - 2 <= x + 7 <= gap + 15:
                self.box(dark, x, 0, x + 13.5, 11.5)
                self.box(wood, x + 0.7, 0, x + 12.8, 10.8)
                self.line(dark, x + 10.5, 6, x + 10.5, 9, width=0.7)
        # Between the cupboards an extractor hood.
        self.polygon((176, 180, 188), gap + 4, 0, gap + 11, 0, gap + 14, 9, gap + 1, 9)
        self.box((120, 112, 108), 0, 28.4, SIDE, 31.4)
        self.box((160, 152, 146), 0, 28.4, SIDE, 29.4)
        self.box(wood, 0, 31.4, SIDE, 43)
        for x in range(-6, SIDE + 8, 14):
            self.line(dark, x, 31.4, x, 43, width=0.5)
            self.line(dark, x + 5, 34, x + 9, 34, width=0.8)
        self.box(mix(dark, (20, 20, 20), 0.4), 0, 42, SIDE, 43.5)
        first, second = self.tint((232, 226, 214)), self.tint((196, 200, 202), (206, 178, 150))
        self.box(first, 0, 43.5, SIDE, SIDE)
        rows = (43.5, 46.5, 51, 57, SIDE)
        for row, (top, bottom) in enumerate(pairwise(rows)):
            for column in range(-6, 6):
                if (row + column) % 2:
                    a, b = (0.36 + (top - 43.5) / 40) * 20, (0.36 + (bottom - 43.5) / 40) * 20
                    middle = SIDE / 2
                    self.polygon(
                        second,
                        middle + column * a, top, middle + (column + 1) * a, top,
                        middle + (column + 1) * b, bottom, middle + column * b, bottom,
                    )  # fmt: skip

    def _road(self) -> None:
        self.sky(31)
        x = -self.random.uniform(0, 6)
        while x < SIDE:
            width, height = self.random.uniform(7, 13), self.random.uniform(9, 22)
            house = self.tint((172, 150, 150), (150, 160, 178), (190, 170, 146), (160, 172, 164))
            self.box(house, x, 31 - height, x + width, 31)
            for wx in range(1, int(width) - 1, 3):
                for wy in range(2, int(height) - 2, 4):
                    window = self.random.choice(((250, 236, 170), mix(house, (40, 50, 80), 0.45)))
                    self.box(window, x + wx, 31 - height + wy, x + wx + 1.6, 33 - height + wy)
            x += width + self.random.choice((0, 0, 1.5))
        self.fade((206, 202, 196), (190, 186, 182), 31, 38)
        for x in range(-2, SIDE, 8):
            self.line((168, 164, 160), x, 38, x + 2, 31, width=0.4)
        self.box((150, 148, 146), 0, 37.4, SIDE, 39)
        tar = self.tint((124, 126, 134), (134, 134, 138), (116, 122, 134))
        self.fade(tar, mix(tar, (60, 60, 70), 0.2), 39, SIDE)
        self.specks((mix(tar, _WHITE, 0.2), mix(tar, (40, 40, 50), 0.3)), 70, 40, 63)
        self.line((236, 232, 220), 0, 41, SIDE, 41, width=0.5)
        offset = self.random.uniform(0, 14)
        for step in range(-1, 6):
            x = step * 15 + offset - 8
            self.polygon((248, 246, 236), x, 52.6, x + 9, 52.6, x + 8.6, 50.6, x + 0.6, 50.6)

    def _station(self) -> None:
        wall = self.tint((198, 178, 158), (186, 192, 198), (206, 190, 180))
        self.fade(mix(wall, _WHITE, 0.25), wall, 0, 33)
        for row, y in enumerate(range(8, 34, 4)):
            self.line(mix(wall, (90, 70, 70), 0.3), 0, y, SIDE, y, width=0.3)
            for x in range(-4 + 4 * (row % 2), SIDE, 8):
                self.line(mix(wall, (90, 70, 70), 0.3), x, y, x, y + 4, width=0.3)
        roof = self.tint((92, 112, 122), (112, 96, 92), (84, 116, 104))
        self.box(roof, 0, 0, SIDE, 5)
        for x in range(0, SIDE, 8):
            self.polygon(mix(roof, _WHITE, 0.3), x, 5, x + 8, 5, x + 4, 8)
        for post in (self.random.uniform(4, 14), self.random.uniform(48, 58)):
            self.box(mix(roof, (20, 20, 30), 0.2), post, 5, post + 2.4, 33)
        sign = self.random.uniform(20, 36)
        self.box(_WHITE, sign, 9, sign + 12, 14)
        colour = self.random.choice(((40, 90, 180), (190, 50, 50), (40, 120, 80)))
        self.box(colour, sign + 0.8, 9.8, sign + 11.2, 13.2)
        self.line(_WHITE, sign + 2.5, 11.5, sign + 9.5, 11.5, width=0.8)
        # The bed of the track, sleepers, and two rails.
        self.box((134, 124, 114), 0, 33, SIDE, 43)
        self.specks(((110, 102, 96), (164, 154, 144)), 90, 34, 42)
        for x in range(-2, SIDE + 4, 6):
            self.polygon((104, 80, 62), x, 42, x + 3, 42, x + 3.6, 35.5, x + 1.2, 35.5)
        for rail in (37, 40.4):
            self.box((92, 96, 106), 0, rail, SIDE, rail + 1.2)
            self.box((206, 210, 218), 0, rail, SIDE, rail + 0.5)
        floor = self.tint((196, 194, 192), (204, 196, 184))
        self.box((148, 146, 146), 0, 42.6, SIDE, 44)
        self.fade(mix(floor, _WHITE, 0.2), floor, 44, SIDE)
        self.box((246, 208, 64), 0, 45, SIDE, 46.8)
        for step in range(-6, 7):
            self.line(mix(floor, (80, 80, 90), 0.25), 32 + step * 8, 47, 32 + step * 14, SIDE, width=0.4)

    def _restaurant(self) -> None:
        wall = self.tint((214, 156, 122), (204, 184, 146), (206, 160, 146), (186, 194, 166))
        self.fade(wall, mix(wall, _WHITE, 0.2), 0, 30)
        self.box(mix(wall, (80, 40, 20), 0.28), 0, 24, SIDE, 44)
        for x in range(0, SIDE, 6):
            self.line(mix(wall, (60, 30, 20), 0.45), x, 25, x, 44, width=0.5)
        self.box(mix(wall, (60, 30, 20), 0.45), 0, 23.4, SIDE, 24.6)
        # A blackboard with the menu, and lamps over the tables.
        x = self.random.choice((3, 24, 45))
        self.box((120, 80, 50), x, 9, x + 15, 21)
        self.box((66, 76, 72), x + 1, 10, x + 14, 20)
        for y in (12, 14.5, 17):
            self.line((220, 222, 216), x + 3, y, x + self.random.uniform(8, 12), y, width=0.5)
        shade = self.tint((250, 206, 90), (236, 120, 80), (250, 236, 200))
        for lamp in (11, 32, 53):
            drop = 4 if lamp - 8 < x + 7 < lamp + 8 else 8
            self.line((70, 60, 56), lamp, 0, lamp, drop - 2, width=0.6)
            self.polygon(shade, lamp - 5, drop, lamp - 2, drop - 4, lamp + 2, drop - 4, lamp + 5, drop)
            self.oval((255, 248, 200), lamp - 2, drop - 1, lamp + 2, drop + 2)
        floor = self.tint((190, 140, 96), (170, 128, 92), (196, 160, 124))
        self.planks(floor, 43, SIDE)
        cloth = self.random.choice(((226, 120, 110), (120, 160, 206), (130, 180, 136)))
        for x in (-5, 17, 39, 61):
            self.box((120, 82, 54), x + 1.5, 28, x + 5, 34)
        self.box(_WHITE, 0, 33, SIDE, 35.6)
        for x in range(0, SIDE, 4):
            self.box(mix(cloth, _WHITE, 0.25), x, 33, x + 2, 35.6)
        self.box(mix(cloth, (255, 255, 255), 0.08), 0, 35.6, SIDE, 41)
        for x in range(0, SIDE, 8):
            self.polygon(mix(cloth, (255, 255, 255), 0.08), x, 41, x + 8, 41, x + 4, 43.6)
        for x in (8, 30, 52):
            self.box((96, 66, 46), x, 42, x + 2, 47)

    def _room(self) -> None:
        wall = self.tint((206, 214, 236), (236, 216, 200), (208, 228, 206), (232, 208, 220))
        self.fade(mix(wall, _WHITE, 0.2), wall, 0, 33)
        if self.random.random() < 0.5:
            for x in range(2, SIDE, 6):
                self.line(mix(wall, _WHITE, 0.45), x, 0, x, 33, width=1.2)
        x = self.random.choice((6, 22, 38))
        self.box((246, 244, 240), x, 4, x + 20, 24)
        self.box((150, 206, 246), x + 1.6, 5.6, x + 18.4, 22.4)
        self.box((140, 196, 120), x + 1.6, 17.6, x + 18.4, 22.4)
        self.oval(_WHITE, x + 4, 8, x + 11, 12)
        self.box((246, 244, 240), x + 9.4, 5, x + 10.6, 23)
        self.box((246, 244, 240), x + 1, 13.4, x + 19, 14.6)
        curtain = self.tint((226, 120, 100), (110, 150, 200), (236, 190, 90), (150, 120, 180))
        self.polygon(curtain, x - 3, 2, x + 5, 2, x + 2, 14, x - 1, 26, x - 4, 26)
        self.polygon(curtain, x + 23, 2, x + 15, 2, x + 18, 14, x + 21, 26, x + 24, 26)
        self.line((120, 90, 70), x - 5, 2, x + 25, 2, width=1)
        far = 50 if x < 30 else 6
        self.box((140, 100, 70), far, 7, far + 10, 16)
        self.box((250, 240, 214), far + 1, 8, far + 9, 15)
        self.polygon((110, 150, 130), far + 1, 15, far + 4, 10, far + 6, 12.5, far + 7.5, 11, far + 9, 15)
        self.box(_WHITE, 0, 31.6, SIDE, 34)
        floor = self.tint((204, 158, 112), (184, 140, 100), (214, 178, 136))
        self.planks(floor, 34, SIDE)
        rug = self.tint((214, 110, 110), (110, 150, 190), (224, 190, 130), (150, 176, 140))
        self.oval(mix(rug, _WHITE, 0.5), 6, 43, 58, 63)
        self.oval(rug, 9, 44.4, 55, 61.6)
        self.oval(mix(rug, _WHITE, 0.3), 17, 47.6, 47, 58.4)

    def _field(self) -> None:
        self.sky(30)
        for colour, low, high, width in (((128, 172, 140), 17, 22, 44), ((118, 178, 108), 21, 26, 52)):
            hill = self.tint(colour)
            for start in (-18, 10, 36):
                x, y = start + self.random.uniform(-6, 6), self.random.uniform(low, high)
                self.oval(hill, x, y, x + width, y + 30)
        grass = self.tint((138, 196, 92), (156, 202, 98), (124, 186, 88))
        self.fade(mix(grass, _WHITE, 0.12), mix(grass, (50, 110, 40), 0.25), 31, SIDE)
        self.specks((mix(grass, (30, 90, 30), 0.4), mix(grass, _WHITE, 0.35)), 130, 36, 63, length=1.6)
        flowers = self.random.choice((0, 8, 16))
        self.specks(((250, 250, 240), (250, 220, 90), (240, 150, 180)), flowers, 40, 62, length=0.6)
        if self.random.random() < 0.6:
            post = (216, 190, 150)
            for y in (28.6, 31.2):
                self.line(post, 0, y, SIDE, y, width=0.8)
            for x in range(self.random.randint(0, 4), SIDE, 8):
                self.box(post, x, 26.6, x + 1.6, 34)

    def _resort(self) -> None:
        self.sky(28)
        hotel = self.tint((250, 236, 214), (246, 214, 196), (224, 236, 244))
        left = self.random.uniform(12, 26)
        self.box(hotel, left, 8, left + 26, 30)
        self.polygon(self.tint((206, 110, 84), (90, 140, 170)), left - 2, 8, left + 13, 3, left + 28, 8)
        for y in (10.5, 17, 23.5):
            for x in range(4):
                self.box((110, 156, 190), left + 2 + x * 6, y, left + 6 + x * 6, y + 4)
                self.line(_WHITE, left + 1.4 + x * 6, y + 4.2, left + 6.6 + x * 6, y + 4.2, width=0.8)
        self.palm(left - 7, 31, self.random.uniform(17, 22))
        self.palm(left + 31, 31, self.random.uniform(15, 22))
        for x in range(-3, SIDE, 6):
            self.oval(self.tint((84, 156, 88)), x, 27, x + 8, 33)
        tiles = self.tint((236, 218, 188), (230, 224, 214), (226, 204, 178))
        self.fade(mix(tiles, _WHITE, 0.3), tiles, 30, SIDE)
        self.polygon(_WHITE, 4, 34.4, 60, 34.4, 66, 49.4, -2, 49.4)
        pool = self.tint((70, 190, 226), (86, 204, 220))
        self.polygon(pool, 6, 36, 58, 36, 63.5, 47.6, 0.5, 47.6)
        for _ in range(10):
            left, wave = self.random.uniform(6, 52), self.random.uniform(38, 47)
            zigzag = (left, wave, left + 2, wave - 0.7, left + 4, wave, left + 6, wave - 0.7)
            self.line(mix(pool, _WHITE, 0.6), *zigzag, width=0.5)
        for step in range(-6, 7):
            self.line(mix(tiles, (140, 110, 90), 0.3), 32 + step * 9, 49.4, 32 + step * 13, SIDE, width=0.4)
        self.line(mix(tiles, (140, 110, 90), 0.3), 0, 55, SIDE, 55, width=0.4)
