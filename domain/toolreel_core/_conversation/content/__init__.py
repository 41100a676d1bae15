"""Content parts: text, images, audio and files in messages of the user and in results of tools."""
