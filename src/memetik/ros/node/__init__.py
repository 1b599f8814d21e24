"""The node: what `memetik ros` serves, over any transport."""
