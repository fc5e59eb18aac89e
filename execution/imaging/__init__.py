"""Makes small images of large ones that strangers sent, at arm's length.

Decoders are old C code fed with hostile bytes. Here they run in a process that has nothing: no database, no keys, no
environment, and little memory and time. The process that asks never decodes anything.
"""

from execution.imaging.formats import CONTENT_TYPES, sniffed
from execution.imaging.studio import Made, Order, Unmakeable, make_image

__all__ = ["CONTENT_TYPES", "Made", "Order", "Unmakeable", "make_image", "sniffed"]
