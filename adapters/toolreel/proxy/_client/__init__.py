"""What goes to and comes from a client of the proxy: bodies, headers, errors."""
