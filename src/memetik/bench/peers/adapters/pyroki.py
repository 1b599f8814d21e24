"""PyRoki: nonlinear least squares in JAX, in single precision, restarted at random."""

import io

import numpy as np


class PyRoki:
    """Pose and limit costs, solved by jaxls, compiled at the first solve. What it claims was checked before."""

    package = "pyroki"

    def prepare(self, task):
        import jax
        import jax.numpy as jnp
        import jaxlie
        import jaxls
        import pyroki
        import yourdfpy

        urdf = yourdfpy.URDF.load(io.BytesIO(task.urdf.encode()), load_meshes=False, build_scene_graph=False)
        robot = pyroki.Robot.from_urdf(urdf)
        link = jnp.array(robot.links.names.index(task.tip), dtype=jnp.int32)
        variable = robot.joint_var_cls(0)

        def search(pose, start):
            costs = [
                pyroki.costs.pose_cost_analytic_jac(
                    robot, variable, jaxlie.SE3.from_matrix(pose), link, pos_weight=50.0, ori_weight=10.0
                ),
                pyroki.costs.limit_cost(robot, variable, weight=100.0),
            ]
            found = (
                jaxls.LeastSquaresProblem(costs, [variable])
                .analyze()
                .solve(
                    initial_vals=jaxls.VarValues.make([variable.with_value(start)]),
                    verbose=False,
                    linear_solver="dense_cholesky",
                    trust_region=jaxls.TrustRegionConfig(lambda_initial=1.0),
                )
            )
            return found[variable]

        self.search, self.task = jax.jit(search), task
        self.order = [robot.joints.actuated_names.index(name) for name in task.joints]
        self.forward = jax.jit(lambda q: jaxlie.SE3(robot.forward_kinematics(q)[link]).as_matrix())

    def solve(self, target, seed, timeout):
        def search(start):
            whole = np.zeros(len(self.order), dtype=np.float32)
            whole[self.order] = start
            answer = np.asarray(self.search(target.astype(np.float32), whole))
            q = answer[self.order].astype(float)
            near = self.task.reached(np.asarray(self.forward(answer), dtype=float), target, share=1.0)
            return q if near and (q >= self.task.lower).all() and (q <= self.task.upper).all() else None, None

        return self.task.restarted(search, seed, timeout)

    def close(self):
        self.search = self.forward = None
