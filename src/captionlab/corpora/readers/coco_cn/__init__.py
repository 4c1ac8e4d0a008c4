"""COCO-CN: captions in Chinese of images of COCO."""
