"""What closed loops leave of a robot's freedom, and loops that nothing closes."""

from __future__ import annotations

from memetik.doctor.subject import Subject
from memetik.robot.description import Description
from memetik.robot.robot import Robot


def check_loops(subject: Subject, description: Description) -> None:
    """Counts the independent motions of a sound description that has loops."""
    if not description.loops:
        return
    robot = Robot(description)
    found = robot.mobility
    count = len(description.loops)
    loops = f"{count} closed loop{'s' if count > 1 else ''}"
    if not found.driving and len(found.passive) == robot.dof > 0 and robot.loop_error(robot.neutral) > 0.0:
        message = f"the {loops} close in none of the sampled configurations within the limits."
        remedy = "Check the anchors of the loops and the limits of the joints between the links that they tie."
        subject.add("loops-do-not-close", description, message, remedy)
        return
    passive = ", ".join(found.passive[:8]) + (", ..." if len(found.passive) > 8 else "")
    driving = ", ".join(found.driving[:8]) + (", ..." if len(found.driving) > 8 else "")
    message = (
        f"{loops} leave {found.count} of {robot.dof} joints independent: {driving or 'none'} drive, "
        f"{passive or 'none'} follow."
    )
    subject.add("closed-loops", description, message, "Nothing is wrong: every solution holds the loops.")
