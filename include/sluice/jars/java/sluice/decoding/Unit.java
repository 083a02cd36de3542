package sluice.decoding;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/** How a field's numbers count since 1970, where its topic declares that ({@code epoch}). */
enum Unit {
  SECONDS(1_000_000),
  MILLISECONDS(1_000),
  MICROSECONDS(1);

  private static final String KEY = "epoch";

  private final long micros;

  Unit(long micros) {
    this.micros = micros;
  }

  /** The unit of a timestamp that is written as a number; null of every other field. */
  static Unit of(StructField field) {
    boolean counted = field.dataType().equals(DataTypes.TimestampType) && field.metadata().contains(KEY);
    return counted ? valueOf(field.metadata().getString(KEY).toUpperCase(java.util.Locale.ROOT)) : null;
  }

  /** Microseconds since 1970; of a time that they cannot count, the last that they can. */
  long toMicros(long number) {
    long most = Long.MAX_VALUE / micros;
    return Math.max(-most, Math.min(most, number)) * micros;
  }
}
