"""The subcommands, a module for each group; heavy imports happen inside the functions."""
