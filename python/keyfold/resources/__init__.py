"""What a process may use and what it used: memory, private folders, figures."""
