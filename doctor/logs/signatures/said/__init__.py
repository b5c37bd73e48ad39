"""What somebody says was wrong, or what helped, where little or nothing was printed."""
