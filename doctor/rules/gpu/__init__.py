"""Rules about the GPU itself: absent, hidden, faulty, not accessible to this user, too old or too new for the
build."""
