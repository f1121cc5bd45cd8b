"""Stores: where the files of tables are, one class a kind of store.

`files` says what all of them answer; `local`, `objects` and `hadoop` are the kinds; `opened` finds
the one that a location names. `settings` reads a catalog's options, for all of them.
"""
