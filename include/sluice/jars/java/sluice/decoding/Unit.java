package sluice.decoding;

/** How a field's numbers count since 1970, where its topic declares that ({@code epoch}). */
enum Unit {
  SECONDS(1_000_000),
  MILLISECONDS(1_000),
  MICROSECONDS(1);

  private final long micros;

  Unit(long micros) {
    this.micros = micros;
  }

  /** Microseconds since 1970; of a time that they cannot count, the last that they can. */
  long toMicros(long number) {
    long most = Long.MAX_VALUE / micros;
    return Math.max(-most, Math.min(most, number)) * micros;
  }
}
