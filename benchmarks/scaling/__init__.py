"""What a load would need: arithmetic with measured costs, and nothing that was not measured passed off as such.

It refuses to be a benchmark. What one machine with two cores cannot show (networks, replicas, a server with sixteen
cores) is in `assumed`, each with its reason, and is said to be assumed wherever it decides.
"""
