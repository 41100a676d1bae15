"""Pages of one HTML file: their frame, the data inside of them, and the style and scripts that pages share.

A page asks for nothing from outside, and what models and servers wrote in it is inert: its policy allows only
its own style and scripts, by their digests, and forbids scripts to make elements from text.
"""
