"""What has to hold between specs, beyond the form of each."""
