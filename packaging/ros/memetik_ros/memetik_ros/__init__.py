"""memetik's node inside a ROS 2 workspace."""
