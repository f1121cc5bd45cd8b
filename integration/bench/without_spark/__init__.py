"""Tables from Python alone, beside other libraries: each system in processes of its own."""
