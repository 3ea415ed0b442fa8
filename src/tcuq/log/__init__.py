"""A recorded stream: `Log`, its columns, and from what users have to what the core takes."""
