"""What keeps an installation well: pruning and the doctor."""
