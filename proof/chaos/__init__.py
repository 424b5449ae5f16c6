"""Chaos tests: loops of every mode run with misbehaving agents while the harness injects faults.

The seed decides which faults are injected; the exact moment of each depends on the machine. The harness checks its invariants
after each fault and once each loop has ended. See README.md in this folder.
"""
