"""Stores hold the files of tables; each kind of store has a class.

`files` has the interface of all stores. `local`, `objects` and `hadoop` are the kinds. `opened`
finds the store that a location names. `settings` reads a catalog's options for all of them.
"""
