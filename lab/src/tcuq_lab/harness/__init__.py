"""One harness: outputs along a stream go through a fitted method; what it says is compared with the truth."""
