"""What a spatial neighbourhood buys: errors of one-time publications by radius, as in Fang and Chang (2014)."""
