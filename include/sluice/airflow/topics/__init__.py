"""Tasks that plan, approve and apply changes of topics."""
