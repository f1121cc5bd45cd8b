"""What is published: the source and the wheel, checked as a user gets them, and what is in them."""
