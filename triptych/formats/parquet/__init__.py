"""Parquet files: checked before anything is decompressed, then read with pyarrow. No meaning of a column."""
