"""Reading and writing files: checked schemas, TOML and XML text, files written whole or not at all."""
