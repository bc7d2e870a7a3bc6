"""What all other modules build on: errors, constants, and checks of arguments."""
