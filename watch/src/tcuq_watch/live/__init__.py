"""One device while it runs: where its steps come from, what is kept, and a page that shows them."""
