"""Which records a proof makes, as bytes: good ones by what a topic declares, and such as must be refused. Pure."""
