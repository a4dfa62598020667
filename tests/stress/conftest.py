"""Fixtures of the tests under load and failure."""

from __future__ import annotations

from server_process import directory as directory
from server_process import pgsift as pgsift
from server_process import private as private
