"""Pure rules: records, metrics, statistics, the gate. No I/O, no clock, no environment."""
