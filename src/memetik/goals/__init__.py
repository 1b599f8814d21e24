"""What you want of a robot: one family a file, one class a goal."""

from memetik.goals.balance import Balance
from memetik.goals.base import MUST, PREFER, Goal
from memetik.goals.contacts import Clearance, CollisionDistance, Penetration
from memetik.goals.custom import CompiledGoal
from memetik.goals.direction import AlignAxis, Cone, LookAt, Side
from memetik.goals.distance import Distance, MaxDistance, MinDistance
from memetik.goals.joints import JointFunction, JointValue
from memetik.goals.losses import Groove, Huber, Hyperbola, Loss, Square, Swamp, SwampGroove
from memetik.goals.partial import PartialOrientation
from memetik.goals.pivot import Pivot
from memetik.goals.place import Line, Plane
from memetik.goals.point_distance import PointDistance
from memetik.goals.pose import Orientation, Pose, Position, RelativePose
from memetik.goals.posture import AvoidLimits, Center, Displacement, Effort, Manipulability
from memetik.goals.project import Project
from memetik.goals.scan import Scan
from memetik.goals.touch import Touch

__all__ = [
    "MUST",
    "PREFER",
    "AlignAxis",
    "AvoidLimits",
    "Balance",
    "Center",
    "Clearance",
    "CollisionDistance",
    "CompiledGoal",
    "Cone",
    "Displacement",
    "Distance",
    "Effort",
    "Goal",
    "Groove",
    "Huber",
    "Hyperbola",
    "JointFunction",
    "JointValue",
    "Line",
    "LookAt",
    "Loss",
    "Manipulability",
    "MaxDistance",
    "MinDistance",
    "Orientation",
    "PartialOrientation",
    "Penetration",
    "Pivot",
    "Plane",
    "PointDistance",
    "Pose",
    "Position",
    "Project",
    "RelativePose",
    "Scan",
    "Side",
    "Square",
    "Swamp",
    "SwampGroove",
    "Touch",
]
