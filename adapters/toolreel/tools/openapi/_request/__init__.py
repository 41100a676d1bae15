"""From a tool call to an HTTP request: parameters, body, security."""
