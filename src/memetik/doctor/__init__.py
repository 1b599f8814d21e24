"""The doctor: every defect of a robot description, with its severity, place and remedy."""

from memetik.doctor.diagnose import diagnose
from memetik.robot.findings import CODES, SEVERITIES, Finding, Place, Severity

__all__ = ["CODES", "SEVERITIES", "Finding", "Place", "Severity", "diagnose"]
