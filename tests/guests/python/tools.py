"""The scenarios that a guest in every language plays alike, and the example `prose`."""

# Importing a module that defines tools makes them tools of this component.
import scenarios  # noqa: F401
import prose  # noqa: F401
from cofferdam import Handler

__all__ = ["Handler"]
