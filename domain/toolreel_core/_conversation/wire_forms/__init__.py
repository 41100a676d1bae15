"""The messages of a conversation in the forms that servers speak besides chat completions."""
