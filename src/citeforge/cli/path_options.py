"""Options and arguments of commands that name files and folders."""

from functools import partial
from pathlib import Path

import click

PATH = click.Path(path_type=Path)
path_option = partial(click.option, type=PATH)
path_argument = partial(click.argument, type=PATH)
