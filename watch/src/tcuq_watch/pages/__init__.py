"""What people look at: the live page, the page of a fleet, and the server of both."""
