"""What somebody says was wrong, or what helped, with little or no program output."""
