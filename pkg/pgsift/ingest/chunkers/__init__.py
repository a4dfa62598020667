"""Chunkers by their names: how a document's text is cut into the passages that are searched.

=================== ================================== ================================================
name                parameters                         a chunk, and what is shown where it is found
=================== ================================== ================================================
``structure``       ``target=150``                     paragraphs of one section; itself (the default)
``window``          ``words=200,overlap=40``           so many words, the last of them repeated; itself
``sentence_window`` ``around=2,longest=150``           a sentence; the sentences around it too
``parent``          ``target=60,longest=600``          a few sentences of a section; the section
``page``            ``longest=600``                    a page; itself
=================== ================================== ================================================

A chunker is asked for as ``window`` or ``window:words=150,overlap=30`` (:func:`load_chunker`). Sizes are in units
(:mod:`pgsift.ingest.chunker`): words, or characters of scripts written without spaces. Whatever the chunker, a
body is ``text[start:end]``, every character that is not white space and not in a block of kind ``title`` or
``skip`` lies in a chunk, and a bibliography is of kind ``reference``.

Others are added by :func:`register_chunker`: what a tenant or a run names is looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from pgsift.errors import InvalidArgument
from pgsift.ingest.chunker import Block, Chunker, Span
from pgsift.ingest.chunkers.pages import PageChunker
from pgsift.ingest.chunkers.wider import ParentChunker, SentenceWindowChunker
from pgsift.ingest.chunkers.windows import WindowChunker

__all__ = [
    "DEFAULT_CHUNKER",
    "PageChunker",
    "ParentChunker",
    "SentenceWindowChunker",
    "TextChunker",
    "WindowChunker",
    "chosen_chunker",
    "chunker_names",
    "load_chunker",
    "register_chunker",
]

#: What cuts where neither the tenant nor the run names another.
DEFAULT_CHUNKER = "structure"

_SPEC = re.compile(r"([a-z][a-z0-9_]{0,39})(?::([a-z_]{1,40}=[0-9]{1,9}(?:,[a-z_]{1,40}=[0-9]{1,9}){0,9}))?")


@runtime_checkable
class TextChunker(Protocol):
    """What cuts a text."""

    @property
    def name(self) -> str:
        """Name, version and parameters, as ``window/1 words=200 overlap=40``; stored with every document
        and part of its content hash, so another name cuts a document anew, and the same leaves it alone."""
        ...

    @property
    def spec(self) -> str:
        """How it is asked for, as ``window:words=200,overlap=40``."""
        ...

    def chunk(self, text: str, blocks: Sequence[Block], pages: Sequence[int] = ()) -> list[Span]:
        """Spans of the chunks, by start and then by end. ``blocks`` are what the parser found, ``pages``
        where each page begins, empty for a text that has none."""
        ...


_REGISTRY: dict[str, Callable[..., TextChunker]] = {
    "structure": Chunker,
    "window": WindowChunker,
    "sentence_window": SentenceWindowChunker,
    "parent": ParentChunker,
    "page": PageChunker,
}


def chunker_names() -> tuple[str, ...]:
    """The names that are known."""
    return tuple(_REGISTRY)


def register_chunker(name: str, factory: Callable[..., TextChunker]) -> None:
    """Make a chunker known. ``factory`` takes its parameters, whole numbers, by name, and raises ``ValueError``
    for those that make no sense.

    Raises :class:`~pgsift.errors.InvalidArgument` for a name that is taken, or that could not be asked for.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise InvalidArgument(
            f"{name[:100]!r} is no name for a chunker", hint="Use up to 40 small letters, digits and underscores."
        )
    if name in _REGISTRY:
        raise InvalidArgument(f"there is a chunker {name!r}", hint="Give yours another name.")
    _REGISTRY[name] = factory


def load_chunker(spec: str) -> TextChunker:
    """The chunker that a specification names: ``window``, ``window:words=150,overlap=30``.

    Raises :class:`~pgsift.errors.InvalidArgument` for an unknown name or parameter, or one out of range.
    """
    match = _SPEC.fullmatch(str(spec))
    known = ", ".join(_REGISTRY)
    if match is None:
        raise InvalidArgument(
            f"{str(spec)[:100]!r} does not name a chunker",
            hint=f"Write a name, or window:words=150,overlap=30. Names: {known}.",
        )
    name, told = match.groups()
    factory = _REGISTRY.get(name)
    if factory is None:
        raise InvalidArgument(f"unknown chunker {name!r}", hint=f"Names: {known}.")
    parameters: dict[str, int] = {}
    for pair in (told or "").split(",") if told else ():
        parameter, _, value = pair.partition("=")
        if parameter in parameters:
            raise InvalidArgument(f"the chunker {name} is given {parameter} twice", hint="Leave one out.")
        parameters[parameter] = int(value)
    try:
        return factory(**parameters)
    except TypeError:
        import inspect

        takes = ", ".join(inspect.signature(factory).parameters) or "none"
        wrong = ", ".join(parameters)
        raise InvalidArgument(
            f"the chunker {name} does not take these parameters: {wrong}", hint=f"Its parameters: {takes}."
        ) from None
    except ValueError as error:
        raise InvalidArgument(f"the chunker {name}: {error}") from None


def chosen_chunker(chunker: str | TextChunker | None, chunk_size: int | None = None) -> TextChunker:
    """The chunker that is named or given, or ``structure`` with the target ``chunk_size``, or the default.

    Raises :class:`~pgsift.errors.InvalidArgument` for both, and for what :func:`load_chunker` refuses.
    """
    if chunk_size is not None:
        if chunker is not None:
            raise InvalidArgument(
                "chunk_size is the target of the chunker structure, and another chunker is named too",
                hint="Leave chunk_size out; write the size as in structure:target=100.",
            )
        try:
            return Chunker(chunk_size)
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
    if chunker is not None and not isinstance(chunker, str):
        return chunker
    return load_chunker(DEFAULT_CHUNKER if chunker is None else chunker)
