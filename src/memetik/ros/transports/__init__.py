"""Ways into a ROS 2 graph: one small interface, and what implements it."""
