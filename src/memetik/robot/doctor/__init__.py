"""The doctor: every defect of a robot description, with its severity, place and remedy."""

from memetik.robot.doctor.diagnose import diagnose
from memetik.robot.doctor.finding import CODES, SEVERITIES, Finding, Place, Severity

__all__ = ["CODES", "SEVERITIES", "Finding", "Place", "Severity", "diagnose"]
