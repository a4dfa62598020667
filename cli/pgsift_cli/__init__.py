"""The command ``pgsift``: a thin shell over the library. Each command parses, calls the library once and prints."""
