"""An endpoint on pyreqwest, an HTTP client in Rust, for thousands of concurrent runs."""
