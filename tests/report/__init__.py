"""trace.report: the document, the page, and the page in a browser."""
