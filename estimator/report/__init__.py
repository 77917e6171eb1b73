"""Results to text: tables, plain lines, JSON, CSV, Markdown, HTML, plots; computes nothing."""
