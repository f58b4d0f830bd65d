"""One file and one proof a mechanism; the file name is its key. The folder is walked, there is no list to edit."""
