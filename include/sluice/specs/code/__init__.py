"""The code of transforms as text: imports, identity, determinism and windows."""
