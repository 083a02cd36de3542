package peers;

import java.time.Instant;

/** A flight, as its JSON names the fields; absent ones are null. */
record Flight(
    long flight_id,
    String carrier,
    long flight,
    String origin,
    String dest,
    String tailnum,
    String scheduled_at,
    String observed_at,
    String departed_at,
    Long dep_delay_min,
    boolean cancelled,
    Long distance_miles) {

  /** What identifies its delay. */
  record Key(long flight_id) {}

  /** Its delay. */
  record Delay(long flight_id, String carrier, String origin, String scheduled_at, Long delay) {}

  boolean departed() {
    return departed_at != null;
  }

  /** A time that is none is a fault. */
  Delay delay() {
    return new Delay(flight_id, carrier, origin, Instant.parse(scheduled_at).toString(), dep_delay_min);
  }
}
