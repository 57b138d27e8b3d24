"""Plugs fovea into other libraries. Importing a module here changes nothing; its `register()` does."""
