"""Where a deployment keeps what outlives its machines: folders of a file system or of a bucket, and small objects."""
