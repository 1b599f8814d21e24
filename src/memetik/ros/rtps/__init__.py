"""A participant of DDS in plain Python: the wire protocol RTPS 2.3, as far as ROS 2 uses it.

Reliable and best-effort writers and readers, fragments, discovery by unicast and multicast. Topics, and the inline
parameters on which Fast DDS builds services.
"""
