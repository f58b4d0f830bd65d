"""The streams of the benchmark by name: of files in a folder, or made up."""
