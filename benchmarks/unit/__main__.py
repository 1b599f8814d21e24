from unit import unit_seconds

print(f"1 u = {unit_seconds() * 1e9:.1f} ns")
