"""What a worker tells probes and Prometheus, over HTTP."""
