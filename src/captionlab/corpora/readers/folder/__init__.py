"""A folder of photographs, with or without captions."""
