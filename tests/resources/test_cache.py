"""The bounded cache."""

from keyfold.resources.cache import Cache


def test_what_was_used_least_recently_goes() -> None:
    cache: Cache[str] = Cache(2)
    cache.put("a", "1")
    cache.put("b", "2")
    assert cache.get("a") == "1"
    cache.put("c", "3")
    assert [cache.get(key) for key in "abc"] == ["1", None, "3"]


def test_weights_are_bounded_but_one_thing_stays() -> None:
    cache: Cache[str] = Cache(5, len)
    cache.put("a", "12")
    cache.put("b", "1234567")
    assert [cache.get(key) for key in "ab"] == [None, "1234567"]
    cache.put("c", "123")
    cache.put("d", "12")
    assert [cache.get(key) for key in "bcd"] == [None, "123", "12"]


def test_what_is_dropped_weighs_nothing() -> None:
    cache: Cache[str] = Cache(4, len)
    cache.put("a", "123")
    cache.put("a", "not kept in place of the first")
    cache.drop("a")
    cache.drop("a")
    cache.put("b", "12")
    cache.put("c", "12")
    assert [cache.get(key) for key in "abc"] == [None, "12", "12"]
    cache.clear()
    assert cache.get("b") is None
