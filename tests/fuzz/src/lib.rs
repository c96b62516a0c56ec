//! What the Shell: fuzz targets, and their corpora replayed as tests.
