"""From a YAML file to a checked model, with every fault at its line."""
