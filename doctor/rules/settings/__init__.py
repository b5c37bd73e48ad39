"""Rules about the program's own GPU settings: settings that come too late or contradict each other."""
