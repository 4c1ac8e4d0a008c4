"""How objects are drawn: a method for each class, by its name. Coordinates are percent of the object's box."""

from functools import cache

from PIL import Image, ImageOps

from captionlab.corpora.toyworld.pen import DARK, GLASS, METAL, RGB, WOOD, Paint, Pen, mix, paint_of
from captionlab.corpora.toyworld.world import PEOPLE, sprite_size

_SKIN: tuple[RGB, ...] = ((240, 196, 160), (198, 140, 98), (126, 82, 56))
_HAIR: tuple[RGB, ...] = ((92, 58, 32), (34, 28, 28), (34, 28, 28))
_WHITE: RGB = (250, 250, 248)
_TROUSERS: RGB = (66, 74, 104)


def sprite(label: str, colour: str, size: str, mirrored: bool, variant: int) -> Image.Image:
    """The picture of one object, RGBA, exactly as large as its box; the variant (0 to 2) is a person's looks."""
    return _sprite(label, colour, size, mirrored, variant if label in PEOPLE else 0)


@cache
def _sprite(label: str, colour: str, size: str, mirrored: bool, variant: int) -> Image.Image:
    if mirrored:
        return ImageOps.mirror(_sprite(label, colour, size, False, variant))
    drawn, paint = _Sprite(label, size, variant), paint_of(colour)
    getattr(drawn, f"_{label.replace(' ', '_')}")(paint)
    return drawn.finish(paint.outline)


