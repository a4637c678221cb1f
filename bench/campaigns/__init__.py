"""Long measurements that are started by hand before a release; no product test imports them."""
