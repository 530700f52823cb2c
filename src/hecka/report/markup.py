"""HTML and SVG as text, in which a user's own words stay words.

A page is nested ``element``s; every plain string inside one is escaped, and only what ``element`` made itself is
not.  So a class called ``<b>`` is shown as it is called, wherever it turns up.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TypeAlias

VOID = frozenset({"img", "meta", "link", "br"})  # those of HTML's elements without an end that are used here


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Attributes: TypeAlias = Mapping[str, object]


def element(tag: str, attributes: Attributes | None = None, *children: object) -> Markup:
    """One element; children are other elements or plain text, None and "" are left out.

    >>> element("td", {"class": "name"}, "a < b", element("br"))
    '<td class="name">a &lt; b<br></td>'
    """
    own = "".join(f' {name}="{html.escape(str(value))}"' for name, value in (attributes or {}).items())
    return Markup(f"<{tag}{own}>" if tag in VOID else f"<{tag}{own}>{joined(*children)}</{tag}>")


def joined(*children: object) -> Markup:
    """Elements and text one after the other.

    >>> joined("1 < 2", None, element("br"))
    '1 &lt; 2<br>'
    """
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(child: object) -> Markup:
    """Markup as it is, anything else as text."""
    return child if isinstance(child, Markup) else Markup(html.escape(str(child)))
