"""Records of a run that others read: an RO-Crate of the run, and captioners and captions on a model hub."""
