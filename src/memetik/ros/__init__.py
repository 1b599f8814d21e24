"""memetik among robots: messages of ROS 2, recordings, a node in the graph, drivers of ros2_control.

Nothing here needs ROS to be installed. Interfaces are text in `interfaces/`, parsed when they are first used.
"""
