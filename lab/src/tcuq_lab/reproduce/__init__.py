"""Tables and figures of the paper, run again: recordings, comparisons, results, pages."""
