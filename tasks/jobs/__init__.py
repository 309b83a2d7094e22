"""One job: what is asked, its bench, how it is played and what it came to; and suites of them."""
