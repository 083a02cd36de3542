"""What runs in the containers beside Sluice's commands: their scripts, health checks and configuration."""
