"""Mechanisms with closed loops as MJCF, for tests and benchmarks: a four-bar leg, grippers, platforms."""

import math

FOUR_BAR = """
<mujoco model="four_bar_leg">
  <compiler angle="radian"/>
  <worldbody><body name="hip" pos="0 0 1">
    <geom size="0.02" contype="0" conaffinity="0"/>
    <body name="crank" pos="0.1 0 0"><joint name="drive" axis="0 1 0" range="-1.2 1.2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.01"/>
      <body name="rod" pos="0 0 -0.2"><joint name="rod_turn" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 -0.12 0 -0.02" size="0.01"/></body></body>
    <body name="thigh"><joint name="thigh_turn" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02"/><site name="foot" pos="0 0 -0.4"/></body>
  </body></worldbody>
  <equality><connect body1="thigh" body2="rod" anchor="-0.02 0 -0.22"/></equality>
  <actuator><position joint="drive"/></actuator>
</mujoco>
"""

PARALLELOGRAM = """
<mujoco model="parallelogram">
  <worldbody><body name="left"><joint name="a" axis="0 1 0" range="-60 60"/><geom type="capsule" size="0.01"
      fromto="0 0 0 0 0 0.3"/>
    <body name="bar" pos="0 0 0.3"><joint name="b" axis="0 1 0"/><geom type="capsule" size="0.01"
      fromto="0 0 0 0.2 0 0"/><site name="tool" pos="0.1 0 0.05"/></body></body>
    <body name="right" pos="0.2 0 0"><joint name="c" axis="0 1 0"/><geom type="capsule" size="0.01"
      fromto="0 0 0 0 0 0.3"/></body>
  </worldbody>
  <equality><connect body1="bar" body2="right" anchor="0.2 0 0"/></equality>
  <actuator><motor joint="a"/></actuator>
</mujoco>
"""

SLIDER_CRANK = """
<mujoco model="slider_crank">
  <worldbody><body name="crank"><joint name="turn" axis="0 1 0"/><geom type="capsule" size="0.01"
      fromto="0 0 0 0.1 0 0"/>
    <body name="rod" pos="0.1 0 0"><joint name="rod_turn" axis="0 1 0"/><geom type="capsule" size="0.01"
      fromto="0 0 0 0.3 0 0"/><site name="pin" pos="0.3 0 0"/></body></body>
    <body name="piston" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.03"/>
      <site name="head"/></body>
  </worldbody>
  <equality><connect site1="pin" site2="head"/></equality>
  <actuator><velocity joint="turn"/></actuator>
</mujoco>
"""


def delta(base: float = 0.2, platform: float = 0.05, upper: float = 0.2, lower: float = 0.35) -> str:
    """A delta robot: three arms, each with a rod on ball joints at both ends; the platform keeps its orientation."""
    height = -math.sqrt(lower**2 - (base + 0.0 - platform) ** 2) - 0.0
    arms, loops = [], []
    for k in range(3):
        turn = 120 * k
        arms.append(f"""
        <body name="arm{k}" euler="0 0 {turn}"><body name="upper{k}" pos="{base} 0 0">
          <joint name="drive{k}" axis="0 1 0" range="-60 80"/>
          <geom type="capsule" fromto="0 0 0 {upper} 0 0" size="0.01" contype="0" conaffinity="0"/>
          <body name="rod{k}" pos="{upper} 0 0"><joint name="swing{k}" axis="0 1 0"/>
            <joint name="lean{k}" axis="1 0 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 {-lower}" size="0.005" contype="0" conaffinity="0"/>
            <site name="end{k}" pos="0 0 {-lower}"/></body></body></body>""")
        angle = math.radians(turn)
        x, y = platform * math.cos(angle), platform * math.sin(angle)
        loops.append((x, y))
    sites = "".join(f'<site name="hold{k}" pos="{x} {y} 0"/>' for k, (x, y) in enumerate(loops))
    connects = "".join(f'<connect site1="end{k}" site2="hold{k}"/>' for k in range(3))
    drives = "".join(f'<position joint="drive{k}"/>' for k in range(3))
    return f"""
    <mujoco model="delta"><worldbody>{"".join(arms)}
      <body name="platform" pos="0 0 {height}"><joint name="x" type="slide" axis="1 0 0" range="-0.2 0.2"/>
        <joint name="y" type="slide" axis="0 1 0" range="-0.2 0.2"/>
        <joint name="z" type="slide" axis="0 0 1" range="-0.3 0.3"/>
        <geom type="cylinder" size="0.05 0.005" contype="0" conaffinity="0"/><site name="tool" pos="0 0 -0.02"/>
        {sites}</body></worldbody>
      <equality>{connects}</equality><actuator>{drives}</actuator></mujoco>"""


