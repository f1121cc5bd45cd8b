"""Object stores: which options they take, which of them are secret."""
