"""The command ``pgsift``, a thin shell over the library: parse, call the library once, print."""
