"""Operations of OpenAPI documents as tools."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.tools.openapi._public import *
else:
    from toolreel._internal.lazy import names_of

    __getattr__, __dir__ = names_of(__name__, "openapi")
