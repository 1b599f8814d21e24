"""Goals and losses: one family of goals a file, one class a goal."""

from memetik._moved import serve_old_names
from memetik.goals.balance import Balance
from memetik.goals.base import HARD, SOFT, Goal
from memetik.goals.clearance import Clearance, CollisionDistance, NoPenetration
from memetik.goals.custom import CompiledGoal
from memetik.goals.direction import AlignAxis, AvoidDirection, Cone, LookAt
from memetik.goals.distance import Distance, MaxDistance, MinDistance
from memetik.goals.joints import JointFunction, JointValue
from memetik.goals.line_plane import Line, Plane
from memetik.goals.losses import Groove, Huber, Hyperbola, Loss, Square, Swamp, SwampGroove
from memetik.goals.partial_orientation import PartialOrientation
from memetik.goals.pivot import Pivot
from memetik.goals.point_distance import PointDistance
from memetik.goals.pose import Orientation, Pose, Position, RelativePose
from memetik.goals.project import ProjectOntoSurface
from memetik.goals.regularization import AvoidLimits, CenterJoints, GravityTorque, Manipulability, MinimalDisplacement
from memetik.goals.touch import Touch
from memetik.goals.viewpoint import Viewpoint

__all__ = [
    "HARD", "SOFT", "AlignAxis", "AvoidDirection", "AvoidLimits", "Balance", "CenterJoints", "Clearance",
    "CollisionDistance", "CompiledGoal", "Cone", "Distance", "Goal", "GravityTorque", "Groove", "Huber",
    "Hyperbola", "JointFunction", "JointValue", "Line", "LookAt", "Loss", "Manipulability", "MaxDistance",
    "MinDistance", "MinimalDisplacement", "NoPenetration", "Orientation", "PartialOrientation", "Pivot", "Plane",
    "PointDistance", "Pose", "Position", "ProjectOntoSurface", "RelativePose", "Square", "Swamp", "SwampGroove",
    "Touch", "Viewpoint",
]  # fmt: skip

serve_old_names(__name__)
