"""Shadow models: how they are drawn, trained, queried, stored and compared."""
