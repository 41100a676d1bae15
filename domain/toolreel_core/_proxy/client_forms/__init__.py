"""The forms of clients: each is read into chat completions, and written from them."""
