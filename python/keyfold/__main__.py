"""`keyfold` or `python -m keyfold`: jar-path, conf and archive to start Spark by other means,
warmup, doctor; and tables without Spark: ls, describe, scan, upsert, compact …
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from keyfold.errors import KeyfoldError, TableError
from keyfold.setup import archive, doctor, session
from keyfold.wire.version import package_version


def jar_path(_: argparse.Namespace) -> int:
    """print where the jar is, for --jars"""
    print(session.jar_path())
    return 0


def conf(arguments: argparse.Namespace) -> int:
    """print the arguments for spark-submit, spark-sql and spark-shell"""
    confs = session.session_confs(arguments.catalog, arguments.warehouse)
    if arguments.archive is None:
        print(session.submit_arguments(confs))
    else:
        folder = archive.folder_name(arguments.archive)
        confs = session.with_shipped_python(confs, folder, for_driver=arguments.for_driver)
        print(session.submit_arguments(confs), archive.submit_arguments(arguments.archive))
    return 0


def pack(arguments: argparse.Namespace) -> int:
    """write keyfold and what it needs into one file for --archives"""
    count = archive.pack(arguments.file, for_driver=arguments.for_driver, also=arguments.also or ())
    print(f"{arguments.file}: {count} files, {arguments.file.stat().st_size >> 20} MiB")
    return 0


def warmup(_: argparse.Namespace) -> int:
    """compile the kernels into this user's cache, for an image build"""
    jit = import_module("keyfold.kernels.jit")
    jit.warm()
    print(f"kernels are compiled in {jit.CACHE_DIRECTORY}")
    return 0


def check(_: argparse.Namespace) -> int:
    """print what is found and what is wrong with it"""
    return doctor.report(sys.stdout)


def of_tables(arguments: argparse.Namespace) -> int:
    """run a command about tables"""
    return int(import_module("keyfold.tables.commands").run(arguments))


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "jar-path": jar_path,
    "conf": conf,
    "archive": pack,
    "warmup": warmup,
    "doctor": check,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, as of all other errors."""
        text = f"{self.prog}: {message} ({self.prog} --help shows what it takes)"
        self.exit(2, f"{_one_line(text)}\n")


def _one_line(text: str) -> str:
    """The text without what moves a terminal's cursor: names in it may come from anywhere."""
    shown = (c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split("\n")))
    return "".join(shown)


def _is_text(word: str) -> bool:
    """Whether it is not of bytes that are no text, which Python shows as half characters."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """The command line. Commands about tables are looked for only if the first word is another's:
    what they need takes a second to load.
    """
    top = _Parser(prog="keyfold", description=__doc__)
    top.add_argument("--version", action="version", version=package_version())
    commands = top.add_subparsers(required=True, metavar="command")
    for name, command in COMMANDS.items():
        one = commands.add_parser(name, help=command.__doc__)
        one.set_defaults(command=command)
        if command is conf:
            one.add_argument("--catalog", default="keyfold", help="its name (default: keyfold)")
            one.add_argument("--warehouse", help="its folder (default: below Spark's warehouse)")
            one.add_argument("--archive", type=Path, help="what `archive` wrote: workers use it")
        if command is pack:
            one.add_argument("file", type=Path, help="NAME.tgz or NAME.tar.gz")
            one.add_argument("--also", action="append", help="one more installed package")
        if command in (conf, pack):
            text = "the archive is for a driver on the cluster too"
            one.add_argument("--for-driver", action="store_true", help=text)
    if first not in COMMANDS:
        import_module("keyfold.tables.arguments").add(commands, of_tables)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one command, that of the process by default; 1 with a message if it fails."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if words is None else list(words)
    try:
        for word in given:
            if not _is_text(word):
                raise TableError(f"argument {word!r} is not UTF-8")
        arguments = parser(given[0] if given else None).parse_args(given)
        return int(arguments.command(arguments))
    except KeyfoldError as error:
        message = str(error)
    except BrokenPipeError:  # the reader of the output has enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    print(_one_line(f"keyfold: {message}"), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
