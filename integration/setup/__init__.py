"""How a session comes to keyfold: configuration, Python, private folders."""
