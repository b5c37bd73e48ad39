"""Rules about the GPU itself: absent, hidden, out of order, closed to this user, older or newer than the build."""
