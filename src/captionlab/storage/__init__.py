"""Files and tables: schemas, packing, groups of rows, shards, the cache, and paths below results/."""
