"""Reading an OpenAPI document: operations, schemas, servers."""
