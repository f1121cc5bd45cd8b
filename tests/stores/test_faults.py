"""What networks and busy stores do to a client, on each kind of object store: a server before the
real one cuts answers off, throttles, and shortens lists.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from keyfold.stores import objects
from keyfold.stores.files import UnsettledError
from keyfold.stores.objects import ObjectFiles
from keyfold.stores.opened import open_files
from tests.stores import kinds, proxy
from tests.stores.proxy import CUT, LOST, Answer, Request
from tests.stores.test_objects import files_of

Options = dict[str, str]
PATIENCE_OF_CLIENT = 6  # requests that it sends before it gives up
BUSY = [Answer(429), Answer(503, {"retry-after": "1"})]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "PAUSE", 0.001)


@contextmanager
def behind(options: Options, rule: proxy.Rule) -> Iterator[ObjectFiles]:
    """The files of a store whose requests a rule sees."""
    with proxy.before(options[kinds.endpoint_of(options)], rule) as endpoint:
        yield files_of(kinds.at(options, endpoint))


class First:
    """A rule: the first requests of a method get an answer, the others pass."""

    def __init__(self, method: str, number: int, answer: Answer) -> None:
        self.method, self.left, self.answer = method, number, answer

    def __call__(self, request: Request) -> Answer | None:
        if request.method != self.method or not self.left:
            return None
        self.left -= 1
        return self.answer


def test_a_create_without_an_answer_is_found_again(options: Options) -> None:
    rule = First("PUT", 1, CUT)
    with behind(options, rule) as files:
        assert files.publish(f"{files.root}/name", b"ours")
        assert not rule.left
        assert files.read(f"{files.root}/name") == b"ours"
        assert not files.publish(f"{files.root}/name", b"ours")


def test_what_another_created_meanwhile_is_not_ours(options: Options) -> None:
    """The first request is lost on its way; before the next one another job creates the file."""
    other = files_of(options)

    def rule(request: Request) -> Answer | None:
        if request.method != "PUT" or other.exists(f"{other.root}/name"):
            return None
        other.publish(f"{other.root}/name", b"same")
        return LOST

    with behind(options, rule) as files:
        assert files.publish(f"{files.root}/name", b"same") == 0


def test_an_exchange_without_an_answer_is_found_again(options: Options) -> None:
    rule = First("PUT", 1, CUT)
    path = f"{options['warehouse']}/name"
    files_of(options).write(path, b"old")
    with behind(options, rule) as files:
        assert files.exchange(path, b"old", b"ours")
        assert not rule.left
        assert files.read(path) == b"ours"


def test_what_another_writes_meanwhile_is_not_exchanged(options: Options) -> None:
    """Right before the put arrives."""
    other, path = files_of(options), f"{options['warehouse']}/name"
    other.write(path, b"old")

    def rule(request: Request) -> None:
        if request.method == "PUT":
            other.write(path, b"theirs")

    with behind(options, rule) as files:
        assert not files.exchange(path, b"old", b"ours")
        assert files.read(path) == b"theirs"


def test_a_create_that_never_arrives_is_not_known(options: Options) -> None:
    with (
        behind(options, First("PUT", 100, LOST)) as files,
        pytest.raises(UnsettledError, match="it may still arrive"),
    ):
        files.publish(f"{files.root}/name", b"ours")


@pytest.mark.parametrize("busy", BUSY, ids=lambda answer: f"{answer.status}")
def test_a_throttled_request_is_sent_again(options: Options, busy: Answer) -> None:
    """Longer than the client is patient."""
    path = f"{options['warehouse']}/name"
    tries = PATIENCE_OF_CLIENT + 1
    rules = [First("PUT", tries, busy), First("GET", tries, busy)]
    with behind(options, lambda request: rules[0](request) or rules[1](request)) as files:
        assert files.publish(path, b"ours")
        assert files.read(path) == b"ours"
        assert not any(rule.left for rule in rules)


@pytest.mark.parametrize("served", ["google", "azure"], indirect=True)
def test_a_store_that_throttles_is_opened(options: Options) -> None:
    """What is asked of it first is patient."""
    busy = First("GET", 2 * PATIENCE_OF_CLIENT, BUSY[0])
    with proxy.before(options[kinds.endpoint_of(options)], busy) as endpoint:
        files, root = open_files(options["warehouse"], kinds.at(options, endpoint))
        assert busy.left == PATIENCE_OF_CLIENT
        assert not files.is_folder(root)


def test_a_store_that_throttles_for_ever_is_an_error(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_PATIENCE", 1)
    with (
        behind(options, lambda _: Answer(503)) as files,
        pytest.raises(OSError, match=r"listing .* failed: .*503"),
    ):
        files.is_folder(files.root)


def test_a_large_file_is_written_in_parts(options: Options) -> None:
    """One of which the store takes only at the third attempt."""
    parts: Counter[str] = Counter()
    throttled = First("PUT", 2, BUSY[1])

    def rule(request: Request) -> Answer | None:
        if len(request.body) > 1 << 20:
            parts[request.path] += 1
        return throttled(request) if len(parts) > 1 else None

    data = bytes(range(256)) * (84 << 10)  # 21 MiB
    with behind(options, rule) as files:
        path = f"{files.root}/large"
        with files.create(path) as file:
            for start in range(0, len(data), 1 << 20):
                file.write(data[start : start + (1 << 20)])
        assert len(parts) == 3
        assert max(parts.values()) > 1
        assert files.read(path) == data
        end, size = files.tail(path, 5)
        assert (end.to_pybytes(), size) == (data[-5:], len(data))
        spans = [(0, 3), (8 << 20, (8 << 20) + 4), (len(data) - 1, len(data))]
        found = [each.to_pybytes() for each in files.ranges(path, spans)]
        assert found == [data[start:stop] for start, stop in spans]


def test_lists_of_many_pages(options: Options) -> None:
    options, query = kinds.with_page_of(options, 7)
    pages: Counter[str] = Counter()

    def rule(request: Request) -> None:
        if request.method == "GET" and ("comp=list" in request.path or "list-type" in request.path):
            pages["list"] += 1
            request.path += f"&{query}"

    with behind(options, rule) as files:
        names = [f"name-{number:02}" for number in range(30)]
        for name in names:
            files.write(f"{files.root}/many/{name}", b"")
            files.write(f"{files.root}/folders/{name}/file", b"")
        assert sorted(files.names(f"{files.root}/many")) == names
        assert files.folders(f"{files.root}/folders") == names
        assert pages["list"] >= 10
        assert files.remove_folder(files.root)
        assert not files.is_folder(files.root)


def test_a_long_list_goes_on_where_the_store_was_busy(options: Options) -> None:
    """No file of it is lost, and none comes twice."""
    options, query = kinds.with_page_of(options, 7)
    left = {"pages": 3, "busy": PATIENCE_OF_CLIENT + 1}

    def rule(request: Request) -> Answer | None:
        if request.method != "GET" or not (
            "comp=list" in request.path or "list-type" in request.path
        ):
            return None
        request.path += f"&{query}"
        left["pages"] -= 1
        if left["pages"] >= 0 or not left["busy"]:
            return None
        left["busy"] -= 1
        return BUSY[0]

    with behind(options, rule) as files:
        names = [f"name-{number:02}" for number in range(30)]
        for name in names:
            files.write(f"{files.root}/many/{name}", b"")
        found = [entry.name for _, entry in files.all_below(f"{files.root}/many")]
        assert sorted(found) == names
        assert not left["busy"]


def test_odd_names(options: Options) -> None:
    files = files_of(options)
    names = ["a b", "ä-日本", "+&=#?", "a%2Fb", "a%25b", "q\"'", "[x]{y}", "a:b", "..a", "a;b", "~"]
    for name in names:
        assert files.publish(f"{files.root}/p={name}/{name}", name.encode())
    assert set(files.folders(files.root)) == {f"p={name}" for name in names}
    for name in names:
        path = f"{files.root}/p={name}"
        assert files.names(path) == [name]
        assert files.read(f"{path}/{name}") == name.encode()
        assert not files.publish(f"{path}/{name}", b"")
        files.remove(f"{path}/{name}")
    assert files.names(files.root) == []


def test_two_jobs_may_remove_one_folder(options: Options) -> None:
    """The files that one has listed are gone when it removes them."""
    other = files_of(options)
    for name in range(5):
        other.write(f"{other.root}/folder/{name}", b"")

    def rule(request: Request) -> None:
        if request.method in ("DELETE", "POST"):
            other.remove(f"{other.root}/folder/0")
            other.remove(f"{other.root}/folder/3")

    with behind(options, rule) as files:
        assert files.remove_folder(f"{files.root}/folder") in (True, False)
    assert other.names(f"{other.root}/folder") == []


def test_times_are_those_of_the_store(options: Options) -> None:
    files = files_of(options)
    before = time.time_ns()
    published = files.publish(f"{files.root}/name", b"")
    assert abs(published - before) < 60e9
    assert files.modified(f"{files.root}/name") == published
