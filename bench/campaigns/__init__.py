"""Long measurements that are run by hand before a release; no product test imports them."""
