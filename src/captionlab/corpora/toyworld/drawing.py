"""Drawing of a picture: backdrop, objects, look of the camera, noise, PNG."""

from functools import cache
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw

from captionlab.corpora.toyworld.backdrops import backdrop
from captionlab.corpora.toyworld.pen import SUPERSAMPLING
from captionlab.corpora.toyworld.sprites import sprite
from captionlab.corpora.toyworld.world import Picture

# Per look: haze colour and its share, saturation, brightness of the three channels, and the standard deviations of the
# grey noise and of the noise per channel.
_LOOKS = {
    "clear": ((255, 255, 255), 0.0, 1.0, (1.0, 1.0, 1.0), 2.0, 0.0),
    "hazy": ((226, 214, 196), 0.24, 0.9, (0.98, 0.96, 0.9), 3.0, 5.0),
    "faded": ((214, 196, 160), 0.18, 0.55, (0.96, 0.92, 0.84), 4.0, 0.0),
    "dusk": ((90, 70, 130), 0.1, 0.95, (0.86, 0.8, 0.94), 3.0, 0.0),
}
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def draw(picture: Picture) -> Image.Image:
    """Return the RGB image of a picture.

    All pixels that an object changes are inside its box. A frame is stretched to the size of the image.
    """
    image = backdrop(picture.scene, picture.backdrop).copy()
    for thing in picture.things:
        for x1, y1, x2, y2 in thing.boxes:
            if thing.place in ("ground", "top"):
                shadow = _shadow(x2 - x1)
                image.paste((30, 26, 40), (x1, y2 - shadow.height), shadow)
            one = sprite(thing.label, thing.colour, thing.size, thing.mirrored, thing.variant)
            image.paste(one, (x1, y1), one)
    if picture.frame:
        image = image.resize(image.size, Image.Resampling.BICUBIC, picture.frame)
    return _photograph(image, picture.look, picture.noise)


def encode(image: Image.Image) -> bytes:
    """Return the image as uncompressed PNG.

    Noise hardly compresses, and compression and decompression would take as long as drawing.
    """
    file = BytesIO()
    image.save(file, "PNG", compress_level=0)
    return file.getvalue()


def _photograph(image: Image.Image, look: str, seed: int) -> Image.Image:
    haze, share, saturation, channels, grey_noise, colour_noise = _LOOKS[look]
    random = np.random.default_rng(seed)
    pixels: np.ndarray = np.asarray(image, np.float32)
    gain = np.array(channels) * random.uniform(0.94, 1.06) * random.uniform(0.97, 1.03, 3)
    if saturation < 1:
        grey = (pixels * _GREY).sum(-1, keepdims=True)
        pixels = grey + (pixels - grey) * saturation
    pixels = (pixels * (1 - share) + np.array(haze, np.float32) * share) * gain.astype(np.float32)
    noise = random.standard_normal(pixels.shape[:2], np.float32)[..., None] * np.float32(grey_noise)
    if colour_noise:
        noise = noise + random.standard_normal(pixels.shape, np.float32) * np.float32(colour_noise)
    return Image.fromarray(np.clip(np.rint(pixels + noise), 0, 255).astype(np.uint8))


@cache
def _shadow(width: int) -> Image.Image:
    """Return the mask of the shadow at the foot of an object of `width` pixels."""
    height = 2 if width < 14 else 3
    mask = Image.new("L", (width * SUPERSAMPLING, height * SUPERSAMPLING))
    ImageDraw.Draw(mask).ellipse((0, 0, mask.width - 1, mask.height - 1), fill=84)
    return mask.reduce(SUPERSAMPLING)
