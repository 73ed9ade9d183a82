"""What a reader sees: figures, tables and one HTML file, made from records and summaries alone."""
