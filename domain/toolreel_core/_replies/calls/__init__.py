"""Tool calls of a reply: names, ids, arguments and their repair."""
