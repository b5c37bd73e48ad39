"""Rules about the GPU itself: absent, hidden, faulty, closed to this user, older or newer than the build."""