def stewart(base: float = 0.25, platform: float = 0.12, height: float = 0.3) -> str:
    """A Stewart platform: six legs that slide, each on a universal joint below and a ball joint above."""
    legs, sites, connects, drives = [], [], [], []
    for k in range(6):
        pair = 120 * (k // 2)
        low, high = math.radians(pair + (12 if k % 2 else -12)), math.radians(pair + (48 if k % 2 else -48))
        x, y = base * math.cos(low), base * math.sin(low)
        u, v = platform * math.cos(high), platform * math.sin(high)
        length = math.sqrt((u - x) ** 2 + (v - y) ** 2 + height**2)
        legs.append(f"""
        <body name="leg{k}" pos="{x} {y} 0" zaxis="{u - x} {v - y} {height}">
          <joint name="tilt{k}" axis="1 0 0"/><joint name="roll{k}" axis="0 1 0"/>
          <geom type="cylinder" size="0.01 0.05" pos="0 0 0.05" contype="0" conaffinity="0"/>
          <body name="ram{k}"><joint name="ram{k}" type="slide" axis="0 0 1" range="-0.08 0.08"/>
            <geom type="cylinder" size="0.006 0.05" pos="0 0 0.2" contype="0" conaffinity="0"/>
            <site name="top{k}" pos="0 0 {length}"/></body></body>""")
        sites.append(f'<site name="seat{k}" pos="{u} {v} 0"/>')
        connects.append(f'<connect site1="top{k}" site2="seat{k}"/>')
        drives.append(f'<position joint="ram{k}"/>')
    return f"""
    <mujoco model="stewart"><worldbody>{"".join(legs)}
      <body name="platform" pos="0 0 {height}"><freejoint name="free"/>
        <geom type="cylinder" size="0.12 0.01" contype="0" conaffinity="0"/><site name="tool" pos="0 0 0.02"/>
        {"".join(sites)}</body></worldbody>
      <equality>{"".join(connects)}</equality><actuator>{"".join(drives)}</actuator></mujoco>"""


GRIPPER = """
<mujoco model="parallel_gripper">
  <default><geom type="capsule" size="0.004"/><joint axis="0 1 0"/></default>
  <worldbody><body name="palm"><geom type="box" size="0.03 0.02 0.01"/><site name="grip" pos="0 0 0.12"/>
    <body name="l1" pos="0.02 0 0.01"><joint name="left" range="-20 50"/><geom fromto="0 0 0 0.03 0 0.05"/>
      <body name="lf" pos="0.03 0 0.05"><joint name="left_finger"/><geom fromto="0 0 0 0 0 0.05"/>
        <site name="left_tip" pos="0 0 0.05"/></body></body>
    <body name="l2" pos="0.005 0 0.02"><joint name="left_link"/><geom fromto="0 0 0 0.03 0 0.05"/></body>
    <body name="r1" pos="-0.02 0 0.01"><joint name="right" range="-50 20"/><geom fromto="0 0 0 -0.03 0 0.05"/>
      <body name="rf" pos="-0.03 0 0.05"><joint name="right_finger"/><geom fromto="0 0 0 0 0 0.05"/>
        <site name="right_tip" pos="0 0 0.05"/></body></body>
    <body name="r2" pos="-0.005 0 0.02"><joint name="right_link"/><geom fromto="0 0 0 -0.03 0 0.05"/></body>
  </body></worldbody>
  <equality>
    <connect body1="lf" body2="l2" anchor="-0.015 0 0.01"/><connect body1="rf" body2="r2" anchor="0.015 0 0.01"/>
    <joint joint1="right" joint2="left" polycoef="0 -1 0 0 0"/>
  </equality>
  <actuator><position joint="left"/></actuator>
</mujoco>
"""

MECHANISMS = {
    "four_bar": (FOUR_BAR, "foot", 1),
    "parallelogram": (PARALLELOGRAM, "tool", 1),
    "slider_crank": (SLIDER_CRANK, "head", 1),
    "gripper": (GRIPPER, "left_tip", 1),
    "delta": (delta(), "tool", 3),
    "stewart": (stewart(), "tool", 6),
}
"""Name to the text, the frame that its user moves, and how many independent motions it has."""
