"""For the pages of lessons: inline code becomes a link to the reference, figures keep their alt text."""

from __future__ import annotations

import html
import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

_NAME = re.compile(r"(de|dialogeval|plots|normalize)\.(\w+)")
_CAPTION = re.compile(r"<em>Figure:</em>.*?</summary>(.*)</details>", flags=re.DOTALL)


class ApiLinks(SphinxTransform):
    """Wrap literals that begin with a public name; what the reference does not know stays as it is."""

    default_priority = 200

    def apply(self) -> None:
        """Change the doctree of one page."""
        for literal in list(self.document.findall(nodes.literal)):
            match = _NAME.match(literal.astext())
            if match is None or isinstance(literal.parent, (nodes.reference, nodes.title, pending_xref)):
                continue
            module = "dialogeval" if match[1] in ("de", "dialogeval") else f"dialogeval.{match[1]}"
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=f"{module}.{match[2]}",
                refexplicit=True,
                refwarn=False,
                refdoc=self.env.docname,
            )
            literal.replace_self(link)
            link += literal


class AltTexts(SphinxTransform):
    """Give a figure the sentence below it: MyST-NB does not read the alt text of an output's metadata."""

    default_priority = 200

    def apply(self) -> None:
        """Change the doctree of one page."""
        image = None
        for node in self.document.findall(lambda n: isinstance(n, (nodes.image, nodes.raw))):
            if isinstance(node, nodes.image):
                image = node
            elif image is not None and (caption := _CAPTION.search(node.astext())):
                image["alt"], image = html.unescape(caption[1]), None


def setup(app):
    """Register the transforms."""
    app.add_transform(ApiLinks)
    app.add_transform(AltTexts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
