"""Captions that name the strongest colour of an image."""

from captionlab.captioners.writer import Writer


class Colours(Writer):
    """A captioner that names the strongest colour of an image."""

    def caption(self, images):
        """Return one caption for each image."""
        means = [image.picture.resize((1, 1)).getpixel((0, 0)) for image in images]
        return [f"{self.config['start']} {('red', 'green', 'blue')[mean.index(max(mean))]}" for mean in means]


FAMILY = Colours
