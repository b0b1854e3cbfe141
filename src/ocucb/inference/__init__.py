"""What may be concluded from rewards that a policy has collected: pure functions of statistics."""
