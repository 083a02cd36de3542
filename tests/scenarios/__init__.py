"""What the examples must compute, in plain Python over what their simulators have sent: no line is shared with them."""
