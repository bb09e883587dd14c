# SPDX-License-Identifier: Apache-2.0
"""Images as whole files (PGM, 8 bits): how bright each is, and thumbnails of the dark ones in an output of their own. No reduce."""

import re

import millrace


def pixels(image):
    """Returns the width, the height and the grey values of a binary PGM."""
    head = re.match(rb"P5\s+(\d+)\s+(\d+)\s+(\d+)\s", image)
    if head is None or int(head[3]) > 255:
        raise ValueError("not a PGM of 8 bits")
    return int(head[1]), int(head[2]), image[head.end() :]


@millrace.job(outputs={"thumbnails": "bytes"}, options={"dark": 64})
def images(file: millrace.File):
    width, height, grey = pixels(file.data)
    mean = sum(grey) / len(grey)
    yield file.path.rpartition("/")[2], (width, height, round(mean, 2))
    if mean < millrace.option("dark"):
        small = bytes(grey[row * width + column] for row in range(0, height, 4) for column in range(0, width, 4))
        yield millrace.To("thumbnails", b"P5 %d %d 255\n" % (-(-width // 4), -(-height // 4)) + small)
