"""Arguments and results as trees: flattening, containers, paths to leaves, and saving their structure."""