class _Sprite(Pen):
    """An object that is drawn by the method that has the name of its class."""

    def __init__(self, label: str, size: str, variant: int):
        super().__init__(*sprite_size(label, size))
        self.skin, self.hair = _SKIN[variant], _HAIR[variant]

    def _umbrella(self, paint: Paint) -> None:
        self.line(WOOD, 50, 6, 50, 100, width=1.6)
        self.pie(paint.base, 180, 360, 0, 4, 100, 96)
        self.pie(paint.trim, 180, 360, 17, 4, 83, 96)
        self.pie(paint.base, 180, 360, 36, 4, 64, 96)
        self.oval(paint.shade, 45, 0, 55, 9)

    def _boat(self, paint: Paint) -> None:
        self.line(WOOD, 47, 0, 47, 72, width=1.4)
        self.polygon(_WHITE, 53, 4, 53, 62, 96, 62)
        self.polygon((232, 224, 206), 41, 14, 41, 62, 10, 62)
        self.polygon(paint.base, 0, 70, 100, 70, 84, 100, 16, 100)
        self.polygon(paint.light, 0, 70, 100, 70, 96, 78, 4, 78)

    def _oven(self, paint: Paint) -> None:
        self.box(paint.base, 0, 6, 100, 100, radius=1.5)
        self.box(DARK, 4, 0, 96, 7)
        for x in (14, 34, 66, 86):
            self.oval(paint.trim, x - 7, 13, x + 7, 25)
        self.line(paint.trim, 14, 37, 86, 37, width=1.2)
        self.box((40, 42, 52), 12, 45, 88, 86, radius=1.5)
        self.polygon((240, 150, 60), 24, 80, 36, 66, 46, 74, 56, 62, 66, 74, 76, 80)
        self.line(paint.shade, 2, 93, 98, 93, width=0.8)

    def _fridge(self, paint: Paint) -> None:
        self.box(paint.base, 0, 0, 100, 97, radius=2)
        self.box(paint.light, 8, 4, 30, 34, radius=1)
        self.box(paint.light, 8, 42, 30, 90, radius=1)
        self.line(paint.outline, 0, 38, 100, 38, width=0.9)
        self.line(METAL, 82, 20, 82, 33, width=1.4)
        self.line(METAL, 82, 44, 82, 64, width=1.4)
        self.box(DARK, 8, 96, 24, 100)
        self.box(DARK, 76, 96, 92, 100)

    def _car(self, paint: Paint) -> None:
        self.polygon(paint.base, 20, 46, 32, 4, 68, 4, 86, 46)
        self.box(paint.base, 0, 40, 100, 82, radius=2.5)
        self.polygon(GLASS, 27, 42, 36, 13, 48, 13, 48, 42)
        self.polygon(GLASS, 53, 42, 53, 13, 66, 13, 78, 42)
        self.line(paint.shade, 2, 60, 98, 60, width=0.7)
        self.box((255, 240, 150), 93, 46, 100, 60, radius=0.8)
        self.box((220, 40, 40), 0, 46, 5, 58, radius=0.8)
        for x in (22, 78):
            self.oval((30, 30, 34), x - 12, 58, x + 12, 100)
            self.oval((200, 202, 208), x - 5, 70, x + 5, 88)

    def _traffic_light(self, paint: Paint) -> None:
        self.box((110, 112, 120), 41, 50, 59, 98)
        self.box((90, 92, 100), 22, 95, 78, 100, radius=0.5)
        self.box(paint.base, 4, 0, 96, 66, radius=2.5)
        for y, lamp in ((5, (255, 60, 50)), (25, (255, 206, 50)), (45, (60, 220, 110))):
            self.oval(DARK, 22, y - 1, 78, y + 18)
            self.oval(lamp, 28, y + 1, 72, y + 16)

    def _train(self, paint: Paint) -> None:
        self.polygon(paint.base, 0, 8, 74, 8, 90, 26, 100, 58, 100, 84, 0, 84)
        self.polygon(paint.shade, 0, 8, 4, 0, 72, 0, 76, 8)
        for x in (5, 22, 52):
            self.box(GLASS, x, 20, x + 13, 46, radius=1)
        self.box(paint.light, 38, 18, 49, 82, radius=0.5)
        self.polygon(GLASS, 70, 20, 78, 20, 88, 34, 92, 46, 70, 46)
        self.line(paint.trim, 0, 58, 36, 58, width=1.6)
        self.line(paint.trim, 51, 58, 98, 58, width=1.6)
        self.box((60, 62, 70), 0, 80, 100, 90)
        for x in (12, 30, 66, 84):
            self.oval((40, 40, 46), x - 8, 78, x + 8, 100)

    def _suitcase(self, paint: Paint) -> None:
        self.arc(paint.shade, 180, 360, 30, 0, 70, 40, width=1.8)
        self.box(paint.base, 0, 20, 100, 94, radius=3)
        self.box(paint.shade, 16, 20, 27, 94)
        self.box(paint.shade, 73, 20, 84, 94)
        self.box((240, 214, 120), 41, 38, 59, 48, radius=0.5)
        self.oval(DARK, 8, 90, 26, 100)
        self.oval(DARK, 74, 90, 92, 100)

    def _cake(self, paint: Paint) -> None:
        self.oval((226, 228, 234), 0, 82, 100, 100)
        self.box((238, 206, 150), 10, 48, 90, 92, radius=2)
        self.box(paint.base, 10, 34, 90, 62, radius=3)
        for x in (10, 30, 50, 70):
            self.oval(paint.base, x, 52, x + 20, 76)
        self.oval(paint.light, 10, 28, 90, 46)
        for x in (30, 50, 70):
            self.line((90, 150, 220), x, 14, x, 38, width=1.6)
            self.oval((255, 170, 40), x - 5, 0, x + 5, 16)

    def _wine_glass(self, paint: Paint) -> None:
        glass = (226, 238, 246)
        self.line(glass, 50, 50, 50, 96, width=1.6)
        self.oval(glass, 10, 90, 90, 100)
        self.pie(glass, 0, 360, 4, -14, 96, 62)
        self.box(glass, 4, 0, 96, 24, radius=0.5)
        self.pie(paint.base, -8, 188, 10, -10, 90, 58)
        self.oval(paint.light, 12, 15, 88, 27)

    def _bed(self, paint: Paint) -> None:
        self.box(WOOD, 0, 0, 9, 100, radius=1)
        self.box(WOOD, 92, 34, 100, 100, radius=1)
        self.box((230, 226, 216), 6, 52, 94, 84)
        self.box(mix(WOOD, (0, 0, 0), 0.25), 6, 80, 94, 90)
        self.box(_WHITE, 10, 32, 36, 56, radius=2)
        self.polygon(paint.base, 36, 40, 88, 40, 95, 50, 95, 82, 30, 82, 30, 50)
        self.polygon(paint.light, 36, 40, 48, 40, 42, 82, 30, 82, 30, 50)

    def _lamp(self, paint: Paint) -> None:
        self.line((104, 84, 60), 50, 30, 50, 96, width=1.8)
        self.oval((104, 84, 60), 20, 91, 80, 100)
        self.oval((255, 246, 180), 30, 34, 70, 52)
        self.polygon(paint.base, 26, 0, 74, 0, 100, 42, 0, 42)
        self.polygon(paint.light, 38, 0, 54, 0, 50, 42, 24, 42)

    def _cow(self, paint: Paint) -> None:
        patch = DARK if paint.base[0] > 240 and paint.base[2] > 230 else _WHITE
        for x in (20, 30, 58, 68):
            self.box(paint.shade, x, 60, x + 7, 96)
            self.box(DARK, x, 93, x + 7, 100)
        self.line(paint.shade, 12, 32, 4, 44, 5, 66, width=1.2)
        self.oval((244, 170, 176), 46, 62, 60, 78)
        self.box(paint.base, 10, 22, 78, 70, radius=4.5)
        self.oval(patch, 18, 26, 38, 50)
        self.oval(patch, 46, 40, 66, 66)
        self.polygon((236, 226, 196), 74, 16, 74, 0, 79, 12)
        self.polygon((236, 226, 196), 88, 12, 94, 0, 93, 16)
        self.polygon(paint.shade, 62, 18, 74, 14, 74, 26)
        self.box(paint.base, 70, 10, 97, 48, radius=3)
        self.oval((244, 176, 180), 72, 34, 100, 54)
        self.oval((20, 20, 24), 77, 20, 82, 28)
        self.oval((20, 20, 24), 88, 20, 93, 28)

    def _tree(self, paint: Paint) -> None:
        self.polygon((112, 74, 42), 42, 55, 58, 55, 62, 100, 38, 100)
        self.oval(paint.shade, 0, 28, 56, 72)
        self.oval(paint.shade, 44, 28, 100, 72)
        self.oval(paint.base, 6, 20, 58, 60)
        self.oval(paint.base, 40, 18, 94, 62)
        self.oval(paint.base, 20, 0, 80, 46)
        self.oval(paint.light, 28, 6, 54, 26)
        self.oval(paint.light, 12, 28, 30, 42)

    def _lounger(self, paint: Paint) -> None:
        for x in (24, 84):
            self.line(WOOD, x, 62, x - 4, 100, width=1.6)
        self.polygon(WOOD, 0, 6, 8, 2, 36, 62, 100, 62, 100, 74, 30, 74)
        self.polygon(paint.base, 4, 2, 16, 0, 40, 48, 98, 48, 98, 64, 32, 64)
        self.polygon(paint.trim, 58, 48, 66, 48, 66, 64, 58, 64)
        self.polygon(paint.trim, 80, 48, 88, 48, 88, 64, 80, 64)

    def _swim_ring(self, paint: Paint) -> None:
        self.oval(paint.base, 0, 0, 100, 100)
        for angle in (20, 110, 200, 290):
            self.pie(paint.trim, angle, angle + 34, 0, 0, 100, 100)
        self.hole(28, 24, 72, 66)

    def _man(self, paint: Paint) -> None:
        self.box(_TROUSERS, 24, 58, 47, 97)
        self.box(_TROUSERS, 53, 58, 76, 97)
        self.box(DARK, 18, 95, 47, 100)
        self.box(DARK, 53, 95, 82, 100)
        self.box(self.skin, 0, 34, 17, 62, radius=1.2)
        self.box(self.skin, 83, 34, 100, 62, radius=1.2)
        self.box(paint.base, 20, 28, 80, 64, radius=1.5)
        self.box(paint.base, 0, 29, 100, 46, radius=2)
        self.oval(self.skin, 27, 3, 73, 29)
        self.pie(self.hair, 180, 360, 25, 0, 75, 24)
        self._face(15)

    def _woman(self, paint: Paint) -> None:
        self.box(self.hair, 24, 4, 76, 36, radius=2)
        self.box(self.skin, 34, 76, 46, 97)
        self.box(self.skin, 54, 76, 66, 97)
        self.box(DARK, 30, 95, 47, 100)
        self.box(DARK, 53, 95, 70, 100)
        self.box(self.skin, 6, 32, 20, 60, radius=1.2)
        self.box(self.skin, 80, 32, 94, 60, radius=1.2)
        self.polygon(paint.base, 10, 30, 90, 30, 70, 50, 96, 82, 4, 82, 30, 50)
        self.oval(self.skin, 30, 3, 70, 28)
        self.pie(self.hair, 170, 370, 26, 0, 74, 24)
        self._face(16)

    def _face(self, y: float) -> None:
        for x in (42, 58):
            self.oval((24, 24, 28), x - 4, y - 1.5, x + 4, y + 2.5)

    def _dog(self, paint: Paint) -> None:
        self.line(paint.base, 10, 46, 2, 24, width=2.4)
        for x in (14, 26, 54, 66):
            self.box(paint.shade if x in (26, 54) else paint.base, x, 60, x + 9, 100, radius=1)
        self.box(paint.base, 8, 38, 76, 74, radius=3.5)
        self.polygon(paint.base, 58, 44, 66, 16, 84, 16, 78, 56)
        self.box(paint.base, 62, 8, 86, 40, radius=2.5)
        self.box(paint.light, 78, 22, 99, 40, radius=1.8)
        self.oval((24, 22, 24), 93, 20, 100, 29)
        self.polygon(paint.shade, 60, 6, 70, 4, 70, 36, 58, 40)
        self.oval((20, 20, 24), 77, 14, 82, 21)
        self.line((200, 50, 50) if paint.base[1] > 60 else _WHITE, 60, 42, 78, 44, width=1.3)

    def _cat(self, paint: Paint) -> None:
        self.arc(paint.base, 270, 110, 56, 52, 100, 98, width=2.2)
        self.oval(paint.base, 16, 40, 78, 100)
        self.box(paint.base, 22, 62, 38, 100, radius=1.5)
        self.box(paint.base, 48, 62, 64, 100, radius=1.5)
        self.polygon(paint.base, 10, 28, 12, 0, 36, 14)
        self.polygon(paint.base, 54, 14, 78, 0, 80, 28)
        self.polygon((240, 160, 170), 15, 18, 16, 7, 26, 14)
        self.polygon((240, 160, 170), 64, 14, 74, 7, 75, 18)
        self.oval(paint.base, 8, 10, 82, 56)
        self.oval(paint.light, 30, 60, 58, 88)
        for x in (30, 60):
            self.oval((180, 240, 120), x - 7, 25, x + 7, 38)
            self.oval((16, 16, 20), x - 3, 25, x + 3, 38)
        self.polygon((236, 120, 140), 41, 40, 49, 40, 45, 46)

    def _bird(self, paint: Paint) -> None:
        self.line((230, 140, 40), 42, 80, 42, 100, width=1.2)
        self.line((230, 140, 40), 54, 80, 54, 100, width=1.2)
        self.polygon(paint.shade, 0, 46, 30, 46, 34, 68)
        self.oval(paint.base, 14, 30, 78, 88)
        self.oval(paint.base, 52, 4, 90, 52)
        self.polygon((246, 160, 40), 86, 22, 100, 32, 86, 38)
        self.oval(paint.light, 44, 50, 76, 84)
        self.polygon(paint.shade, 52, 46, 30, 6, 8, 0, 22, 56)
        self.oval(_WHITE, 66, 14, 80, 32)
        self.oval((16, 16, 20), 71, 18, 78, 28)

    def _ball(self, paint: Paint) -> None:
        self.oval(paint.base, 0, 0, 100, 100)
        self.pie(paint.trim, 60, 120, 0, 0, 100, 100)
        self.pie(paint.trim, 180, 240, 0, 0, 100, 100)
        self.pie(paint.trim, 300, 360, 0, 0, 100, 100)
        self.oval(paint.trim, 42, 42, 58, 58)

    def _bottle(self, paint: Paint) -> None:
        self.box((220, 196, 130), 34, 0, 66, 9, radius=0.6)
        self.box(paint.base, 36, 7, 64, 42)
        self.polygon(paint.base, 36, 28, 64, 28, 100, 46, 0, 46)
        self.box(paint.base, 0, 42, 100, 100, radius=2)
        self.box((246, 242, 226), 0, 56, 100, 84)
        self.box(paint.shade, 30, 64, 70, 76)
        self.box(paint.light, 42, 12, 50, 38)

    def _cup(self, paint: Paint) -> None:
        self.arc(paint.base, 270, 90, 56, 26, 100, 80, width=2.2)
        self.polygon(paint.base, 0, 10, 78, 10, 70, 92, 60, 100, 18, 100, 8, 92)
        self.oval(paint.light, 0, 0, 78, 26)
        self.oval((96, 60, 36), 9, 6, 69, 22)
        self.line(paint.trim, 5, 46, 73, 46, width=1.5)

    def _fish(self, paint: Paint) -> None:
        self.polygon(paint.shade, 26, 50, 0, 10, 8, 50, 0, 92)
        self.polygon(paint.shade, 40, 24, 56, 0, 72, 22)
        self.polygon(paint.shade, 48, 76, 58, 100, 68, 76)
        self.oval(paint.base, 16, 12, 100, 88)
        self.pie(paint.light, 60, 120, 16, 30, 100, 92)
        for x in (42, 54):
            self.arc(paint.trim, 300, 60, x - 24, 20, x, 80, width=1)
        self.oval(_WHITE, 76, 28, 90, 52)
        self.oval((16, 16, 20), 81, 33, 88, 47)

    def _guitar(self, paint: Paint) -> None:
        self.box(DARK, 40, 0, 60, 12, radius=0.6)
        self.box((96, 62, 36), 43, 8, 57, 60)
        self.oval(paint.base, 12, 44, 88, 76)
        self.oval(paint.base, 0, 58, 100, 100)
        self.oval(DARK, 34, 60, 66, 76)
        self.box((96, 62, 36), 36, 86, 64, 89)
        self.oval(paint.light, 8, 66, 24, 84)
        self.line(paint.trim, 47, 4, 47, 88, width=0.4)
        self.line(paint.trim, 53, 4, 53, 88, width=0.4)

    def _rocket(self, paint: Paint) -> None:
        self.polygon((255, 190, 40), 34, 80, 66, 80, 50, 100)
        self.polygon((246, 90, 30), 40, 80, 60, 80, 50, 92)
        self.polygon(paint.shade, 26, 52, 0, 84, 26, 80)
        self.polygon(paint.shade, 74, 52, 100, 84, 74, 80)
        self.oval(paint.base, 20, 14, 80, 110)
        self.hole(10, 84, 90, 126)
        self.polygon((255, 190, 40), 36, 84, 64, 84, 50, 100)
        self.polygon(paint.trim, 24, 36, 50, 0, 76, 36)
        self.oval(METAL, 34, 40, 66, 58)
        self.oval(GLASS, 39, 43, 61, 55)

    def _cactus(self, paint: Paint) -> None:
        self.box(paint.base, 0, 26, 18, 58, radius=1.8)
        self.box(paint.base, 0, 46, 50, 60, radius=1.4)
        self.box(paint.base, 82, 18, 100, 50, radius=1.8)
        self.box(paint.base, 50, 38, 100, 52, radius=1.4)
        self.box(paint.base, 34, 0, 66, 84, radius=2.6)
        for x in (43, 57):
            self.line(paint.light, x, 8, x, 76, width=0.7)
        self.polygon((196, 104, 60), 20, 80, 80, 80, 72, 100, 28, 100)
        self.box((214, 122, 74), 16, 76, 84, 84)

    def _crown(self, paint: Paint) -> None:
        self.polygon(paint.base, 0, 16, 26, 56, 50, 4, 74, 56, 100, 16, 90, 100, 10, 100)
        self.box(paint.shade, 10, 80, 90, 100)
        for x, y, jewel in ((5, 10, (230, 40, 70)), (50, 2, (60, 120, 240)), (95, 10, (230, 40, 70))):
            self.oval(jewel, x - 5, y - 2, x + 5, y + 14)
        for x, jewel in ((28, (60, 200, 120)), (50, (240, 60, 80)), (72, (60, 200, 120))):
            self.oval(jewel, x - 5, 83, x + 5, 97)

    def _kite(self, paint: Paint) -> None:
        self.line((90, 90, 100), 50, 60, 40, 74, 58, 86, 46, 100, width=0.9)
        self.polygon((240, 70, 90), 34, 70, 42, 76, 34, 82)
        self.polygon((70, 130, 230), 62, 80, 54, 86, 62, 92)
        self.polygon(paint.base, 50, 0, 100, 28, 50, 68, 0, 28)
        self.polygon(paint.light, 50, 0, 50, 28, 0, 28)
        self.polygon(paint.shade, 50, 68, 50, 28, 100, 28)
