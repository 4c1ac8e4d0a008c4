"""Models behind servers: requests, their responses, a cache of responses, and the client that sends requests."""
