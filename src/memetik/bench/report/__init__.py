"""What a benchmark store shows: tables, plots, pages."""
